"""Cones: what `reach` reaches, as numbers."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.model import Edge, EdgeKind, GraphBatch, NodeKind
from headwater.graph.stores import Cone, Direction, GraphStore, open_store
from tests.graph.stores.samples import FLOWS, PIPELINE, contains, dataset, job, node, stamp


def arcs(cone: Cone) -> list[tuple[str, str]]:
    return sorted((cone.ids[src], cone.ids[dst]) for src, dst in cone.edges)


@pytest.mark.parametrize("direction", list(Direction))
async def test_a_cone_is_what_is_reached(store: GraphStore, tenant: str, direction: Direction) -> None:
    await store.apply(tenant, [PIPELINE])
    cone = await store.cone(tenant, [job("enrich"), dataset("nowhere")], direction=direction, kinds=FLOWS, depth=9, limit=99, facts=True)
    reached = await store.reach(tenant, [job("enrich")], direction=direction, kinds=FLOWS, depth=9, limit=99)
    assert set(cone.ids) == set(reached.distance)
    assert cone.ids[0] == job("enrich")
    assert arcs(cone) == sorted((edge.src, edge.dst) for edge in reached.edges)
    assert (cone.reached, cone.beyond, list(cone.contains)) == (len(cone.ids), 0, [])
    assert len(cone.facts) == len(cone.edges)
    assert {times for _, *times in map(tuple, cone.facts) for times in [tuple(times)]} == {("2026-01-01T00:00:01.000000Z ",) * 2}
    for way, distance in ((Direction.UPSTREAM, cone.upstream), (Direction.DOWNSTREAM, cone.downstream)):
        alone = await store.reach(tenant, [job("enrich")], direction=way, kinds=FLOWS, depth=9, limit=99)
        assert {cone.ids[n]: hops for n, hops in distance.items()} == (alone.distance if way in direction.ways() else {})


async def test_what_leads_past_the_focus_belongs_to_both_cones(store: GraphStore, tenant: str) -> None:
    past = Edge(dataset("flights"), job("report"), EdgeKind.READS)
    await store.apply(tenant, [PIPELINE, GraphBatch(stamp(2), edges=[past])])
    cone = await store.cone(tenant, [dataset("enriched")], direction=Direction.BOTH, kinds=FLOWS, depth=9, limit=99)
    assert (past.src, past.dst) in arcs(cone)
    assert job("hourly") not in cone.ids


async def test_a_cone_has_names_if_asked_for(store: GraphStore, tenant: str) -> None:
    named = GraphBatch(stamp(2), [node(dataset("out"), "The report")], [contains("pipeline:f:daily", job("report"))])
    await store.apply(tenant, [PIPELINE, named])
    asked = {"direction": Direction.UPSTREAM, "kinds": FLOWS, "depth": 2, "limit": 99, "contained": [NodeKind.JOB]}
    cone = await store.cone(tenant, [dataset("out")], names=True, **asked)  # type: ignore[arg-type]
    assert dict(zip(cone.ids, cone.names, strict=True)) == {
        dataset("out"): "The report",
        job("report"): "report",
        dataset("enriched"): "enriched",
        dataset("hours"): "hours",
        "pipeline:f:daily": "daily",
    }
    assert not (await store.cone(tenant, [dataset("out")], **asked)).names  # type: ignore[arg-type]


async def test_depth_and_limit_say_what_lies_beyond(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    near = await store.cone(tenant, [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=2, limit=99)
    assert (set(near.ids), near.beyond) == ({dataset("out"), job("report"), dataset("enriched"), dataset("hours")}, 2)
    few = await store.cone(tenant, [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=3)
    assert list(few.ids) == [dataset("out"), job("report"), dataset("enriched")]
    assert few.beyond >= 1
    assert arcs(few) == [(dataset("enriched"), job("report")), (job("report"), dataset("out"))]


async def test_containers_are_those_of_the_kinds_asked_for_all_levels_up(store: GraphStore, tenant: str) -> None:
    steps = [("pipeline:f:daily", job("report")), ("pipeline:f:all", "pipeline:f:daily"), ("system:f", "pipeline:f:all")]
    edges = [contains(*step) for step in steps] + [contains("platform:file", dataset("out"))]
    await store.apply(tenant, [PIPELINE, GraphBatch(stamp(2), edges=edges)])
    focus = [dataset("out")]
    cone = await store.cone(tenant, focus, direction=Direction.UPSTREAM, kinds=FLOWS, depth=1, limit=9, contained=[NodeKind.JOB])
    assert list(cone.ids[: cone.reached]) == [dataset("out"), job("report")]
    assert [(cone.ids[container], cone.ids[child]) for container, child in cone.contains] == steps


async def test_a_containment_cycle_ends_in_a_cone_too(store: GraphStore, tenant: str) -> None:
    edges = [contains("pipeline:f:a", "pipeline:f:b"), contains("pipeline:f:b", "pipeline:f:a"), contains("pipeline:f:a", job("report"))]
    await store.apply(tenant, [PIPELINE, GraphBatch(stamp(2), edges=edges)])
    cone = await store.cone(tenant, [job("report")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=0, limit=9, contained=[NodeKind.JOB])
    assert len(cone.contains) == 3


@given(
    st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25),
    st.sets(st.integers(0, 9), min_size=1, max_size=3),
    st.sampled_from(Direction),
    st.integers(0, 5),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_without_a_limit_cone_and_reach_agree(
    tmp_path: Path, pairs: set[tuple[int, int]], focus: set[int], direction: Direction, depth: int
) -> None:
    store, tenant = open_store(f"sqlite:///{tmp_path}/graph.db"), uuid4().hex
    await store.open()
    try:
        await store.apply(tenant, [GraphBatch(stamp(1), edges=[Edge(f"run:{a}", f"run:{b}", EdgeKind.REPLAYS) for a, b in pairs])])
        asked = {"direction": direction, "kinds": [EdgeKind.REPLAYS], "depth": depth, "limit": 99}
        start = [f"run:{number}" for number in focus]
        cone, reached = await store.cone(tenant, start, **asked), await store.reach(tenant, start, **asked)  # type: ignore[arg-type]
    finally:
        await store.close()
    assert set(cone.ids) == set(reached.distance)
    assert arcs(cone) == sorted((edge.src, edge.dst) for edge in reached.edges)
