"""The rules of DataHub for an OpenLineage event: refusals of its endpoint, and the content of its pages.

The rules are read from DataHub's sources (github.com/datahub-project/datahub, Apache-2.0), in words and code of our own. Each names a
file:

- converter: `OpenLineageToDataHub.java` in `metadata-integration/java/openlineage-converter` (commit 0014425f): makes aspects of events
- validator: `JsonSchemaOpenLineageRequestValidator.java` and `OpenLineageSchemaCatalog.java` in `metadata-service/openapi-servlet`
  (commit 0828552b), which a later DataHub runs before
- urn: `li-utils/.../common/urn/Urn.java` and `TupleKey.java` (commits 03f68927, 2182be9a)

Bodies of OpenLineage's own facets are checked by `openlineage_schemas`, with the same schemas that the validator has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Event = Mapping[str, Any]

_LONGEST_URN = 512  # urn
_STATES = {"START": "STARTED", "RUNNING": "STARTED", "COMPLETE": "SUCCESS", "FAIL": "FAILURE", "ABORT": "FAILURE", "OTHER": "UNKNOWN"}
_PLATFORMS = {"awsathena": "athena", "sqlserver": "mssql"}
_FILE_SYSTEMS = {
    "s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "abs", "abfss": "abs", "wasb": "abs", "wasbs": "abs",
    "dbfs": "dbfs", "file": "file",
}  # fmt: skip
# validator: a facet of OpenLineage's may stand where OpenLineage has it, and nowhere else.
_PLACES = {
    "run": "externalQuery gcp_dataproc extractionError parent nominalTime tags errorMessage environmentVariables gcp_composer_run "
    "executionParameters jobDependencies processing_engine",
    "job": "jobType sourceCode gcp_lineage sql gcp_composer_job ownership sourceCodeLocation tags documentation",
    "dataset": "hierarchy dataSource version datasetType storage columnLineage lifecycleStateChange dataQualityMetrics tags documentation "
    "schema ownership catalog symlinks",
    "input": "dataQualityAssertions inputStatistics dataQualityMetrics subset icebergScanReport",
    "output": "outputStatistics subset icebergCommitReport",
}
_STANDARD = {name for names in _PLACES.values() for name in names.split()}
# Java's `new URI(text)` accepts no space, no control character, none of "<>\^`{|}, and % only before two hexadecimal digits.
_JAVA_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[^\s\x00-\x1f\x7f\"<>\\^`{|}%\[\]]|%[0-9A-Fa-f]{2})+")


@dataclass(frozen=True)
class Shown:
    """DataHub's state after one event: the job below its flow, the run's state, and the linked datasets and columns."""

    flow: str
    job: str
    label: str
    state: str
    parent_flow: str | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]  # of the outputs, by their URN


def refusals(event: Event) -> list[str]:
    """Why DataHub would refuse the event, whatever its datasets and columns are called."""
    return [*_misplaced(event), *_without_platform(event), *_unreadable(event)]


def unfit_names(event: Event) -> list[str]:
    """Names in the event that DataHub cannot hold: it refuses the event, or leaves the dataset out."""
    left_out = [f"the name of dataset {dataset['name']!r}" for dataset in _datasets(event) if dataset_urn(dataset) is None]
    urns = [*_urns(_datasets(event)), *(urn for column, fields in _columns(event).items() for urn in (column, *fields))]
    return left_out + [f"the URN {urn!r}" for urn in urns if len(urn) > _LONGEST_URN or not _is_urn(urn)]


def shown(event: Event) -> Shown:
    """Return DataHub's state after an event that it does not refuse."""
    name, namespace = event["job"]["name"], event["job"]["namespace"]
    flow = f"urn:li:dataFlow:({_platform(_engine(event), event.get('producer'))},{name.split('.')[0]},{namespace})"
    parent = event["run"].get("facets", {}).get("parent")
    above = None
    if parent:
        job = parent["job"]
        above = f"urn:li:dataFlow:({_platform(None, parent.get('_producer'))},{job['name'].split('.')[0]},{job['namespace']})"
    return Shown(
        flow=flow, job=f"urn:li:dataJob:({flow},{name})", label=name.partition(".")[2] or name, state=_STATES[event["eventType"]],
        parent_flow=above, inputs=_urns(event.get("inputs") or ()), outputs=_urns(event.get("outputs") or ()), columns=_columns(event),
    )  # fmt: skip


def forgotten(events: Sequence[Event]) -> list[str]:
    """Return datasets of a run that DataHub does not link in the end: the links of an event replace those of earlier events."""
    earlier = {urn for event in events for urn in _urns(_datasets(event))}
    return sorted(earlier - set(_urns(_datasets(events[-1])))) if events else []


