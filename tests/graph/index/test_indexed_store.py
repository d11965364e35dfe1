"""A store with an index answers as it does without, whatever is written meanwhile, by whomever."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.index import IndexedStore, adjacency, source
from headwater.graph.index import store as indexed_store
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, kind_of
from headwater.graph.stores import Cone, Direction, GraphStore, Subgraph, open_store
from headwater.graph.stores.sqlite import SqliteStore, changes
from tests.graph.stores.samples import FLOWS, PIPELINE, contains, dataset, job, node, reads, stamp, writes

ROOM = 1 << 26


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/graph.db"


@pytest.fixture
async def store(url: str) -> AsyncIterator[IndexedStore]:
    opened = indexed(url)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def other(url: str, store: IndexedStore) -> AsyncIterator[GraphStore]:
    """The same file, opened by someone else."""
    opened = open_store(url)
    await opened.open()
    yield opened
    await opened.close()


def indexed(url: str, room: int = ROOM) -> IndexedStore:
    opened = open_store(url, index_bytes=room)
    assert isinstance(opened, IndexedStore)
    return opened


def seen(reached: Subgraph) -> tuple[Any, ...]:
    edges = sorted((edge.src, edge.dst, edge.kind, tuple(edge.properties.items()), edge.first, edge.last) for edge in reached.edges)
    return list(reached.nodes), edges, reached.distance, reached.truncated, reached.counted


def shown(cone: Cone) -> tuple[Any, ...]:
    """Without the numbers, which follow from the order in which a level was read."""
    facts = cone.facts or [None] * len(cone.edges)
    return (
        sorted(cone.ids[: cone.reached]),
        sorted((cone.ids[src], cone.ids[dst], about) for (src, dst), about in zip(cone.edges, facts, strict=True)),
        sorted((cone.ids[container], cone.ids[child]) for container, child in cone.contains),
        {cone.ids[number]: hops for number, hops in cone.upstream.items()},
        {cone.ids[number]: hops for number, hops in cone.downstream.items()},
        dict(zip(cone.ids, cone.names, strict=True)) if cone.names else {},
        cone.beyond,
    )


async def upstream(store: GraphStore, tenant: str, focus: str) -> Subgraph:
    return await store.reach(tenant, [focus], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=99)


def forbid_walks(store: IndexedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("the store was asked to walk")

    monkeypatch.setattr(store._source, "reach", refused)
    monkeypatch.setattr(store._source, "cone", refused)


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


async def test_who_asks_too_late_for_the_log_reads_all_again(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "LOGGED", 3)
    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    for number in range(5):
        await other.apply("t", [GraphBatch(stamp(2), edges=[reads(f"more-{number}", "report")])])
    assert seen(await upstream(store, "t", dataset("out"))) == seen(await upstream(other, "t", dataset("out")))
    assert seen(await upstream(store, "t", dataset("out"))) == seen(await upstream(other, "t", dataset("out")))
    assert store._graph is not None
    assert store._graph.count == 13


async def test_a_transaction_that_touches_too_much_is_read_as_a_whole(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    monkeypatch.setattr("headwater.graph.index.log.TOUCHED", 3)
    await other.apply("t", [GraphBatch(stamp(2), edges=[reads(f"more-{number}", "report") for number in range(5)])])
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 13
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 13


async def test_transactions_that_touch_too_much_together_are_not_gathered(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.apply("t", [PIPELINE])
    graph = await store.ready()
    assert graph is not None
    monkeypatch.setattr("headwater.graph.index.log.TOUCHED", 6)
    for number, rows in enumerate((True, True, True, True, True, False)):
        await other.apply("t", [GraphBatch(stamp(2), edges=[reads(f"more-{number}", "report")])])
        news = await store._source.news("t", [dataset("out")], after=graph.revision)
        assert (news.rows is not None, len(news.focus)) == (rows, 1)


async def test_a_large_graph_is_walked_in_its_store_until_it_has_been_read(store: IndexedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed_store, "_SMALL", 0)
    await store.apply("t", [PIPELINE])
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 8
    assert store._graph is None
    await store.ready()
    forbid_walks(store, monkeypatch)
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 8


async def test_a_large_graph_is_not_read_again_and_again(store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the log of changes never reaches back to when a reading began, it would be."""
    monkeypatch.setattr(indexed_store, "_SMALL", 0)
    monkeypatch.setattr(changes, "LOGGED", 1)
    monkeypatch.setattr(indexed_store, "_PAUSE", math.inf)  # times what a reading takes: longer than the test
    readings = 0
    scan = store._source.scan

    async def counted() -> AsyncIterator[source.Rows]:
        nonlocal readings
        readings += 1
        async for rows in scan():
            yield rows
        for number in range(3):
            await other.apply("t", [GraphBatch(stamp(2), edges=[reads(f"more-{readings}-{number}", "report")])])

    monkeypatch.setattr(store._source, "scan", counted)
    await store.apply("t", [PIPELINE])
    for _ in range(6):
        await upstream(store, "t", dataset("out"))
        if store._reading is not None:
            await asyncio.wait([store._reading])
    assert readings == 1
    monkeypatch.setattr(store._source, "scan", scan)
    store._paused = 0.0  # as if the time had passed
    await upstream(store, "t", dataset("out"))
    await asyncio.wait_for(store.ready(), 60)
    forbid_walks(store, monkeypatch)
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 11


