"""A store with an index answers as it does without, whatever is written meanwhile, by whomever."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.index import IndexedStore, adjacency
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, kind_of
from headwater.graph.stores import Direction, GraphStore, indexable
from tests.graph.index.stores import ROOM, forbid_walks, indexed, seen, shown, upstream
from tests.graph.stores.samples import FLOWS, PIPELINE, contains, dataset, job, node, reads, stamp, writes


async def test_a_walk_asks_the_store_for_no_step(store: IndexedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.apply("t", [PIPELINE])
    forbid_walks(store, monkeypatch)
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 8
    assert (await store.cone("t", [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=99)).reached == 8


async def test_what_another_process_writes_is_in_the_next_walk(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await other.apply("t", [PIPELINE])
    forbid_walks(store, monkeypatch)
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 8
    await other.apply("t", [GraphBatch(stamp(2), edges=[reads("airports", "enrich"), writes("fetch", "airports")])])
    assert {dataset("airports"), job("fetch")} < (await upstream(store, "t", dataset("out"))).distance.keys()


async def test_names_properties_and_times_are_those_of_now(store: IndexedStore, other: GraphStore) -> None:
    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    renamed = node(dataset("out"), "The report", rows=3)
    told = Edge(job("report"), dataset("out"), EdgeKind.WRITES, {"how": "appended"})
    await other.apply("t", [GraphBatch(stamp(5), [renamed], [told])])
    assert seen(await upstream(store, "t", dataset("out"))) == seen(await upstream(other, "t", dataset("out")))
    (edge,) = [edge for edge in (await upstream(store, "t", dataset("out"))).edges if edge.dst == dataset("out")]
    assert (edge.properties, edge.first[:19], edge.last[:19]) == ({"how": "appended"}, "2026-01-01T00:00:01", "2026-01-01T00:00:05")
    assert (await upstream(store, "t", dataset("out"))).nodes[0] == renamed
    cone = await store.cone("t", [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=0, limit=9, names=True)
    assert list(cone.names) == ["The report"]


async def test_a_dropped_graph_is_gone_and_may_come_again(store: IndexedStore, other: GraphStore) -> None:
    await store.apply("t", [PIPELINE])
    await store.apply("kept", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    await other.drop("t")
    assert (await upstream(store, "t", dataset("out"))).nodes == []
    assert len((await upstream(store, "kept", dataset("out"))).nodes) == 8
    await other.apply("t", [GraphBatch(stamp(1), edges=[writes("new", "out")])])  # with the keys of what was dropped
    assert (await upstream(store, "t", dataset("out"))).distance == {dataset("out"): 0, job("new"): 1}
    assert store._graph is not None


async def test_tenants_see_their_own(store: IndexedStore) -> None:
    await store.apply("a", [PIPELINE])
    await store.apply("b", [GraphBatch(stamp(1), edges=[writes("report", "out")])])
    assert (await upstream(store, "b", dataset("out"))).distance == {dataset("out"): 0, job("report"): 1}
    assert len((await upstream(store, "a", dataset("out"))).nodes) == 8


# The index keeps the properties of the first kind only.
NAMES = [f"{NodeKind.RUN if number % 2 else NodeKind.TAG}:{number}" for number in range(8)]
STATED = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([EdgeKind.REPLAYS, EdgeKind.READS, EdgeKind.CONTAINS]), st.booleans()
)
CHANGE = st.tuples(
    st.integers(1, 9), st.lists(STATED, max_size=6), st.dictionaries(st.sampled_from(NAMES), st.sampled_from("abc"), max_size=2)
)


@given(
    st.lists(CHANGE, min_size=1, max_size=5),
    st.sets(st.sampled_from(NAMES), min_size=1, max_size=3),
    st.sampled_from(Direction),
    st.integers(0, 5),
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_an_index_that_follows_every_change_answers_as_the_store(
    tmp_path: Path, changed: list[Any], focus: set[str], direction: Direction, depth: int, limit: int, settled: bool, crowded: bool
) -> None:
    """Also with late changes that are merged each time, and without room for properties."""
    tenant = uuid4().hex
    asked: dict[str, Any] = {"direction": direction, "kinds": [EdgeKind.READS, EdgeKind.REPLAYS], "depth": depth, "limit": limit}
    store = indexed(f"sqlite:///{tmp_path}/graph.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjacency, "_FEW", 1 if settled else 1_000)
        patch.setattr(adjacency, "_PROPERTIES", ROOM if crowded else 3)
        await store.open()
        try:
            await store.ready()
            for second, edges, names in changed:
                nodes = [Node(identifier, kind_of(identifier), name, {"said": name}) for identifier, name in names.items()]
                stated = {(src, dst, kind): Edge(src, dst, kind, {"told": second} if told else {}) for src, dst, kind, told in edges}
                at = Stamp(f"2026-01-01T00:00:0{second}.000000Z", "k")
                await store.apply(tenant, [GraphBatch(at, nodes, list(stated.values()))])
                assert seen(await store.reach(tenant, sorted(focus), **asked)) == seen(
                    await store._source.reach(tenant, sorted(focus), **asked)
                )
                for facts in (True, False):
                    about: dict[str, Any] = {**asked, "contained": [NodeKind.RUN, NodeKind.TAG], "facts": facts, "names": True}
                    plain = await store._source.cone(tenant, sorted(focus), **about)
                    assert shown(await store.cone(tenant, sorted(focus), **about)) == shown(plain)
            assert store._graph is not None
            assert (store._graph.properties is None) is crowded
        finally:
            await store.close()


async def test_properties_that_the_index_has_are_not_asked_for(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: Any) -> Any:
        raise AssertionError("the store was asked for properties")

    monkeypatch.setattr(store._source, "properties", refused)
    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    await other.apply("t", [GraphBatch(stamp(5), [node(dataset("out"), "out", rows=3)])])  # nothing but a property
    assert (await upstream(store, "t", dataset("out"))).nodes[0].properties == {"rows": 3}
    await other.apply("t", [GraphBatch(stamp(6), [Node(dataset("out"), NodeKind.DATASET, "out", {"rows": None})])])
    assert (await upstream(store, "t", dataset("out"))).nodes[0].properties == {}


async def test_containers_come_from_the_index_too(store: IndexedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("pipeline:f:daily", job("report")), ("system:f", "pipeline:f:daily")]
    await store.apply("t", [PIPELINE, GraphBatch(stamp(2), edges=[contains(*step) for step in steps])])
    forbid_walks(store, monkeypatch)
    cone = await store.cone("t", [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=99, contained=[NodeKind.JOB])
    assert sorted((cone.ids[container], cone.ids[child]) for container, child in cone.contains) == sorted(steps)


def test_every_kind_of_edge_has_a_code_that_a_key_can_hold() -> None:
    assert len(indexable.KINDS) <= 16
