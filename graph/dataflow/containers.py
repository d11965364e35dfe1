"""Containment of the actors of a dataflow: their nearest containers, and the flows of a container.

Programs state the pipeline of every job, even if an inner container holds the job. The nearest container of a job may therefore be inside
its pipeline.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from headwater.graph.dataflow.archetypes import Together
from headwater.graph.model import Edge, EdgeKind, NodeKind, kind_of, parse_id
from headwater.graph.model.declaration import type_of
from headwater.graph.stores import Direction, GraphStore

_HOLDERS = frozenset({NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.ACTOR})
AllowedContainers = Mapping[str, Collection[str]]  # type → types and kinds that may contain it


async def nearest_common(
    graph: GraphStore, tenant: str, container: str, actors: Sequence[str], types: Mapping[str, str], within: AllowedContainers
) -> Together:
    """Return a test whether two actors have the same nearest container, of a type that may contain their types."""
    inner: dict[str, set[str]] = {}
    if kind_of(container) is not NodeKind.ACTOR and actors:
        above = {container, *(node.id for node in (await graph.ancestors(tenant, [container])).get(container, ()))}
        for edge in await graph.neighbours(tenant, actors, direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS]):
            if kind_of(edge.src) is NodeKind.ACTOR and edge.src not in above:
                inner.setdefault(edge.dst, set()).add(edge.src)

    def may_hold(holder: str, *held: str) -> bool:
        kinds = {type_of(holder), str(kind_of(holder))}
        return all(not allowed or kinds.intersection(allowed) for allowed in (within.get(types.get(each, ""), ()) for each in held))

    def together(src: str, dst: str) -> bool:
        ours, theirs = inner.get(src, set()), inner.get(dst, set())
        if not ours and not theirs:
            return may_hold(container, src, dst)
        return any(may_hold(holder, src, dst) for holder in ours & theirs)

    return together


async def members_of(graph: GraphStore, tenant: str, actors: Sequence[str], most: int) -> dict[str, str]:
    """Map each actor inside a container to the direct child that contains it.

    Actors inside several children are left out, because it is unknown to which child their flows belong. So are actors beyond `most`.
    """
    owners: dict[str, set[str]] = {actor: {actor} for actor in actors}
    waiting = [actor for actor in actors if kind_of(actor) in _HOLDERS]
    while waiting:
        edges = await graph.neighbours(tenant, waiting, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
        waiting = []
        for edge in edges:
            if kind_of(edge.dst) not in _HOLDERS | {NodeKind.JOB} or edge.dst in actors:
                continue
            known = owners.setdefault(edge.dst, set())
            if not owners[edge.src] <= known:
                known |= owners[edge.src]
                waiting.append(edge.dst)
        if len(owners) > most:
            return {actor: actor for actor in actors}
        waiting = [each for each in dict.fromkeys(waiting) if kind_of(each) in _HOLDERS]
    return {member: next(iter(of)) for member, of in owners.items() if len(of) == 1}


def lift(edges: Iterable[Edge], owners: Mapping[str, str]) -> list[Edge]:
    """Turn flows of members into flows of their children. Flows within one child are dropped."""
    lifted = []
    for edge in edges:
        src, dst = owners.get(edge.src, edge.src), owners.get(edge.dst, edge.dst)
        if src != dst or edge.src == edge.dst:
            lifted.append(replace(edge, src=src, dst=dst))
    return lifted


def own_job(container: str, actors: Iterable[str]) -> str | None:
    """Return the job that is the container itself: it has the container's name."""
    name = parse_id(container)[1][-1]
    jobs = (actor for actor in actors if kind_of(container) is NodeKind.ACTOR and kind_of(actor) is NodeKind.JOB)
    return next((job for job in jobs if parse_id(job)[1][-1] == name), None)
