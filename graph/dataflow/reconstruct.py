"""Reconstructs the dataflow inside a container from the graph: actors, links, order and cycles."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.dataflow.archetypes import declared_archetypes, inferred_archetypes
from headwater.graph.dataflow.containers import lift, members_of, nearest_common, own_job
from headwater.graph.dataflow.links import explicit_links, implicit_links
from headwater.graph.dataflow.order import Cycle, Dataflow, arrange
from headwater.graph.dataflow.versions import versions_read
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, kind_of
from headwater.graph.model.declaration import ACTOR_TYPE, ACTORS, type_of
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.stores.write_times import with_ends

_FLOWS = (EdgeKind.READS, EdgeKind.WRITES, EdgeKind.LINKS)
_PAGE = 1_000
MAX_ACTORS = 10_000


async def reconstruct(graph: GraphStore, tenant: str, container: str) -> Dataflow:
    """Return the dataflow between the direct children of a container. Flows of inner actors count for the child that contains them.

    Raises:
        NotFoundError: the container does not exist.
        InvalidQueryError: the id does not belong to an actor, it has more than `MAX_ACTORS` children, or its types imply too many links.
    """
    if not await graph.get(tenant, [container]):
        raise NotFoundError(f"Nothing is known of {container}.", hint="Search for its name.")
    if kind_of(container) not in ACTORS:
        raise InvalidQueryError(
            f"{container} is no actor.", field="container", hint="Name a system, a pipeline, a job or a declared actor."
        )
    children = await _children(graph, tenant, container, sorted(ACTORS))
    actors = [node.id for node in children]
    types = {node.id: found for node in children if (found := _declared_type(node)) is not None}
    kinds = {node.id: type_of(node.id) for node in children} | types  # a type may come after a kind
    owners = await members_of(graph, tenant, actors, MAX_ACTORS)
    stated = await graph.neighbours(tenant, list(owners), direction=Direction.BOTH, kinds=_FLOWS) if actors else []
    edges = lift(stated, owners)
    if (own := own_job(container, actors)) is not None and not any(own in (edge.src, edge.dst) for edge in edges):
        actors.remove(own)  # the job is the container itself
        types.pop(own, None)
        kinds.pop(own)
    held = [link for link in implicit_links(actors, edges) if link.src != link.dst or kind_of(link.src) is NodeKind.JOB]
    known = [*explicit_links(actors, edges), *held]
    after, within = await _declared(graph, tenant)
    together = await nearest_common(graph, tenant, container, actors, kinds, within)
    declared = declared_archetypes(kinds, after, together)
    explicit = {(link.src, link.dst) for link in declared}
    inferred = [link for link in inferred_archetypes(types, known, together) if (link.src, link.dst) not in explicit]
    links = sorted([*known, *declared, *inferred])
    generations, cycles = arrange(actors, links)
    return Dataflow(generations, links, [Cycle(members, await _runs_in_order(graph, tenant, members)) for members in cycles])


def _declared_type(node: Node) -> str | None:
    if node.kind is NodeKind.ACTOR:
        return type_of(node.id)
    stated = node.properties.get(ACTOR_TYPE)
    return stated if isinstance(stated, str) else None


async def _runs_in_order(graph: GraphStore, tenant: str, jobs: Sequence[str]) -> tuple[str, ...]:
    """Order the runs of jobs in a cycle by the versions that they read of each other, then by start time."""
    runs = [run for job in jobs if kind_of(job) is NodeKind.JOB for run in await _children(graph, tenant, job, [NodeKind.RUN])]
    if not runs:
        return ()
    edges = list(
        await graph.neighbours(tenant, [run.id for run in runs], direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES])
    )
    edges += await _reads_by_time(graph, tenant, runs, edges)
    links = [link for link in implicit_links([run.id for run in runs], edges) if link.src != link.dst]
    began = {run.id: str(run.properties.get("startedAt") or run.properties.get("endedAt") or "") for run in runs}
    generations, _ = arrange(began, links)
    return tuple(run for generation in generations for run in sorted(generation, key=lambda run: (began[run], run)))


async def _reads_by_time(graph: GraphStore, tenant: str, runs: Sequence[Node], edges: Sequence[Edge]) -> list[Edge]:
    """Infer edges version → run for inputs without known files. Only versions that these runs wrote are returned."""
    by_file = {edge.dst for edge in edges if edge.kind is EdgeKind.READS and edge.src.startswith("version:")}
    written = sorted({edge.dst for edge in edges if edge.kind is EdgeKind.WRITES and edge.dst.startswith("version:")})
    versions: dict[str, list[Node]] = {}
    for version in await with_ends(graph, tenant, await graph.get(tenant, written)):
        versions.setdefault(_dataset_of(version.id), []).append(version)
    found: list[Edge] = []
    for run in runs:
        if run.id in by_file:
            continue
        for name, about in run.properties.items():
            dataset = name.removeprefix("input:")
            if name.startswith("input:") and dataset in versions:
                began = run.properties.get("startedAt") or run.properties.get("endedAt")
                stated = about.get("version") if isinstance(about, dict) else None
                others = [version for version in versions[dataset] if not version.id.endswith(run.id.partition(":")[2])]
                found += [Edge(seen, run.id, EdgeKind.READS) for seen in versions_read(others, began=began, stated=stated)]
    return found


def _dataset_of(version: str) -> str:
    return "dataset:" + version.removeprefix("version:").rpartition(":")[0]


async def _declared(graph: GraphStore, tenant: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return, for each declared type, the types that feed it and the types that may contain it."""
    types = await _pages(graph, tenant, NodeKind.TYPE)
    after, within = (
        {node.name: list(node.properties[name]) for node in types if node.properties.get(name)} for name in ("after", "within")
    )
    return after, within


async def _children(graph: GraphStore, tenant: str, parent: str, kinds: Sequence[NodeKind]) -> list[Node]:
    found: list[Node] = []
    cursor: str | None = None
    while True:
        page = await graph.children(tenant, parent, kinds=kinds, first=_PAGE, after=cursor)
        if page.total > MAX_ACTORS:
            raise InvalidQueryError(
                f"{parent} holds {page.total:,} actors.", field="container", hint=f"A dataflow has {MAX_ACTORS:,} at most."
            )
        found += page.nodes
        cursor = page.cursor
        if cursor is None:
            return found


async def _pages(graph: GraphStore, tenant: str, kind: NodeKind) -> list[Node]:
    found: list[Node] = []
    cursor: str | None = None
    while True:
        page = await graph.search(tenant, "", kinds=[kind], first=_PAGE, after=cursor)
        found += page.nodes
        cursor = page.cursor
        if cursor is None:
            return found