def dataset_urn(dataset: Mapping[str, Any]) -> str | None:
    """converter: a table's name in its catalog (`symlinks`), else a place. None where the two parts of a name make no URI."""
    namespace, name = dataset["namespace"], dataset["name"]
    for identifier in ((dataset.get("facets") or {}).get("symlinks") or {}).get("identifiers") or ():
        if identifier.get("type") == "TABLE":
            namespace = "glue" if "aws:glue:" in identifier["namespace"] else "hive"
            name = identifier["name"].removeprefix("table/")
    platform = namespace
    if "://" in namespace:
        uri = namespace + name if namespace.endswith("/") or name.startswith("/") else f"{namespace}/{name}"
        if not _is_uri(uri):
            return None
        scheme, _, rest = uri.partition("://")
        platform = _PLATFORMS.get(scheme, scheme)
        if scheme in _FILE_SYSTEMS:
            platform, name = _FILE_SYSTEMS[scheme], rest.rstrip("/")
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def _misplaced(event: Event) -> Iterator[str]:
    """validator: facets are objects, each where it belongs, whose `_producer` and `_schemaURL` are absolute URIs."""
    for place, facets in _facet_maps(event):
        for name, body in facets.items():
            if not isinstance(body, Mapping):
                yield f"{place} facet {name} is no object"
                continue
            if name in _STANDARD and name not in _PLACES[place].split():
                yield f"{name} is no facet of a {place}"
            yield from (f"{place} facet {name}: {key}" for key in ("_producer", "_schemaURL") if not _is_uri(body.get(key)))
    yield from (key for key in ("producer", "schemaURL") if not _is_uri(event.get(key)))


def _facet_maps(event: Event) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "run", event["run"].get("facets") or {}
    yield "job", event["job"].get("facets") or {}
    for place in ("input", "output"):
        for dataset in event.get(f"{place}s") or ():
            yield "dataset", dataset.get("facets") or {}
            yield place, dataset.get(f"{place}Facets") or {}


def _without_platform(event: Event) -> Iterator[str]:
    """converter: a job belongs to a flow of some platform, and so does its parent. Only the producer names the parent's."""
    if _platform(_engine(event), event.get("producer")) is None:
        yield "no platform: neither processing_engine nor a path in the producer's URI"
    parent = event["run"].get("facets", {}).get("parent")
    if parent and _platform(None, parent.get("_producer")) is None:
        yield "no platform of the parent: no path in its producer's URI"
    for job in (event["job"], *([parent["job"]] if parent else ())):
        if not job["namespace"] or not job["name"].split(".")[0]:
            yield f"the job {job['name']!r} has no flow"


def _unreadable(event: Event) -> Iterator[str]:
    """converter: what it takes out of facets of Spark's without a look whether it is there."""
    if event.get("eventType") not in _STATES:
        yield "no eventType"
    for name, value in _leaves((event["run"].get("facets", {}).get("spark_properties") or {}).get("properties") or {}):
        if value is None:
            yield f"spark_properties: {name} is null"
    for dataset in _datasets(event):
        lineage = (dataset.get("facets") or {}).get("columnLineage")
        for field in ((lineage or {}).get("fields") or {}).values():
            if field.get("inputFields") is None:
                yield "columnLineage without inputFields"


def _platform(engine: str | None, producer: str | None) -> str | None:
    """converter: the engine, else the last part of the producer's path."""
    if engine:
        return engine.lower()
    scheme, _, rest = str(producer or "").partition(":")
    path = rest if rest.startswith("/") and not rest.startswith("//") else "/".join(rest.split("/")[3:])
    parts = [part for part in path.split("?")[0].split("#")[0].split("/") if part] if scheme != "urn" else []
    return parts[-1].lower() if parts else None


def _is_uri(value: Any) -> bool:
    return isinstance(value, str) and _JAVA_URI.fullmatch(value) is not None


def _engine(event: Event) -> str | None:
    name = (event["run"].get("facets", {}).get("processing_engine") or {}).get("name")
    return str(name) if name else None


def _datasets(event: Event) -> list[Mapping[str, Any]]:
    return [*(event.get("inputs") or ()), *(event.get("outputs") or ())]


def _urns(datasets: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted({urn for dataset in datasets if (urn := dataset_urn(dataset))}))


def _columns(event: Event) -> dict[str, tuple[str, ...]]:
    """converter: a link for each column of an output that has input fields. A field of an input is called as that input is."""
    tables = {(dataset["namespace"], dataset["name"]): dataset_urn(dataset) for dataset in _datasets(event)}
    found = {}
    for output in event.get("outputs") or ():
        for column, made in ((output.get("facets") or {}).get("columnLineage") or {}).get("fields", {}).items():
            fields = [
                f"urn:li:schemaField:({tables.get((field['namespace'], field['name'])) or dataset_urn(field)},{field['field']})"
                for field in made["inputFields"]
            ]
            if fields:
                found[f"urn:li:schemaField:({dataset_urn(output)},{column})"] = tuple(sorted(set(fields)))
    return found


def _is_urn(urn: str) -> bool:
    """urn: parentheses are balanced, and a key of several parts has as many as its kind has, none of them empty."""
    kind, key = urn.split(":", 3)[2:]
    depth, parts, begun = 0, [], 1
    for place, letter in enumerate(key):
        depth += (letter == "(") - (letter == ")")
        if depth < 0 or (depth == 0 and place < len(key) - 1):
            return False
        if depth == 1 and letter == ",":
            parts.append(key[begun:place])
            begun = place + 1
    parts.append(key[begun:-1])
    count = {"schemaField": 2, "dataset": 3}[kind]
    return depth == 0 and all(parts) and len(parts) == count and all(map(_is_urn, _nested(parts)))


def _nested(parts: Sequence[str]) -> Iterator[str]:
    return (part for part in parts if part.startswith("urn:li:dataset:"))


def _leaves(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        yield from _leaves(value) if isinstance(value, Mapping) else [(name, value)]
