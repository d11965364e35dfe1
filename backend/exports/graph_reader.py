"""Reads datasets and jobs from the graph in batches, in the form for exports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.backend.projection.facets import mapping, objects, text
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.model.descriptions import Descriptions, descriptions_of
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.stores.derivations import derivations
from headwater.graph.views.masking import field_tags

_PORTION = 100  # datasets or jobs to read at a time
_COLUMNS = 500  # columns whose sources are read at a time
_PLAIN = {"type", "ordinal", "description", "fields"}  # the usual facts about a column in a schema


@dataclass(frozen=True, slots=True)
class Field:
    """A column or a nested field. `type` is the producer's name of the type."""

    name: str
    type: str
    description: str | None = None
    tags: tuple[str, ...] = ()
    children: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnFlow:
    """A derivation: `targets` (column names of this dataset) derive from `sources` (column ids of others). `how` is its kind."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset. `sources` are the ids of other datasets that its writers read."""

    namespace: str
    name: str
    about: Descriptions
    fields: Sequence[Field]
    is_dropped: bool
    sources: Sequence[str]
    flows: Sequence[ColumnFlow]


@dataclass(frozen=True, slots=True)
class Job:
    """A job. `integration` is the engine that events name. `reads` and `writes` are ids of datasets."""

    namespace: str
    name: str
    about: Descriptions
    integration: str | None
    reads: Sequence[str]
    writes: Sequence[str]


async def namespaces(graph: GraphStore, tenant: str, kind: NodeKind) -> list[str]:
    """Return all namespaces of datasets (platforms) or of jobs (systems)."""
    return [parse_id(node.id)[1][0] async for page in _listed(graph, tenant, f"{kind}:") for node in page]


async def tags(graph: GraphStore, tenant: str) -> list[tuple[str, str | None]]:
    """Return all tags that were ever used, with their descriptions."""
    found = [node async for page in _listed(graph, tenant, f"{NodeKind.TAG}:") for node in page]
    return [(parse_id(node.id)[1][0], descriptions_of(node).description) for node in found]


async def datasets(graph: GraphStore, tenant: str, namespace: str) -> AsyncIterator[list[Dataset]]:
    """Yield the datasets of a namespace in batches."""
    async for page in _listed(graph, tenant, node_id(NodeKind.DATASET, namespace, "")):
        sources = await _sources(graph, tenant, [node.id for node in page])
        fields = await _fields(graph, tenant, page)
        flows = await _flows(graph, tenant, fields)
        yield [
            Dataset(
                namespace,
                parse_id(node.id)[1][1],
                about=descriptions_of(node),
                fields=fields[node.id],
                is_dropped=mapping(node.properties.get("lifecycleStateChange")).get("lifecycleStateChange") == "DROP",
                sources=sorted(sources[node.id]),
                flows=flows[node.id],
            )
            for node in page
        ]


async def jobs(graph: GraphStore, tenant: str, namespace: str) -> AsyncIterator[list[Job]]:
    """Yield the jobs of a namespace in batches."""
    async for page in _listed(graph, tenant, node_id(NodeKind.JOB, namespace, "")):
        ids = [node.id for node in page]
        read = await _joined(graph, tenant, ids, Direction.UPSTREAM, EdgeKind.READS, NodeKind.DATASET)
        written = await _joined(graph, tenant, ids, Direction.DOWNSTREAM, EdgeKind.WRITES, NodeKind.DATASET)
        yield [
            Job(
                namespace,
                parse_id(node.id)[1][1],
                about=descriptions_of(node),
                integration=text(mapping(node.properties.get("jobType")).get("integration")),
                reads=sorted(read[node.id]),
                writes=sorted(written[node.id]),
            )
            for node in page
        ]


async def _listed(graph: GraphStore, tenant: str, prefix: str) -> AsyncIterator[list[Node]]:
    after: str | None = None
    while page := list(await graph.listed_after(tenant, prefix, after, first=_PORTION)):
        yield page
        after = page[-1].id


async def _sources(graph: GraphStore, tenant: str, ids: Sequence[str]) -> Mapping[str, set[str]]:
    writers = await _joined(graph, tenant, ids, Direction.UPSTREAM, EdgeKind.WRITES, NodeKind.JOB)
    every = sorted({job for each in writers.values() for job in each})
    read = await _joined(graph, tenant, every, Direction.UPSTREAM, EdgeKind.READS, NodeKind.DATASET)
    return {dataset: {source for job in written_by for source in read[job]} - {dataset} for dataset, written_by in writers.items()}


