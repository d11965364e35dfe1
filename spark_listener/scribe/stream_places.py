"""The sources and sinks of a streaming query, by Spark's names for them and by their offsets.

Spark names a source or sink `FileStreamSource[folder]`, `DeltaSink[folder]`, `KafkaV2[Subscribe[topic]]`, or after an object. The plan of a
batch has the rest: files, brokers, table. An offset is the connector's JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.paths import path_of_dataset, places_of_pattern
from headwater.spark_listener.lineage.datasets import Dataset, bare_input
from headwater.spark_listener.lineage.facets import Facet, facet
from headwater.spark_listener.lineage.naming import Name, dataset_name, folder_of
from headwater.spark_listener.redact import redact

_FOLDERS = re.compile(r"^(FileStreamSource|FileSink|DeltaSource|DeltaSink)\[(.*)\]$", re.DOTALL)
_TOPICS = re.compile(r"^Kafka\w*\[")
_ICEBERG = re.compile(r"^org\.apache\.iceberg\.")
_NOBODYS = re.compile(r"^RateStream|^RatePerMicroBatchStream|^MemoryStream|^QueueInputDStream")
_LONGEST_OFFSET = 2000
_MOST_TOPICS = 200


def bare(description: str) -> str:
    """Return Spark's name of a source or sink, without the address of its object in memory."""
    return re.sub(r"\$?@[0-9a-f]+$", "", description)


def folder_named(description: str) -> str | None:
    """Return the folder in the name of a source or sink. None without one."""
    found = _FOLDERS.match(description)
    if found is None:
        return None
    if found[1] != "FileStreamSource":
        return found[2]
    places = places_of_pattern(found[2])
    return places[0] if len(places) == 1 else found[2]  # if there are several folders, the one in Spark's name of the source


def table_format(description: str) -> str:
    """Return the table format in the name of a source or sink. Empty for a folder of files."""
    return "delta" if description.startswith("Delta") else ""


def has_name(source: str, plan: Mapping[str, Any]) -> bool:
    """Return whether a source in a batch's plan has a name, or is the program's own."""
    if folder_named(source) is not None or _NOBODYS.match(source):
        return True
    formats = {str(described.get("format")) for described in plan.get("sources") or ()}
    return bool((_TOPICS.match(source) and "kafka" in formats) or (_ICEBERG.match(source) and "iceberg" in formats))


def datasets_of(source: str, offset: Any, found: dict[Name, Dataset]) -> Sequence[Dataset]:
    """Return the datasets of a source, among those of a plan, each with its offset as its `version`.

    A folder that the plan does not show is added. If two datasets are possible, neither is returned.
    """
    folder = folder_named(source)
    if folder is not None:
        named = bare_input(folder, table_format(source))
        meant = {(named.namespace, named.name): offset}
        found.setdefault((named.namespace, named.name), named)
    elif _TOPICS.match(source):
        names = {topic: [at for at in found if at[1] == topic and at[0].startswith("kafka:")] for topic in _by_topic(offset)}
        meant = {at[0]: _by_topic(offset)[topic] for topic, at in names.items() if len(at) == 1}  # ambiguous with two clusters
    elif _ICEBERG.match(source):
        tables = [at for at, dataset in found.items() if dataset.facets.get("storage", {}).get("fileFormat") == "iceberg"]
        meant = {tables[0]: offset} if len(tables) == 1 else {}
    else:
        meant = {}
    for at, reached in meant.items():
        if reached is not None:
            found[at].facets["version"] = _version(reached)
    return [found[at] for at in meant]


def with_topics(plan: Mapping[str, Any], offsets: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the plan of a batch, with the topics of a pattern, from the offsets. Two patterns are ambiguous."""
    described = plan.get("sources") or ()
    patterns = [source for source in described if isinstance(source.get("kafka"), Mapping) and not source["kafka"].get("topics")]
    listed = [offset for source, offset in offsets.items() if _TOPICS.match(source)]
    if len(patterns) != 1 or len(listed) != 1:
        return plan
    kafka = {**patterns[0]["kafka"], "topics": list(_by_topic(listed[0]))[:_MOST_TOPICS]}
    return {**plan, "sources": [{**source, "kafka": kafka} if source is patterns[0] else source for source in described]}


def with_folders(plan: Mapping[str, Any], offsets: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the plan of a batch, with the folders that its stream watches in place of single files.

    Without a completed batch, they are the folders of the files.
    """
    folders = [folder for source in offsets if (folder := folder_named(source)) is not None]
    if not offsets:
        folders = [folder_of(str(source["path"])) for source in plan.get("sources") or () if source.get("path")]
    named = [(folder, _path(folder).rstrip("/") + "/") for folder in folders]
    sources = []
    for source in plan.get("sources") or ():
        paths = source.get("paths") or ([source["path"]] if source.get("path") else [])
        under = [folder for folder, whole in named if paths and all(_path(path).startswith(whole) for path in paths)]
        sources.append({**source, "paths": under[:1], "path": under[0], "files": None} if under else source)
    return {**plan, "sources": sources}


def _path(text: object) -> str:
    return path_of_dataset(*dataset_name(str(text)))


def _by_topic(offset: Any) -> Mapping[str, Any]:
    """Parse Kafka's offset: `{"topic": {"0": 17}}`."""
    try:
        known = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def _version(offset: Any) -> Facet:
    return facet("version", datasetVersion=redact(offset if isinstance(offset, str) else json.dumps(offset))[:_LONGEST_OFFSET])
