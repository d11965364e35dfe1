"""Several at one index at once: walks that are given up while it changes, its end, a fault, and who writes between two looks."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from headwater.graph.index import IndexedStore, adjacency
from headwater.graph.model import Edge, EdgeKind, GraphBatch
from headwater.graph.stores import Direction, GraphStore, indexable
from headwater.graph.stores.sqlite import SqliteStore
from tests.graph.index.stores import indexed, seen, upstream
from tests.graph.stores.samples import FLOWS, PIPELINE, dataset, node, reads, stamp


class Held:
    """`Adjacency.changed`, which waits until it is let go on; `within` counts the threads that are in it, `most` those at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.go = threading.Event(), threading.Event()
        self.most = self.within = 0
        changed = adjacency.Adjacency.changed

        def held(graph: adjacency.Adjacency, rows: indexable.Rows, revision: int) -> adjacency.Adjacency:
            self.within += 1
            self.most = max(self.most, self.within)
            self.entered.set()
            self.go.wait(60)
            self.within -= 1
            return changed(graph, rows, revision)

        monkeypatch.setattr(adjacency.Adjacency, "changed", held)

    def at(self, monkeypatch: pytest.MonkeyPatch, store: IndexedStore, verb: str) -> list[int]:
        """From now on, count the threads that ask the store below for a verb at the same time."""
        found: list[int] = []
        plain = getattr(store._source, verb)

        async def asked(*words: Any, **options: Any) -> Any:
            found.append(self.within)
            return await plain(*words, **options)

        monkeypatch.setattr(store._source, verb, asked)
        return found


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
    asked = held.at(monkeypatch, store, "news")
    following = asyncio.create_task(upstream(store, "t", dataset("out")))
    await asyncio.sleep(0)  # it goes as far as it can: to the news of the store, if nothing kept it from them
    held.go.set()
    assert seen(await following) == seen(await upstream(store._source, "t", dataset("out")))
    assert (held.most, asked) == (1, [0])


async def test_closing_waits_for_the_change_of_a_walk_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = indexed(url)
    await store.open()
    await store.apply("t", [PIPELINE])
    await upstream(store, "t", dataset("out"))
    await store.apply("t", [GraphBatch(stamp(2), edges=[reads("more", "report")])])
    held = Held(monkeypatch)
    await cancelled_walk(store, held)
    asked = held.at(monkeypatch, store, "close")
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)  # it goes as far as it can: to closing the store below, if nothing kept it from that
    held.go.set()
    await closing
    assert asked == [0]
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
    """A transaction adds a run and announces it in the one before: no answer has the announcement without the run."""
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
