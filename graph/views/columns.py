"""Lineage of columns: derivations as atoms, and datasets whose columns are shown next to datasets that are shown as a whole.

A derivation is the part of one job in one column that is made from another. It is an atom of its own, inside the job. So a job that makes
two columns of two others connects each only with its own origin.

In an opened dataset, flows of derivations replace flows of the dataset. Flows that are known for the dataset as a whole stay with the
dataset, which is shown next to its columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores.derivations import derivations as derivations_at
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views.atoms import Atoms
from headwater.graph.views.fetch import HIDDEN, containers_of
from headwater.graph.views.levels import kind_of
from headwater.graph.views.request import ViewRequest
from headwater.graph.views.times import Flow, in_time, silence

_BY = "by:"


@dataclass(frozen=True, slots=True)
class Derivation:
    """A column that a job made from another column. `job` is None if a dataset event stated the derivation without a job."""

    src: str
    dst: str
    job: str | None


async def load_columns(graph: GraphStore, tenant: str, request: ViewRequest, nodes: Sequence[Node]) -> Atoms:
    """Return the atoms around columns. From a column to the next, the depth grows by two hops, as it does from dataset to dataset."""
    reached = await graph.reach(
        tenant,
        [node.id for node in nodes],
        direction=request.direction,
        kinds=[EdgeKind.DERIVES],
        depth=-(-(request.depth + 1) // 2),
        limit=request.limit,
    )
    notes: list[str] = [HIDDEN] if reached.hidden else []
    derivations = await _in_time(graph, tenant, request, derivations_of(reached.edges), notes, {node.id for node in nodes})
    made = _Atoms()
    for node in reached.nodes:
        made.number(node.id)
    for derivation in derivations:
        made.join(derivation.src, derivation.dst, derivation.job)
    jobs = sorted({derivation.job for derivation in derivations if derivation.job})
    parents = await containers_of(graph, tenant, jobs)
    focus = [made.number(node.id) for node in nodes]
    return Atoms(made.ids, made.edges, focus, parents, reached.truncated, notes)


async def open_columns(graph: GraphStore, tenant: str, request: ViewRequest, atoms: Atoms, opened: set[str]) -> Atoms:
    """Return the atoms of jobs and datasets, with some datasets replaced by their columns."""
    known = set(atoms.ids)
    inside = await graph.neighbours(tenant, sorted(opened), direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
    columns = sorted({edge.dst for edge in inside if kind_of(edge.dst) is NodeKind.COLUMN})
    edges = await derivations_at(graph, tenant, columns, direction=Direction.BOTH)
    derivations = [
        derivation
        for derivation in await _in_time(graph, tenant, request, derivations_of(edges), atoms.notes)
        if {dataset_of(derivation.src), dataset_of(derivation.dst)} <= known and (derivation.job is None or derivation.job in known)
    ]
    made = _Atoms()
    for identifier in atoms.ids:
        made.number(identifier)
    for derivation in derivations:
        src, dst = (end if dataset_of(end) in opened else dataset_of(end) for end in (derivation.src, derivation.dst))
        made.join(src, dst, derivation.job)
    covered = {(derivation.job, dataset_of(derivation.dst)) for derivation in derivations}
    wrote: dict[str, set[str]] = {}
    pairs = [(atoms.ids[src], atoms.ids[dst]) for src, dst in atoms.edges]
    for src, dst in pairs:
        if kind_of(src) is NodeKind.JOB:
            wrote.setdefault(src, set()).add(dst)
    for (src, dst), edge in zip(pairs, atoms.edges, strict=True):
        by_column = (
            (src, dst) in covered if dst in opened else src in opened and all((dst, output) in covered for output in wrote.get(dst, ()))
        )
        if not (by_column and (dst in opened or wrote.get(dst))):
            made.edges.append(edge)
    asked = {atoms.ids[number] for number in atoms.focus}
    focus = [*atoms.focus, *(made.number(column) for column in columns if dataset_of(column) in asked)]
    return Atoms(made.ids, made.edges, focus, atoms.parents, atoms.beyond, atoms.notes)


def derivations_of(edges: Iterable[Edge]) -> list[Derivation]:
    found: list[Derivation] = []
    for edge in edges:
        jobs: list[str | None] = [name.removeprefix(_BY) for name in edge.properties if name.startswith(_BY)]
        found += [Derivation(edge.src, edge.dst, job) for job in jobs or [None]]
    return list(dict.fromkeys(found))


def dataset_of(column: str) -> str:
    return node_id(NodeKind.DATASET, *parse_id(column)[1][:2])


async def _in_time(
    graph: GraphStore, tenant: str, request: ViewRequest, derivations: list[Derivation], notes: list[str], focus: Collection[str] = ()
) -> list[Derivation]:
    """Return the derivations that existed at the requested time: their job read the one column and wrote the other.

    If no flow of a `focus` column existed then, a note is added to `notes`.
    """
    if not request.timed or not derivations:
        return derivations
    columns = sorted({end for derivation in derivations for end in (derivation.src, derivation.dst)})
    edges = await graph.neighbours(tenant, columns, direction=Direction.BOTH, kinds=[EdgeKind.ACCESSES])
    flows = [Flow(edge.src, edge.dst, edge.kind, edge.first, edge.last) for edge in edges]
    there = await in_time(graph, tenant, request, flows, notes, kinds=[EdgeKind.ACCESSES])
    notes += silence(request, flows, there, focus)
    gone = {(flow.src, flow.dst) for flow, stays in zip(flows, there, strict=True) if not stays}
    return [
        derivation
        for derivation in derivations
        if derivation.job is None or gone.isdisjoint({(derivation.src, derivation.job), (derivation.job, derivation.dst)})
    ]


class _Atoms:
    """Atoms while they are collected."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.edges: list[tuple[int, int]] = []
        self._numbers: dict[str, int] = {}
        self._parts: dict[tuple[int, int, str], int] = {}

    def number(self, identifier: str) -> int:
        """Return the number of a node's atom. A new node gets a new atom."""
        if identifier not in self._numbers:
            self._numbers[identifier] = len(self.ids)
            self.ids.append(identifier)
        return self._numbers[identifier]

    def join(self, src: str, dst: str, job: str | None) -> None:
        """Add a derivation, by way of an atom for the job's part in it."""
        ends = self.number(src), self.number(dst)
        if job is None:
            self.edges.append(ends)
        elif (*ends, job) not in self._parts:
            self._parts[*ends, job] = part = len(self.ids)
            self.ids.append(job)
            self.edges += [(ends[0], part), (part, ends[1])]
