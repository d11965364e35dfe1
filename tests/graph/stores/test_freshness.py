"""A walk answers from the present content of the store, also if parts of the walk before are cached."""

from __future__ import annotations

import pytest

from headwater.graph.model import Edge, EdgeKind, GraphBatch
from headwater.graph.stores import Direction, GraphStore, Subgraph
from tests.graph.stores.samples import FLOWS, PIPELINE, dataset, job, node, reads, stamp, writes


async def upstream(store: GraphStore, tenant: str) -> Subgraph:
    return await store.reach(tenant, [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=99)


async def test_what_was_written_since_is_in_the_next_walk(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    assert len((await upstream(store, tenant)).nodes) == 8
    told = Edge(job("report"), dataset("out"), EdgeKind.WRITES, {"how": "appended"})
    more = [reads("airports", "enrich"), writes("fetch", "airports"), told]
    await store.apply(tenant, [GraphBatch(stamp(5), [node(dataset("out"), "The report", rows=3)], more)])
    found = await upstream(store, tenant)
    assert len(found.nodes) == 10
    assert found.nodes[0] == node(dataset("out"), "The report", rows=3)
    (edge,) = [edge for edge in found.edges if edge.dst == dataset("out")]
    assert (edge.properties, edge.first[:19], edge.last[:19]) == ({"how": "appended"}, "2026-01-01T00:00:01", "2026-01-01T00:00:05")
    cone = await store.cone(tenant, [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=99, facts=True, names=True)
    assert {dataset("airports"), job("fetch")} < set(cone.ids)
    assert cone.names[0] == "The report"
    assert ("2026-01-01T00:00:01", "2026-01-01T00:00:05") in {(first[:19], last[:19]) for _, first, last in cone.facts}


async def test_a_dropped_graph_reaches_nothing_and_may_come_again(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    await store.apply(f"{tenant}-other", [PIPELINE])
    await upstream(store, tenant)
    await store.drop(tenant)
    assert (await upstream(store, tenant)).nodes == []
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[writes("new", "out")])])
    for _ in range(2):
        assert (await upstream(store, tenant)).distance == {dataset("out"): 0, job("new"): 1}
        assert len((await upstream(store, f"{tenant}-other")).nodes) == 8


@pytest.mark.parametrize("touched", [3, 8, 100])
async def test_many_transactions_that_touch_much_together_are_in_the_next_walk(
    store: GraphStore, tenant: str, touched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the index reads the log in portions, or is read as a whole because of them."""
    monkeypatch.setattr("headwater.graph.stores.neo4j.changes._TRANSACTIONS", 2)
    await store.apply(tenant, [PIPELINE])
    await upstream(store, tenant)
    monkeypatch.setattr("headwater.graph.stores.change_log.TOUCHED", touched)
    for number in range(5):
        await store.apply(tenant, [GraphBatch(stamp(2), edges=[reads(f"more-{number}", "report")])])
    for _ in range(2):
        assert len((await upstream(store, tenant)).nodes) == 13
