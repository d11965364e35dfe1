"""When an index is read, and when the store walks by itself: before, without room, where the log of changes does not reach back."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator

import pytest

from headwater.graph.index import IndexedStore
from headwater.graph.index import store as indexed_store
from headwater.graph.model import GraphBatch
from headwater.graph.stores import GraphStore, indexable
from headwater.graph.stores.sqlite import changes
from tests.graph.index.stores import forbid_walks, indexed, seen, upstream
from tests.graph.stores.samples import PIPELINE, dataset, reads, stamp


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
    monkeypatch.setattr("headwater.graph.stores.change_log.TOUCHED", 3)
    await other.apply("t", [GraphBatch(stamp(2), edges=[reads(f"more-{number}", "report") for number in range(5)])])
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 13
    assert len((await upstream(store, "t", dataset("out"))).nodes) == 13


async def test_transactions_that_touch_too_much_together_are_not_gathered(
    store: IndexedStore, other: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.apply("t", [PIPELINE])
    graph = await store.ready()
    assert graph is not None
    monkeypatch.setattr("headwater.graph.stores.change_log.TOUCHED", 6)
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

    async def counted() -> AsyncIterator[indexable.Rows]:
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
