"""Following the flow of data."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.model import Edge, EdgeKind, GraphBatch
from headwater.graph.stores import Direction, GraphStore, open_store
from tests.graph.stores.samples import FLOWS, PIPELINE, column, contains, dataset, job, reads, stamp, writes


def pairs(edges: list[Edge]) -> set[tuple[str, str]]:
    return {(edge.src, edge.dst) for edge in edges}


async def test_neighbours_are_the_edges_of_one_hop(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    upstream = await store.neighbours(tenant, [job("report")], direction=Direction.UPSTREAM, kinds=FLOWS)
    assert pairs(upstream) == {(dataset("enriched"), job("report")), (dataset("hours"), job("report"))}
    both = await store.neighbours(tenant, [job("report"), dataset("out")], direction=Direction.BOTH, kinds=FLOWS)
    assert pairs(both) == pairs(upstream) | {(job("report"), dataset("out"))}
    assert await store.neighbours(tenant, [job("report")], direction=Direction.BOTH, kinds=[EdgeKind.CONTAINS]) == []
    assert await store.neighbours(tenant, [job("report")], direction=Direction.BOTH, kinds=[]) == []


async def test_upstream_goes_from_dataset_by_job_to_dataset(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    reached = await store.reach(tenant, [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=8, limit=100)
    assert reached.distance == {
        dataset("out"): 0,
        job("report"): 1,
        dataset("enriched"): 2,
        dataset("hours"): 2,
        job("enrich"): 3,
        job("hourly"): 3,
        dataset("flights"): 4,
        dataset("weather"): 4,
    }
    assert [node.id for node in reached.nodes] == list(reached.distance)
    assert (len(reached.edges), reached.truncated) == (len(PIPELINE.edges), 0)


async def test_downstream_stops_at_the_depth(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    reached = await store.reach(tenant, [dataset("flights")], direction=Direction.DOWNSTREAM, kinds=FLOWS, depth=2, limit=100)
    assert reached.distance == {dataset("flights"): 0, job("enrich"): 1, dataset("enriched"): 2}
    assert pairs(list(reached.edges)) == {(dataset("flights"), job("enrich")), (job("enrich"), dataset("enriched"))}


async def test_both_is_the_two_cones_without_siblings(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    reached = await store.reach(tenant, [job("hourly")], direction=Direction.BOTH, kinds=FLOWS, depth=8, limit=100)
    assert set(reached.distance) == {job("hourly"), dataset("weather"), dataset("hours"), job("report"), dataset("out")}


async def test_containment_is_no_flow(store: GraphStore, tenant: str) -> None:
    """A path from version to run and on to another version is not mixed with that of their datasets and jobs."""
    version, run = "version:file:a:1", "run:2"
    edges = [
        contains(dataset("a"), version),
        contains(job("j"), run),
        Edge(version, run, EdgeKind.READS),
        reads("a", "j"),
        writes("j", "b"),
    ]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=edges)])
    reached = await store.reach(tenant, [dataset("b")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=8, limit=100)
    assert set(reached.distance) == {dataset("b"), job("j"), dataset("a")}
    reached = await store.reach(tenant, [run], direction=Direction.UPSTREAM, kinds=FLOWS, depth=8, limit=100)
    assert set(reached.distance) == {run, version}


async def test_columns_are_followed_by_derivation(store: GraphStore, tenant: str) -> None:
    edges = [
        Edge(column("weather", "wind"), column("hours", "wind"), EdgeKind.DERIVES),
        Edge(column("hours", "wind"), column("out", "max"), EdgeKind.DERIVES, {"transformations": [{"type": "DIRECT"}]}),
    ]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=edges)])
    reached = await store.reach(tenant, [column("out", "max")], direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES], depth=8, limit=100)
    assert reached.distance == {column("out", "max"): 0, column("hours", "wind"): 1, column("weather", "wind"): 2}
    assert {"transformations": [{"type": "DIRECT"}]} in [edge.properties for edge in reached.edges]


async def test_a_limit_keeps_the_nearest_and_counts_the_others(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    reached = await store.reach(tenant, [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=8, limit=3)
    assert [node.id for node in reached.nodes] == [dataset("out"), job("report"), dataset("enriched")]
    assert reached.truncated == 5
    assert pairs(list(reached.edges)) == {(dataset("enriched"), job("report")), (job("report"), dataset("out"))}


@pytest.mark.parametrize("focus", [[], [dataset("nowhere")]])
async def test_what_is_not_there_reaches_nothing(store: GraphStore, tenant: str, focus: list[str]) -> None:
    await store.apply(tenant, [PIPELINE])
    reached = await store.reach(tenant, focus, direction=Direction.BOTH, kinds=FLOWS, depth=8, limit=10)
    assert (list(reached.nodes), list(reached.edges), reached.distance, reached.truncated) == ([], [], {}, 0)


@given(
    st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25),
    st.sets(st.integers(0, 9), min_size=1, max_size=3),
    st.sampled_from(Direction),
    st.integers(0, 5),
    st.integers(1, 12),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_reach_is_breadth_first_search(
    tmp_path: Path, arcs: set[tuple[int, int]], focus: set[int], direction: Direction, depth: int, limit: int
) -> None:
    """Also over cycles and edges from a node to itself."""
    store, tenant = open_store(f"sqlite:///{tmp_path}/graph.db"), uuid4().hex
    await store.open()
    try:
        await store.apply(tenant, [GraphBatch(stamp(1), edges=[Edge(f"run:{a}", f"run:{b}", EdgeKind.REPLAYS) for a, b in arcs])])
        reached = await store.reach(
            tenant, [f"run:{start}" for start in focus], direction=direction, kinds=[EdgeKind.REPLAYS], depth=depth, limit=limit
        )
    finally:
        await store.close()
    known = {end for arc in arcs for end in arc}
    expected: dict[int, int] = {}
    for way in direction.ways():
        steps = arcs if way is Direction.DOWNSTREAM else {(b, a) for a, b in arcs}
        for end, hops in search(steps, focus & known, depth).items():
            expected[end] = min(hops, expected.get(end, hops))
    kept = sorted(expected, key=lambda end: (expected[end], f"run:{end}"))[:limit]
    assert reached.distance == {f"run:{end}": expected[end] for end in kept}
    assert reached.truncated == len(expected) - len(kept)
    assert pairs(list(reached.edges)) == {(f"run:{a}", f"run:{b}") for a, b in arcs if a in kept and b in kept}


def search(arcs: set[tuple[int, int]], focus: set[int], depth: int) -> dict[int, int]:
    distance = dict.fromkeys(focus, 0)
    queue = deque(focus)
    while queue:
        at = queue.popleft()
        for a, b in arcs:
            if a == at and b not in distance and distance[at] < depth:
                distance[b] = distance[at] + 1
                queue.append(b)
    return distance
