"""Decides which properties of a visible node or edge a restricted caller may see.

Properties contain anything that producers stated: queries, plans, errors and facets of any form, which may name anything. So the visible
properties are listed here, and all others are hidden. A new property stays hidden until a developer adds it here, after checking that it
names nothing in other namespaces. If a property names other nodes, only the visible ones remain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, kind_of, node_id
from headwater.graph.model.declaration import Aspect
from headwater.graph.model.descriptions import CURATED

# Properties of the node itself: numbers, times, states, types and texts about it.
_PLAIN = frozenset({
    "state", "startedAt", "endedAt", "updatedAt", "bareEnd", "producer", "ordinal", "type", "description", "block", "writtenAt", "rows",
    "bytes", "path", "format", "length", "modified", "op", "stage", "attempt", "tasks", "failed", "partition", "try", "shown", "last",
    "assertion", "column", "partition_columns", "actorType", "merges", "undoneAt",
})  # fmt: skip
# Facets of OpenLineage about the node itself.
_FACETS = frozenset({
    "schema", "documentation", "ownership", "tags", "storage", "datasetType", "version", "datasetVersion", "facet:version", "jobType",
    "processing_engine", "nominalTime", "outputStatistics", "inputStatistics", "dataQualityMetrics", "dataQualityAssertions",
    "sourceCodeLocation",
})  # fmt: skip
_PREFIXES = ("curated:", "tag:", "tagged:")
# Properties made from a node of one kind alone: the fields within a column, the values of a partition, and details of its run.
_OF_KIND = frozenset({
    (NodeKind.COLUMN, "fields"), (NodeKind.PARTITION, "values"), (NodeKind.OPERATOR, "children"), (NodeKind.STAGE, "parents"),
    (NodeKind.STAGE, "after"),
})  # fmt: skip
_OF_RUNS = frozenset({NodeKind.JOB, NodeKind.RUN, NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR})  # only own events place them
_LEDGER = frozenset({"capture", "mode", "status", "cost", "started", "ended"})  # problems are left out: their texts name plans and files
_TRANSFORMATION = frozenset({"type", "subtype", "masking"})
_OF_QUALITY = frozenset({"dataQualityMetrics", "dataQualityAssertions", "inputStatistics"})
# Only the actor at one end states these edges. If the actor is visible, so are all sources of the edge's times.
_OF_ACTOR = frozenset({EdgeKind.READS, EdgeKind.WRITES, EdgeKind.ACCESSES, EdgeKind.CHECKS, EdgeKind.REPLAYS})
_BROADER, _CONSUMPTION = f"{CURATED}{Aspect.BROADER}", f"{CURATED}{Aspect.CONSUMPTION}"  # these name other nodes
_INPUT, _BY, _HOW = "input:", "by:", "how:"

IsVisible = Callable[[str], bool]


def named_by(properties: Mapping[str, Any]) -> set[str]:
    """Return the ids of nodes that a node's properties name. The caller may see only some of them."""
    found = {name.removeprefix(_INPUT) for name in properties if name.startswith(_INPUT)}
    found |= {node_id(NodeKind.TERM, value) for value in _curated(properties, _BROADER)}
    found |= {line.partition(" ")[2] for value in _curated(properties, _CONSUMPTION) for line in value.splitlines()}
    found |= {value for name in ("lastRun", "lastComplete", "replaces") if isinstance(value := properties.get(name), str)}
    return found | {dataset for _, dataset in _sources(properties.get("columnLineage"))} | set(_symlinks(properties.get("symlinks")))


def shown_node(node: Node, seen: IsVisible) -> Node:
    """Return the node with its visible properties. `seen` maps each id from `named_by` to its visibility."""
    visible = {name: shown for name, value in node.properties.items() if (shown := _shown(node.kind, name, value, seen)) is not None}
    return Node(node.id, node.kind, node.name, visible)


