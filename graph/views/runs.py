"""Lineage of runs: the versions or files that each run read and wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind
from headwater.graph.model.instants import shown_instant
from headwater.graph.stores.containment import children
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.write_times import with_ends
from headwater.graph.views.atoms import Atoms
from headwater.graph.views.fetch import FLOWS, HIDDEN, flows_of, parents_of, past_limit
from headwater.graph.views.inputs import add_inputs
from headwater.graph.views.levels import Zoom, kind_of
from headwater.graph.views.operators import open_runs
from headwater.graph.views.request import ViewRequest
from headwater.graph.views.tasks import OPENED, open_stages
from headwater.graph.views.times import Flow, silence, time_of, within

_INSIDE = {
    NodeKind.DATA: [NodeKind.DATA, NodeKind.PLATFORM, NodeKind.DATASET],
    NodeKind.PLATFORM: [NodeKind.DATASET],
    NodeKind.DATASET: [NodeKind.VERSION, NodeKind.PARTITION],
    NodeKind.ACTOR: [NodeKind.ACTOR, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB],
    NodeKind.SYSTEM: [NodeKind.ACTOR, NodeKind.PIPELINE, NodeKind.JOB],
    NodeKind.PIPELINE: [NodeKind.PIPELINE, NodeKind.JOB],
    NodeKind.JOB: [NodeKind.RUN],
}


_PARTS = frozenset({NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR})


async def load_runs(graph: GraphStore, tenant: str, request: ViewRequest, nodes: Sequence[Node]) -> Atoms:
    """Return the atoms around versions, partitions and runs.

    Raises:
        InvalidQueryError: no version, partition or run of the focus is in the graph.
    """
    runs = await _runs_of(graph, tenant, nodes)
    focus = await _focus(graph, tenant, request, [*(node for node in nodes if node.id not in runs), *runs.values()])
    if not focus:
        then = await _written_later(graph, tenant, request, nodes)
        raise InvalidQueryError(
            f"No version, partition or run of {nodes[0].id} is known{then}.",
            field="focus",
            hint="Its levels are: platform, dataset, column; system, pipeline, job.",
        )
    atoms = await _around(graph, tenant, request, focus, request.direction)

    async def grow(versions: Sequence[str]) -> Atoms:
        return await _around(graph, tenant, request, versions, Direction.UPSTREAM)

    if request.direction is not Direction.UPSTREAM:
        atoms.notes.append("Downstream, runs that state an input without its version or files are missing.")
    await add_inputs(graph, tenant, request, atoms, None if request.direction is Direction.DOWNSTREAM else grow)
    levels = {request.actors, *request.open.values()}
    if NodeKind.OPERATOR in levels:
        await open_runs(graph, tenant, request, atoms)
    if levels & OPENED:
        await open_stages(graph, tenant, request, atoms)
    if inside := [number for number, identifier in enumerate(atoms.ids) if identifier in runs]:
        chain, unasked = Zoom(request, atoms.parents).chain, {run.id for run in runs.values()} - {node.id for node in nodes}
        atoms.focus = [*(number for number in atoms.focus if unasked.isdisjoint(chain(atoms.ids[number]))), *inside]
    return atoms


async def _written_later(graph: GraphStore, tenant: str, request: ViewRequest, nodes: Sequence[Node]) -> str:
    """Return a text with the time of the first block, for datasets without a block at an instant."""
    if request.as_of is None:
        return " in that time" if request.timed else ""
    datasets = [node.id for node in nodes if node.kind is NodeKind.DATASET]
    blocks = [block for each in datasets for block in await children(graph, tenant, each, _INSIDE[NodeKind.DATASET])]
    times = [str(block.properties["writtenAt"]) for block in await with_ends(graph, tenant, blocks) if "writtenAt" in block.properties]
    first = f": the first was written at {shown_instant(min(times))}" if times else ""
    return f" as of {shown_instant(request.as_of)}{first}"


async def _runs_of(graph: GraphStore, tenant: str, nodes: Sequence[Node]) -> dict[str, Node]:
    """Return the run of each stage, task and operator. A view shows the flows of the run for them.

    Raises:
        InvalidQueryError: the run of a node is not in the graph.
    """
    parts = [node.id for node in nodes if node.kind in _PARTS]
    above = await graph.ancestors(tenant, parts) if parts else {}
    runs = {part: next((node for node in above.get(part, ()) if node.kind is NodeKind.RUN), None) for part in parts}
    if lost := [part for part, run in runs.items() if run is None]:
        raise InvalidQueryError(f"Of {lost[0]} no run is known.", field="focus", hint="Name a run, a job or a dataset.")
    return {part: run for part, run in runs.items() if run is not None}


async def _around(graph: GraphStore, tenant: str, request: ViewRequest, focus: Sequence[str], direction: Direction) -> Atoms:
    cone = await graph.cone(
        tenant,
        focus,
        direction=direction,
        kinds=FLOWS,
        depth=request.depth + 1,
        limit=request.limit,
        contained=[NodeKind.RUN, NodeKind.PARTITION],
        facts=request.timed,
    )
    ids = list(cone.ids[: cone.reached])
    parents = parents_of(cone)
    edges = list(cone.edges)
    notes: list[str] = [HIDDEN] if cone.hidden else []
    if request.timed:
        flows = flows_of(cone)
        stated = _run_times(flows)
        until, since = request.as_of or request.until, request.since
        there = [_there(flow, stated, since, until) for flow in flows]
        edges = [edge for edge, stays in zip(edges, there, strict=True) if stays]
        notes += silence(request, flows, there, set(focus))
    asked = set(focus)
    start = [number for number, identifier in enumerate(ids[: len(asked)]) if identifier in asked]
    finest = _finest(ids, edges, parents)
    # If its files have every flow of a version, the version is left out: it would be next to them, without a link.
    joined = {end for edge in finest for end in edge}
    in_parts = {parent for each in ids if kind_of(each) is NodeKind.PARTITION for parent in parents.get(each, ())}
    start = [number for number in start if number in joined or ids[number] not in in_parts]
    return Atoms(ids, finest, start, parents, past_limit(cone, request), notes)


async def _focus(graph: GraphStore, tenant: str, request: ViewRequest, nodes: Sequence[Node]) -> list[str]:
    found: list[str] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop(0)
        if node.kind not in _INSIDE:
            found.append(node.id)
            if node.kind is NodeKind.VERSION:
                found += [part.id for part in await children(graph, tenant, node.id, [NodeKind.PARTITION])]
            continue
        inside = await children(graph, tenant, node.id, _INSIDE[node.kind])
        if node.kind is NodeKind.DATASET and request.as_of:
            inside = current_versions(await with_ends(graph, tenant, inside), request.as_of)
        waiting += inside
    return list(dict.fromkeys(found))


def current_versions(nodes: Sequence[Node], instant: str) -> list[Node]:
    """Return the blocks of a dataset at an instant: the last base before it, and all later deltas.

    A block without a kind counts as a delta. A partition without a version has no time, and stays.
    """
    written = sorted(
        ((str(node.properties["writtenAt"]), node) for node in nodes if "writtenAt" in node.properties), key=lambda entry: entry[0]
    )
    by_then = [node for at, node in written if at <= instant]
    bases = [place for place, node in enumerate(by_then) if node.properties.get("block") == "base"]
    current = by_then[bases[-1] :] if bases else by_then
    return [*current, *(node for node in nodes if node.kind is NodeKind.PARTITION)]


def _run_times(flows: Sequence[Flow]) -> dict[str, tuple[str, str]]:
    times: dict[str, tuple[str, str]] = {}
    for flow in flows:
        run = flow.src if flow.src.startswith("run:") else flow.dst
        if flow.first:
            first, last = times.get(run, (flow.first, flow.last))
            times[run] = min(first, flow.first), max(last, flow.last)
    return times


def _there(flow: Flow, times: dict[str, tuple[str, str]], since: str | None, until: str | None) -> bool:
    """Return whether the run of a flow was in the requested window. A run without a time counts."""
    run = flow.src if flow.src.startswith("run:") else flow.dst
    if run not in times:
        return True
    first, last = times[run]
    return within(Flow(flow.src, flow.dst, flow.kind, time_of(first), time_of(last)), since, until)


def _finest(ids: Sequence[str], edges: list[tuple[int, int]], parents: Mapping[str, Sequence[str]]) -> list[tuple[int, int]]:
    """Remove flows of a version if its partitions have the same flows."""
    covered: set[tuple[str, str]] = set()
    for src, dst in edges:
        for end, other, forward in ((src, dst, True), (dst, src, False)):
            if kind_of(ids[end]) is NodeKind.PARTITION:
                for parent in parents.get(ids[end], ()):
                    covered.add((parent, ids[other]) if forward else (ids[other], parent))
    return [edge for edge in edges if (ids[edge[0]], ids[edge[1]]) not in covered]
