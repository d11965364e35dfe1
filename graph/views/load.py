"""Loads the atoms of a view, at one of three grains.

- *Jobs*: flows between datasets and jobs.
- *Runs*: flows between versions, partitions and runs, if a level requests one of these or the focus is one.
- *Columns*: derivations of columns, if the focus is a column. A dataset that is opened to its columns is part of the grain of jobs
  (`columns.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Node, NodeKind
from headwater.graph.stores.containment import children
from headwater.graph.stores.protocol import Cone, GraphStore
from headwater.graph.views.atoms import Atoms, Reach
from headwater.graph.views.columns import load_columns, open_columns
from headwater.graph.views.fetch import FLOWS, HIDDEN, flows_of, known_of, parents_of, past_limit
from headwater.graph.views.levels import kind_of
from headwater.graph.views.masking import needs_names
from headwater.graph.views.request import ACTORS, DATA, MaskBy, ViewRequest
from headwater.graph.views.runs import load_runs
from headwater.graph.views.times import in_time, silence

_FINE = {NodeKind.VERSION, NodeKind.PARTITION, NodeKind.RUN, NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR}

_HOLDING = [
    NodeKind.DATA, NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.ACTOR, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB,
]  # fmt: skip


async def load(graph: GraphStore, tenant: str, request: ViewRequest) -> Atoms:
    """Return the atoms that answer a request.

    Raises:
        NotFoundError: a node of the focus, or a node to be opened, is not in the graph.
        InvalidQueryError: the levels do not fit together.
    """
    nodes = await _named(graph, tenant, request.focus)
    await _named(graph, tenant, list(request.open))
    if strange := [node.id for node in nodes if node.kind not in (*DATA, *ACTORS)]:
        raise InvalidQueryError(
            f"{strange[0]} is neither data nor an actor.", field="focus", hint=f"Name one of: {', '.join((*DATA, *ACTORS))}."
        )
    levels = {request.data, request.actors, *request.open.values()}
    kinds = {node.kind for node in nodes}
    fine = sorted((levels | kinds) & _FINE)
    columns = NodeKind.COLUMN in levels or NodeKind.COLUMN in kinds
    if fine and columns:
        raise InvalidQueryError(
            f"Columns and the level {fine[0]} cannot stand in one view: what a column derives from is known by job.",
            field="actors",
            hint="Ask for columns with jobs, pipelines or systems, or for runs with datasets, versions or partitions.",
        )
    if fine:
        return await load_runs(graph, tenant, request, nodes)
    if kinds == {NodeKind.COLUMN}:
        return await load_columns(graph, tenant, request, nodes)
    if NodeKind.COLUMN in kinds:
        raise InvalidQueryError("The focus mixes columns and other nodes.", field="focus", hint="Ask for the one or the other.")
    focus = await _members(graph, tenant, nodes, request.limit)
    # Distances are computed after times and columns are applied. A column beyond the depth is found by both ends of its derivation.
    further = 2 if request.open or request.data is NodeKind.COLUMN else int(request.timed)
    cone = await graph.cone(
        tenant,
        focus,
        direction=request.direction,
        kinds=FLOWS,
        depth=request.depth + further,
        limit=request.limit,
        contained=_contained(request),
        facts=request.timed,
        names=needs_names(request.masks),
    )
    atoms = await _of_jobs(graph, tenant, request, cone, focus, further=bool(further))
    opened = _opened(request, atoms.ids) if request.open or request.data is NodeKind.COLUMN else set()
    return await open_columns(graph, tenant, request, atoms, opened) if opened else atoms


async def _of_jobs(graph: GraphStore, tenant: str, request: ViewRequest, cone: Cone, focus: Sequence[str], *, further: bool) -> Atoms:
    ids = list(cone.ids[: cone.reached])
    asked = set(focus)
    atoms = Atoms(
        ids=ids,
        edges=cone.pairs,
        focus=[number for number, identifier in enumerate(ids[: len(asked)]) if identifier in asked],
        parents=parents_of(cone),
        beyond=past_limit(cone, request) if further else cone.beyond,
        reach=None if further else Reach(cone.upstream, cone.downstream),
        names=dict(zip(cone.ids, cone.names, strict=True)) if cone.names else {},
        known=partial(known_of, cone),
    )
    if cone.hidden:
        atoms.notes.append(HIDDEN)
    if request.timed:
        flows = flows_of(cone)
        there = await in_time(graph, tenant, request, flows, atoms.notes)
        atoms.notes += silence(request, flows, there, asked)
        atoms.edges = [edge for edge, stays in zip(cone.edges, there, strict=True) if stays]
    return atoms


async def _named(graph: GraphStore, tenant: str, ids: Sequence[str]) -> list[Node]:
    nodes = await graph.get(tenant, list(dict.fromkeys(ids)))
    known = {node.id for node in nodes}
    missing = [identifier for identifier in ids if identifier not in known]
    if missing:
        raise NotFoundError(f"Nothing is known of {missing[0]}.", hint="Search for its name, or see what a container holds.")
    return nodes


async def _members(graph: GraphStore, tenant: str, nodes: Sequence[Node], limit: int) -> list[str]:
    """Return the datasets and jobs inside the nodes of the focus, such as a platform, a system or a pipeline."""
    found: list[str] = []
    waiting = [node.id for node in nodes]
    seen = set(waiting)
    while waiting:
        identifier = waiting.pop(0)
        if kind_of(identifier) in (NodeKind.DATASET, NodeKind.JOB):
            found.append(identifier)
            if len(found) > limit:
                raise InvalidQueryError(
                    f"The focus holds more than {limit:,} datasets and jobs.", field="focus", hint="Name a smaller container."
                )
            continue
        inside = await children(graph, tenant, identifier, _HOLDING)
        waiting += [node.id for node in inside if node.id not in seen]
        seen.update(node.id for node in inside)
    return found


def _contained(request: ViewRequest) -> list[NodeKind]:
    """Return the kinds of nodes whose containers are needed. Fetching the containers of jobs takes a third of the whole time."""
    named = {
        *request.open,
        *(value for mask in request.masks for value in mask.values),
        *(end for side in request.between or () for end in side),
    }
    by_node_alone = all(mask.by is MaskBy.KIND for mask in request.masks)
    kinds = [NodeKind.JOB] if request.actors is not NodeKind.JOB or request.open or request.between or not by_node_alone else []
    # A dataset's id has its platform, but not the containers that users put it into.
    if request.data is NodeKind.DATA or any(name.startswith(f"{NodeKind.DATA}:") for name in named):
        kinds.append(NodeKind.DATASET)
    return kinds


def _opened(request: ViewRequest, ids: Sequence[str]) -> set[str]:
    """Return the datasets that are shown by their columns."""
    found: set[str] = set()
    for identifier in ids:
        if kind_of(identifier) is NodeKind.DATASET:
            platform = "platform:" + identifier.split(":", 2)[1]
            level = request.open.get(identifier) or request.open.get(platform) or request.data
            if level is NodeKind.COLUMN:
                found.add(identifier)
    return found