def _shown(kind: NodeKind, name: str, value: Any, seen: IsVisible) -> Any:
    if name in (_BROADER, _CONSUMPTION):
        return _NAMING[name](value, seen)
    if name in _FACETS or name.startswith(_PREFIXES):
        return value
    if name.startswith(_INPUT):
        return _input(value) if seen(name.removeprefix(_INPUT)) else None
    if name in _NAMING:
        return _NAMING[name](value, seen)
    is_plain = (name in _PLAIN and _is_plain(value)) or (kind, name) in _OF_KIND
    return value if is_plain else None


def _curated(properties: Mapping[str, Any], name: str) -> list[str]:
    """Return the text that a person states in a property, if there is one."""
    stated = properties.get(name)
    value = stated.get("value") if isinstance(stated, Mapping) else None
    return [value] if isinstance(value, str) and value else []


def _broader(value: Any, seen: IsVisible) -> Any:
    return value if all(seen(node_id(NodeKind.TERM, name)) for name in _curated({_BROADER: value}, _BROADER)) else None


def _consumption(value: Any, seen: IsVisible) -> Any:
    """Return the declared consumption of a job, for the visible datasets."""
    lines = [line for text in _curated({_CONSUMPTION: value}, _CONSUMPTION) for line in text.splitlines()]
    visible = [line for line in lines if seen(line.partition(" ")[2])]
    return {**value, "value": "\n".join(visible)} if visible else None


def _is_plain(value: Any) -> bool:
    """Return whether a value has the form of Headwater's own property. A producer may give a facet, an object, any name."""
    return not isinstance(value, Mapping) and not (isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value))


def _run(value: Any, seen: IsVisible) -> str | None:
    return value if isinstance(value, str) and seen(value) else None


def _capture(value: Any, _: IsVisible) -> Any:
    """Return the id of a capture, or its ledger without the problems."""
    return {part: value[part] for part in value if part in _LEDGER} if isinstance(value, Mapping) else value


def _count(value: Any, _: IsVisible) -> int | None:
    return value if isinstance(value, int) else None


def jobs_of(edge: Edge) -> list[str]:
    return [name.removeprefix(_BY) for name in edge.properties if name.startswith(_BY)]


def shown_edge(edge: Edge, seen: Collection[str]) -> Edge | None:
    """Return the visible part of an edge, or None if no visible job or run states it. `seen` are jobs and runs (as `run:…`)."""
    visible: dict[str, Any] = {}
    has_times = edge.kind in _OF_ACTOR or (edge.kind is EdgeKind.CONTAINS and kind_of(edge.dst) in _OF_RUNS)
    if edge.kind is EdgeKind.CHECKS:
        visible = dict(edge.properties)
    elif edge.kind is EdgeKind.ACCESSES:
        visible = {name: value for name, value in edge.properties.items() if name.startswith(_HOW)}
    elif edge.kind is EdgeKind.DERIVES:
        jobs = jobs_of(edge)
        permitted = [job for job in jobs if job in seen]
        if jobs and not permitted:
            return None
        visible = {f"{_BY}{job}": _steps(edge.properties[f"{_BY}{job}"]) for job in permitted}
        # Neither times nor a summary of all jobs: their absence would show that a hidden job states the edge as well.
        if "transformations" in edge.properties and not jobs:
            visible["transformations"] = _steps(edge.properties["transformations"])
    first, last = (_statement(edge.first, seen), _statement(edge.last, seen)) if has_times else ("", "")
    return Edge(edge.src, edge.dst, edge.kind, visible, {}, first, last)


def runs_of(edges: Iterable[Edge]) -> set[str]:
    """Return the runs that state some edges first or last."""
    return {f"run:{run}" for edge in edges for stated in (edge.first, edge.last) if (run := stated.partition(" ")[2])}


