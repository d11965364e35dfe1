"""What the standard facets of OpenLineage state about a node: size, query, place of the source code, error, quality.

Any producer states facets, in any form. So each value is checked for its type, texts have a bounded length and no control characters, and
an address is an address only if it begins with `http://` or `https://`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from headwater.errors import InvalidInputError
from headwater.graph.model import EdgeKind, Node, NodeKind, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.write_times import WRITTEN_AT, with_ends

LONGEST = 64_000  # characters of a query, a program or a stack trace
_LONGEST_LINE = 2_000  # characters of a message or an address
_VERSIONS = 5  # the last versions of a dataset that are searched for a size
MOST_DATASETS = 1_000  # of one run
_MOST_CHECKS = 1_000  # assertions of a dataset that are counted
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MOST_COUNT = 2**53  # JSON numbers are exact up to here
_INPUT = "input:"


@dataclass(frozen=True, slots=True)
class Text:
    """A text, and whether it was cut at its longest length."""

    text: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of rows, bytes and files; None where they are not known. `run` wrote or read them, `at` is the time of the write."""

    rows: int | None
    bytes: int | None
    files: int | None
    run: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """The query of a job."""

    query: Text
    dialect: str | None


@dataclass(frozen=True, slots=True)
class Program:
    """The source code of a job."""

    code: Text
    language: str | None


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The place of a job's source code. `url` is None if the stated text is no address of the web."""

    kind: str | None
    url: str | None
    stated: str | None
    repository: str | None
    path: str | None
    version: str | None
    branch: str | None
    tag: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a run."""

    message: Text
    language: str | None
    stack_trace: Text | None


@dataclass(frozen=True, slots=True)
class Quality:
    """The last stated results of a dataset: numbers of assertions that passed and failed, and its rows and bytes."""

    passed: int
    failed: int
    rows: int | None
    bytes: int | None


def query_of(properties: Mapping[str, Any]) -> Query | None:
    facet = _facet(properties, "sql")
    text = _text(facet.get("query"), LONGEST)
    return Query(text, _line(facet.get("dialect"))) if text else None


def program_of(properties: Mapping[str, Any]) -> Program | None:
    facet = _facet(properties, "sourceCode")
    code = _text(facet.get("sourceCode") or facet.get("source"), LONGEST)
    return Program(code, _line(facet.get("language"))) if code else None


def source_place_of(properties: Mapping[str, Any]) -> SourcePlace | None:
    facet = _facet(properties, "sourceCodeLocation")
    names = ("type", "url", "repoUrl", "path", "version", "branch", "tag")
    kind, url, repository, path, version, branch, tag = (_line(facet.get(name)) for name in names)
    if not any((url, repository, path)):
        return None
    return SourcePlace(kind, _address(url), url, _address(repository), path, version, branch, tag)


def failure_of(properties: Mapping[str, Any]) -> Failure | None:
    facet = _facet(properties, "errorMessage")
    message = _text(facet.get("message") or properties.get("error"), _LONGEST_LINE)
    stack_trace = _text(facet.get("stackTrace"), LONGEST)
    if message is None and stack_trace is None:
        return None
    return Failure(message or Text(""), _line(facet.get("programmingLanguage")), stack_trace)


def quality_summary_of(properties: Mapping[str, Any]) -> Quality | None:
    assertions = [each for name in ("dataQualityAssertions", "greatExpectations_assertions") for each in _items(properties, name)]
    metrics = _facet(properties, "dataQualityMetrics")
    rows, size = _count(metrics.get("rowCount")), _count(metrics.get("bytes"))
    if not assertions and rows is None and size is None:
        return None
    failed = sum(1 for each in assertions if each.get("success") is False)
    return Quality(sum(1 for each in assertions if each.get("success") is True), failed, rows, size)


def size_of_version(node: Node) -> Size | None:
    """Return the size of a version: as Headwater has counted it, else as its producer states it."""
    stated = _facet(node.properties, "outputStatistics")
    own = node.properties
    counts = (
        _first(own.get("rows"), stated.get("rowCount")), _first(own.get("bytes"), stated.get("size")),
        _first(own.get("files"), stated.get("fileCount")),
    )  # fmt: skip
    if all(count is None for count in counts):
        return None
    at = own.get(WRITTEN_AT)
    return Size(*counts, run=_run_of(node), at=at if isinstance(at, str) else None)


async def sizes_of_datasets(graph: GraphStore, tenant: str, datasets: Sequence[str]) -> dict[str, Size]:
    """Return the size that the last run with a size wrote to each dataset. A dataset without one may have the size of its metrics."""
    latest = await graph.latest_at(tenant, [(dataset, None) for dataset in datasets], NodeKind.VERSION, first=_VERSIONS)
    found: dict[str, Size] = {}
    for (dataset, _), versions in latest.items():
        sizes = (size_of_version(version) for version in await with_ends(graph, tenant, versions))
        size = next((each for each in sizes if each is not None and each.at is not None), None)
        if size is not None:
            found[dataset] = size
    for node in await graph.get(tenant, [dataset for dataset in datasets if dataset not in found]):
        quality = quality_summary_of(node.properties)
        if quality is not None and (quality.rows is not None or quality.bytes is not None):
            found[node.id] = Size(quality.rows, quality.bytes, None)
    return found


def input_sizes_of(properties: Mapping[str, Any], run: str) -> dict[str, Size]:
    """Return what a run read of each dataset, as far as its producer states it."""
    found: dict[str, Size] = {}
    for name, about in properties.items():
        if not name.startswith(_INPUT) or len(found) >= MOST_DATASETS:
            continue
        facets = _facet(about, "inputFacets") if isinstance(about, Mapping) else {}
        read, metrics = _facet(facets, "inputStatistics"), _facet(facets, "dataQualityMetrics")
        rows = _first(read.get("rowCount"), metrics.get("rowCount"))
        size, files = _first(read.get("size"), metrics.get("bytes")), _first(read.get("fileCount"), metrics.get("fileCount"))
        if not rows is size is files is None:
            found[name.removeprefix(_INPUT)] = Size(rows, size, files, run)
    return found


async def output_sizes_of(graph: GraphStore, tenant: str, run: str) -> dict[str, Size]:
    """Return what a run wrote to each dataset, as far as it is known."""
    edges = await graph.neighbours(tenant, [run], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
    versions = [edge.dst for edge in edges if edge.dst.startswith(f"{NodeKind.VERSION}:")][:MOST_DATASETS]
    known = await with_ends(graph, tenant, await graph.get(tenant, versions))
    sizes = {node.id: size for node in known if (size := size_of_version(node)) is not None}
    return {f"{NodeKind.DATASET}:{':'.join(version.split(':')[1:3])}": size for version, size in sizes.items()}


def _facet(properties: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = properties.get(name)
    return value if isinstance(value, Mapping) else {}


def _items(properties: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = _facet(properties, name).get("assertions")
    return [item for item in items[:_MOST_CHECKS] if isinstance(item, Mapping)] if isinstance(items, list) else []


def _text(value: Any, most: int) -> Text | None:
    if not isinstance(value, str) or not value:
        return None
    return Text(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", value[:most].replace("\r\n", "\n")), len(value) > most)


def _line(value: Any) -> str | None:
    text = _text(value, _LONGEST_LINE)
    return text.text.replace("\n", " ") if text else None


def _address(text: str | None) -> str | None:
    try:
        parts = urlsplit(text or "")
    except ValueError:
        return None
    return text if parts.scheme in ("http", "https") and parts.hostname else None


def _first(*values: Any) -> int | None:
    return next((count for value in values if (count := _count(value)) is not None), None)


def _count(value: Any) -> int | None:
    """Return a number of things. Producers also write it as a text or as a fraction."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= len(str(_MOST_COUNT)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_COUNT:
        return None
    return int(value)


def _run_of(version: Node) -> str | None:
    try:
        parts = parse_id(version.id)[1]
    except InvalidInputError:
        return None
    return f"{NodeKind.RUN}:{version.id.rpartition(':')[2]}" if len(parts) == 3 else None
