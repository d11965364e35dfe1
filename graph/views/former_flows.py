"""Flows that their job has given up: a later run stated flows on the same side (reads or writes) without them.

Views and lists of edges show these flows and mark them, so that nobody takes them for current lineage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from headwater.graph.model import Edge, EdgeKind, NodeKind
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views.columns import derivations_of
from headwater.graph.views.fetch import FLOWS, flows_of
from headwater.graph.views.levels import kind_of
from headwater.graph.views.request import MAX_REACHED
from headwater.graph.views.times import is_current, latest_statements

_NOW = "~"  # later than every time of a statement


async def find_former_flows(
    graph: GraphStore, tenant: str, nodes: Iterable[str], *, kinds: Sequence[EdgeKind] = FLOWS
) -> set[tuple[str, str]]:
    """Return the flows, as (source, destination), that the jobs among some nodes have given up.

    A flow without a time is never among them. Reads and writes are flows of datasets, `accesses` those of columns: a run may state the
    first without the second, so each needs a call of its own.
    """
    jobs = sorted({identifier for identifier in nodes if kind_of(identifier) is NodeKind.JOB})
    if not jobs:
        return set()
    around = await graph.cone(tenant, jobs, direction=Direction.BOTH, kinds=kinds, depth=1, limit=MAX_REACHED, facts=True)
    asked = set(jobs)
    flows = [flow for flow in flows_of(around) if flow.side[0] in asked]
    latest = latest_statements(flows, _NOW)
    return {(flow.src, flow.dst) for flow in flows if flow.first and not is_current(flow, _NOW, latest)}


async def find_former_derivations(graph: GraphStore, tenant: str, edges: Iterable[Edge]) -> set[tuple[str, str]]:
    """Return the derivations of columns that each of their jobs has given up: it no longer reads the one column, or writes the other."""
    found = derivations_of(edges)
    former = await find_former_flows(graph, tenant, {each.job for each in found if each.job}, kinds=(EdgeKind.ACCESSES,))
    current = {
        (each.src, each.dst) for each in found if each.job is None or former.isdisjoint({(each.src, each.job), (each.job, each.dst)})
    }
    return {(each.src, each.dst) for each in found} - current


def walk_current(
    start: Collection[str], edges: Iterable[tuple[str, str]], former: Collection[tuple[str, str]], direction: Direction
) -> tuple[dict[str, int], dict[str, str]]:
    """Walk over the edges that are not former. Return the hops to each node, and the first node by id before it on a shortest path."""
    steps: dict[str, list[str]] = {}
    for src, dst in edges:
        if (src, dst) not in former:
            near, far = (dst, src) if direction is Direction.UPSTREAM else (src, dst)
            steps.setdefault(near, []).append(far)
    hops, before = dict.fromkeys(start, 0), dict[str, str]()
    level = sorted(hops)
    while level:
        found: dict[str, str] = {}
        for near in level:
            for far in steps.get(near, ()):
                if far not in hops:
                    found.setdefault(far, near)
        hops.update((far, hops[near] + 1) for far, near in found.items())
        before |= found
        level = sorted(found)
    return hops, before


async def find_former_atoms(graph: GraphStore, tenant: str, ids: Collection[str]) -> set[tuple[str, str]]:
    """Return the former flows among the atoms of a view: those of datasets, and those of columns if the view has columns."""
    former = await find_former_flows(graph, tenant, ids)
    if any(kind_of(identifier) is NodeKind.COLUMN for identifier in ids):
        former |= await find_former_flows(graph, tenant, ids, kinds=(EdgeKind.ACCESSES,))
    return former