async def _joined(
    graph: GraphStore, tenant: str, ids: Sequence[str], direction: Direction, kind: EdgeKind, other: NodeKind
) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {identifier: set() for identifier in ids}
    for edge in await graph.neighbours(tenant, ids, direction=direction, kinds=[kind]):
        own, joined = (edge.dst, edge.src) if direction is Direction.UPSTREAM else (edge.src, edge.dst)
        if joined.startswith(f"{other}:"):
            found[own].add(joined)
    return found


async def _fields(graph: GraphStore, tenant: str, datasets: Sequence[Node]) -> Mapping[str, list[Field]]:
    stated = {dataset.id: _stated(dataset) for dataset in datasets}
    ids = [column for dataset in datasets for column in stated[dataset.id]]
    known = {node.id: node for start in range(0, len(ids), _COLUMNS) for node in await graph.get(tenant, ids[start : start + _COLUMNS])}
    found: dict[str, list[Field]] = {}
    for dataset in datasets:
        fields = [_field(one, known.get(column), dataset) for column, one in stated[dataset.id].items()]
        found[dataset.id] = fields or await _columns(graph, tenant, dataset)
    return found


def _stated(dataset: Node) -> Mapping[str, Mapping[str, Any]]:
    fields = objects(mapping(dataset.properties.get("schema")).get("fields"))
    return {node_id(NodeKind.COLUMN, *parse_id(dataset.id)[1], one["name"]): one for one in fields if text(one.get("name"))}


async def _columns(graph: GraphStore, tenant: str, dataset: Node) -> list[Field]:
    prefix = node_id(NodeKind.COLUMN, *parse_id(dataset.id)[1], "")
    columns = [node async for page in _listed(graph, tenant, prefix) for node in page]
    columns.sort(key=lambda node: (node.properties.get("ordinal") or 0, node.id))
    return [_field({**node.properties, "name": parse_id(node.id)[1][2]}, node, dataset) for node in columns]


def _field(stated: Mapping[str, Any], column: Node | None, dataset: Node | None) -> Field:
    described = column if column and dataset and (column.properties.keys() - _PLAIN or "tags" in dataset.properties) else None
    curated = descriptions_of(described).description if described else None
    return Field(
        name=stated["name"],
        type=text(stated.get("type")) or "",
        description=curated or text(stated.get("description")),
        tags=_keys(field_tags(described, dataset)) if described else (),
        children=tuple(_field(child, None, None) for child in objects(stated.get("fields")) if text(child.get("name"))),
    )


def _keys(found: Collection[str]) -> tuple[str, ...]:
    """Remove tags that repeat another tag with a value (`pii=email` next to `pii`)."""
    return tuple(sorted(tag for tag in found if "=" not in tag or tag.partition("=")[0] not in found))


async def _flows(graph: GraphStore, tenant: str, fields: Mapping[str, Sequence[Field]]) -> Mapping[str, list[ColumnFlow]]:
    columns = {
        node_id(NodeKind.COLUMN, *parse_id(dataset)[1], field.name): (dataset, field.name)
        for dataset, own in fields.items()
        for field in own
    }
    ids = list(columns)
    made: dict[tuple[str, str], list[str]] = {}
    for start in range(0, len(ids), _COLUMNS):
        some = ids[start : start + _COLUMNS]
        for edge in sorted(await derivations(graph, tenant, some, direction=Direction.UPSTREAM), key=lambda edge: edge.src):
            if edge.src.rpartition(":")[0] != edge.dst.rpartition(":")[0]:
                made.setdefault((edge.dst, _how(edge)), []).append(edge.src)
    together: dict[str, dict[tuple[str, tuple[str, ...]], list[str]]] = {dataset: {} for dataset in fields}
    for (column, how), sources in made.items():
        dataset, name = columns[column]
        together[dataset].setdefault((how, tuple(sources)), []).append(name)
    return {
        dataset: [ColumnFlow(sources, tuple(targets), how) for (how, sources), targets in found.items()]
        for dataset, found in together.items()
    }


def _how(edge: Edge) -> str:
    """Describe briefly how all jobs derive a column. Descriptions of steps may contain values, so they are left out."""
    by = [steps for name, steps in edge.properties.items() if name.startswith("by:")]
    return ", ".join(_words(step for steps in by or [edge.properties.get("transformations")] for step in objects(steps)))


def _words(steps: Iterable[Mapping[str, Any]]) -> list[str]:
    words = set()
    for step in steps:
        kind, subtype = text(step.get("type")), text(step.get("subtype"))
        name = subtype or kind
        if name:
            words.add(f"{name} (indirect)" if kind == "INDIRECT" and subtype else name)
    return sorted(words)