async def test_what_is_written_while_a_graph_is_read_is_taken_from_the_log(store: IndexedStore, other: GraphStore) -> None:
    """As many transactions as there are in a minute or two."""
    await store.apply("t", [PIPELINE])
    graph = await store.ready()
    assert graph is not None
    for number in range(1_000):
        await other.apply("t", [GraphBatch(stamp(2), edges=[reads(f"more-{number % 9}", "report")])])
    assert (await store._source.news("t", [], after=graph.revision)).rows is not None


@pytest.mark.parametrize("seen_early", [True, False])
async def test_without_room_the_store_walks_and_the_log_says_so(
    url: str, seen_early: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not seen_early:  # but while it is read
        monkeypatch.setattr(indexed_store, "refuse_early", lambda *_: None)
    store = indexed(url, 300)
    await store.open()
    try:
        await store.apply("t", [PIPELINE])
        with caplog.at_level(logging.WARNING):
            assert len((await upstream(store, "t", dataset("out"))).nodes) == 8
        assert "HEADWATER_INDEX_BYTES" in caplog.text
        assert await store.ready() is None
        assert len((await upstream(store, "t", dataset("out"))).nodes) == 8
    finally:
        await store.close()


async def test_an_index_that_outgrows_its_room_is_given_up(url: str) -> None:
    store = indexed(url, 10_000)
    await store.open()
    try:
        await store.apply("t", [PIPELINE])
        await upstream(store, "t", dataset("out"))
        assert store._graph is not None
        await store.apply("t", [GraphBatch(stamp(2), edges=[reads(f"more-{number}", "report") for number in range(99)])])
        assert (await upstream(store, "t", dataset("out"))).truncated == 8
        assert store._graph is None
    finally:
        await store.close()


# Of the one kind the index keeps the properties, of the other it does not.
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
    """Also where what came late is joined to the rest each time, and where there is no room for properties."""
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
    assert len(source.KINDS) <= 16


class Held:
    """`Adjacency.changed`, which waits until it is let go on; `most` counts the threads that were in it at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.go = threading.Event(), threading.Event()
        self.most = self._within = 0
        changed = adjacency.Adjacency.changed

        def held(graph: adjacency.Adjacency, rows: source.Rows, revision: int) -> adjacency.Adjacency:
            self._within += 1
            self.most = max(self.most, self._within)
            self.entered.set()
            self.go.wait(60)
            self._within -= 1
            return changed(graph, rows, revision)

        monkeypatch.setattr(adjacency.Adjacency, "changed", held)


async def cancelled_walk(store: IndexedStore, held: Held) -> None:
    walk = asyncio.create_task(upstream(store, "t", dataset("out")))
    assert await asyncio.to_thread(held.entered.wait, 60)
    walk.cancel()
    with pytest.raises(asyncio.CancelledError):
        await walk


async def test_a_walk_given_up_leaves_its_change_to_the_next(store: IndexedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    await store.apply("t", [GraphBatch(stamp(2), edges=[reads("more", "report")])])
    held = Held(monkeypatch)
    await cancelled_walk(store, held)
    await store.apply("t", [GraphBatch(stamp(3), edges=[reads("still-more", "report")])])
    following = asyncio.create_task(upstream(store, "t", dataset("out")))
    await asyncio.sleep(0.2)  # time enough for it to begin a change of its own, if nothing kept it from that
    held.go.set()
    assert seen(await following) == seen(await upstream(store._source, "t", dataset("out")))
    assert held.most == 1


async def test_closing_waits_for_the_change_of_a_walk_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = indexed(url)
    await store.open()
    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    await store.apply("t", [GraphBatch(stamp(2), edges=[reads("more", "report")])])
    held = Held(monkeypatch)
    await cancelled_walk(store, held)
    closing = asyncio.create_task(store.close())
    done, _ = await asyncio.wait([closing], timeout=0.2)
    held.go.set()
    await closing
    assert not done
    assert store._graph is None


async def test_an_index_that_cannot_be_changed_is_given_up_and_the_log_says_so(
    store: IndexedStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> adjacency.Adjacency:
        raise ValueError("a fault")

    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    monkeypatch.setattr(adjacency.Adjacency, "changed", broken)
    await store.apply("t", [GraphBatch(stamp(2), edges=[reads("more", "report")])])
    for _ in range(2):
        assert len((await upstream(store, "t", dataset("out"))).nodes) == 9
    assert "ValueError: a fault" in caplog.text


async def test_properties_that_were_written_after_the_walk_are_given_with_a_walk_as_late(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction adds a run and tells so in the one before: no answer has the word of it without the run."""
    first, second = "run:1", "run:2"
    version = "version:f:a:1"
    await other.apply("t", [GraphBatch(stamp(1), [node(first, rows=1)], [Edge(first, version, EdgeKind.WRITES, {"n": 1})])])
    await store.ready()
    read, late = SqliteStore.properties, iter([True])

    async def written_meanwhile(self: SqliteStore, nodes: Any, edges: Any) -> Any:
        if next(late, False):
            batch = GraphBatch(stamp(2), [node(first, rows=2)], [Edge(second, version, EdgeKind.WRITES, {"n": 2})])
            await other.apply("t", [batch])
        return await read(self, nodes, edges)

    monkeypatch.setattr(SqliteStore, "properties", written_meanwhile)
    reached = await store.reach("t", [version], direction=Direction.UPSTREAM, kinds=FLOWS, depth=1, limit=9)
    assert {each.id: dict(each.properties) for each in reached.nodes} == {version: {}, first: {"rows": 2}, second: {}}
    assert {edge.src: dict(edge.properties) for edge in reached.edges} == {first: {"n": 1}, second: {"n": 2}}


async def test_who_writes_all_the_time_does_not_keep_a_walk_from_its_end(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await other.apply("t", [GraphBatch(stamp(0), [node("run:1", rows=0)], [Edge("run:1", "version:f:a:1", EdgeKind.WRITES)])])
    await store.ready()
    read, written = SqliteStore.properties, iter(range(1, 100))

    async def written_meanwhile(self: SqliteStore, nodes: Any, edges: Any) -> Any:
        number = next(written)
        await other.apply("t", [GraphBatch(stamp(number), [node("run:1", rows=number)])])
        return await read(self, nodes, edges)

    monkeypatch.setattr(SqliteStore, "properties", written_meanwhile)
    reached = await store.reach("t", ["version:f:a:1"], direction=Direction.UPSTREAM, kinds=FLOWS, depth=1, limit=9)
    assert [dict(each.properties) for each in reached.nodes] == [{}, {"rows": 3}]