def shown_fact(fact: tuple[EdgeKind, str, str], seen: Collection[str]) -> tuple[EdgeKind, str, str]:
    """Return kind, first and last statement of an edge between visible nodes, without times that hidden events may have changed."""
    kind, first, last = fact
    return (kind, _statement(first, seen), _statement(last, seen)) if kind in _OF_ACTOR else (kind, "", "")


def _statement(stated: str, seen: Collection[str]) -> str:
    time, _, run = stated.partition(" ")
    return stated if not run or f"run:{run}" in seen else time


def _steps(stated: Any) -> Any:
    """Return transformations without their descriptions, which may be queries."""
    if not isinstance(stated, list):
        return []
    return [{part: step[part] for part in step if part in _TRANSFORMATION} for step in stated if isinstance(step, Mapping)]


def _input(value: Any) -> dict[str, Any]:
    facets = value.get("inputFacets") if isinstance(value, Mapping) else None
    if not isinstance(facets, Mapping):
        return {}
    return {"inputFacets": {name: facet for name, facet in facets.items() if name in _OF_QUALITY}}


def _lineage(facet: Any, seen: IsVisible) -> dict[str, Any]:
    """Return the visible part of a facet `columnLineage`, without descriptions."""
    fields = facet.get("fields") if isinstance(facet, Mapping) else None
    visible: dict[str, Any] = {}
    for column, field in fields.items() if isinstance(fields, Mapping) else ():
        sources = field.get("inputFields") if isinstance(field, Mapping) else None
        visible[column] = {"inputFields": _inputs(sources, seen)}
    whole = _inputs(facet.get("dataset"), seen) if isinstance(facet, Mapping) else []
    return {"fields": visible} | ({"dataset": whole} if whole else {})


def _inputs(sources: Any, seen: IsVisible) -> list[dict[str, Any]]:
    visible = []
    for source in sources if isinstance(sources, list) else ():
        dataset = _dataset(source)
        if dataset is not None and seen(dataset):
            parts = {part: source[part] for part in ("namespace", "name", "field") if isinstance(source.get(part), str)}
            visible.append(parts | ({"transformations": _steps(source["transformations"])} if "transformations" in source else {}))
    return visible


def _sources(facet: Any) -> list[tuple[Any, str]]:
    if not isinstance(facet, Mapping):
        return []
    fields = facet.get("fields")
    lists = [field.get("inputFields") for field in fields.values() if isinstance(field, Mapping)] if isinstance(fields, Mapping) else []
    named = [source for sources in (*lists, facet.get("dataset")) if isinstance(sources, list) for source in sources]
    return [(source, dataset) for source in named if (dataset := _dataset(source)) is not None]


def _links(facet: Any, seen: IsVisible) -> dict[str, Any]:
    identifiers = facet.get("identifiers") if isinstance(facet, Mapping) else None
    found = [one for one in identifiers if (dataset := _dataset(one)) and seen(dataset)] if isinstance(identifiers, list) else []
    return {"identifiers": [{part: one[part] for part in ("namespace", "name", "type") if part in one} for one in found]}


def _symlinks(facet: Any) -> list[str]:
    identifiers = facet.get("identifiers") if isinstance(facet, Mapping) else None
    return [dataset for one in identifiers if (dataset := _dataset(one))] if isinstance(identifiers, list) else []


def _dataset(named: Any) -> str | None:
    if not isinstance(named, Mapping) or not isinstance(named.get("namespace"), str) or not isinstance(named.get("name"), str):
        return None
    try:
        return node_id(NodeKind.DATASET, named["namespace"], named["name"])
    except (InvalidInputError, ValueError, UnicodeError):  # half of a surrogate pair
        return None


_NAMING: Mapping[str, Callable[[Any, IsVisible], Any]] = {
    "lastRun": _run, "lastComplete": _run, "replaces": _run, "capture": _capture, "files": _count, "columnLineage": _lineage,
    "symlinks": _links, _BROADER: _broader, _CONSUMPTION: _consumption,
}  # fmt: skip
