"""Blocks are numbered by commit, and a consumer's cursor is the last block that a completed run of it read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.stores import GraphStore, open_store
from headwater.graph.versions import BlockMode, ConsumedInput, ConsumptionMode, list_blocks, list_consumers

_DATASET = node_id("dataset", "file", "/events")
_JOB = node_id("job", "air", "reader")
_TENANT = "t"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    opened = open_store(f"sqlite:///{tmp_path}/graph.db")
    await opened.open()
    yield opened
    await opened.close()


def _at(minute: int) -> str:
    return f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00.000000Z"


def _write(minute: int, *, base: bool = False, run: str | None = None, **about: Any) -> GraphBatch:
    """A run that wrote the dataset at a minute."""
    name = run or f"w{minute}"
    version = node_id("version", "file", "/events", name)
    properties = {"writtenAt": _at(minute), "block": "base" if base else "delta", **about}
    nodes = [Node(_DATASET, NodeKind.DATASET, "/events"), Node(version, NodeKind.VERSION, name, properties)]
    edges = [Edge(_DATASET, version, EdgeKind.CONTAINS), Edge(node_id("run", name), version, EdgeKind.WRITES)]
    return GraphBatch(Stamp(_at(minute), name), nodes, edges, by=name)


def _read(minute: int, *writers: str, state: str = "COMPLETE", job: str = _JOB) -> GraphBatch:
    """A run that began at a minute, and read the files of some writers; of none: only the dataset is known."""
    name = f"r{minute}"
    run = Node(node_id("run", name), NodeKind.RUN, name, {"state": state, "startedAt": _at(minute), f"input:{_DATASET}": {}})
    nodes = [Node(job, NodeKind.JOB, "reader"), run]
    versions = [node_id("version", "file", "/events", writer) for writer in writers]
    edges = [
        Edge(_DATASET, job, EdgeKind.READS), Edge(job, run.id, EdgeKind.CONTAINS),
        *(Edge(version, run.id, EdgeKind.READS) for version in versions),
    ]  # fmt: skip
    return GraphBatch(Stamp(_at(minute), name), nodes, edges, by=name)


async def _consumer(store: GraphStore, *batches: GraphBatch, tenant: str = _TENANT) -> ConsumedInput:
    await store.apply(tenant, list(batches))
    (consumer,) = await list_consumers(store, tenant, _DATASET)
    return consumer


async def test_blocks_are_numbered_in_the_order_of_their_commits(store: GraphStore) -> None:
    label = {"version": {"datasetVersion": 7}}
    await store.apply(
        _TENANT, [_write(9, rows=3, files=1, bytes=80, capture="c"), _write(2, base=True, **label), _write(5, writtenAt=None)]
    )
    first, second = await list_blocks(store, _TENANT, _DATASET)
    assert (first.sequence, first.mode, first.snapshot, first.rows, first.has_records) == (1, BlockMode.BASE, "7", None, False)
    assert (second.sequence, second.mode, second.rows, second.files, second.bytes) == (2, BlockMode.DELTA, 3, 1, 80)
    assert (second.run, second.has_records, second.written_at) == ("run:w9", True, _at(9))


async def test_a_block_has_the_size_that_its_producer_states(store: GraphStore) -> None:
    stated = {"outputStatistics": {"rowCount": 855_599, "size": 64_000, "fileCount": "many"}}
    await store.apply(_TENANT, [_write(1, **stated), _write(2, rows=3, outputStatistics={"rowCount": 4})])
    first, second = await list_blocks(store, _TENANT, _DATASET)
    assert (first.rows, first.bytes, first.files) == (855_599, 64_000, None)
    assert (second.rows, second.bytes) == (3, None)


async def test_a_job_that_leaves_out_what_it_has_read_consumes_new_blocks(store: GraphStore) -> None:
    consumer = await _consumer(
        store, _write(1, base=True), _read(2, "w1"), _write(3), _read(4, "w3"), _write(5, rows=10), _write(6, rows=5)
    )
    assert (consumer.mode, consumer.cursor, consumer.run, consumer.is_inferred) == (ConsumptionMode.NEW, 2, "run:r4", False)
    assert ([block.sequence for block in consumer.unread], consumer.unread_rows, consumer.unread_since) == ([3, 4], 15, _at(5))


@pytest.mark.parametrize("known", ["files", "dataset"])
async def test_a_job_whose_dataset_is_replaced_each_time_consumes_all_of_it(store: GraphStore, known: str) -> None:
    def read(minute: int, writer: str) -> GraphBatch:
        return _read(minute, writer) if known == "files" else _read(minute)

    consumer = await _consumer(store, _write(1, base=True), read(2, "w1"), _write(3, base=True), read(4, "w3"), _write(5, base=True))
    assert (consumer.mode, consumer.cursor, consumer.is_inferred) == (ConsumptionMode.ALL, 2, known == "dataset")
    assert (len(consumer.unread), consumer.unread_rows) == (1, None), "nobody stated its rows"


async def test_a_backfill_does_not_move_the_cursor_back(store: GraphStore) -> None:
    consumer = await _consumer(store, _write(1), _write(2), _read(3, "w1", "w2"), _read(4, "w1"))
    assert (consumer.cursor, consumer.unread) == (2, ())


@pytest.mark.parametrize("state", ["FAIL", "ABORT", "RUNNING"])
async def test_a_run_that_did_not_complete_moves_no_cursor(store: GraphStore, state: str) -> None:
    consumer = await _consumer(store, _write(1), _read(2, "w1"), _write(3), _read(4, "w1", "w3", state=state))
    assert (consumer.cursor, [block.sequence for block in consumer.unread]) == (1, [2])


async def test_a_job_without_a_completed_run_has_no_cursor(store: GraphStore) -> None:
    consumer = await _consumer(store, _write(1), _read(2, "w1", state="FAIL"))
    assert (consumer.cursor, consumer.mode, consumer.run) == (None, ConsumptionMode.UNKNOWN, None)
    assert [block.sequence for block in consumer.unread] == [1]


async def test_a_job_does_not_wait_for_what_it_wrote_itself(store: GraphStore) -> None:
    consumer = await _consumer(store, _write(1, base=True), _read(2, "w1"), _write(3, run="r2"))
    assert (consumer.cursor, consumer.unread) == (1, ())


async def test_a_cursor_is_inferred_if_the_files_belong_to_no_finished_block(store: GraphStore) -> None:
    consumer = await _consumer(store, _write(1), _write(2, run="open", writtenAt=None), _read(3, "open"))
    assert (consumer.cursor, consumer.is_inferred) == (1, True)


async def test_whoever_is_furthest_behind_comes_first(store: GraphStore) -> None:
    late = node_id("job", "air", "a late one")
    await store.apply(_TENANT, [_write(1), _read(2, "w1", job=late), _write(3), _read(4, "w1", "w3")])
    assert [consumer.job for consumer in await list_consumers(store, _TENANT, _DATASET)] == [late, _JOB]


async def test_what_is_no_dataset_is_refused(store: GraphStore) -> None:
    with pytest.raises(NotFoundError):
        await list_consumers(store, _TENANT, _DATASET)
    with pytest.raises(InvalidQueryError):
        await list_blocks(store, _TENANT, _JOB)


def _history(steps: Iterable[str]) -> tuple[list[GraphBatch], int, int]:
    """A job that reads what is new: the batches, its cursor, and the blocks after it."""
    batches: list[GraphBatch] = [_write(0, base=True)]
    written, cursor = ["w0"], 0
    for minute, step in enumerate(steps, 1):
        if step == "read":
            if written[cursor:]:
                batches.append(_read(minute, *written[cursor:]))
                cursor = len(written)
        else:
            batches.append(_write(minute, base=step == "base"))
            written.append(f"w{minute}")
    return batches, cursor, len(written) - cursor


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), steps=st.lists(st.sampled_from(["delta", "base", "read"]), max_size=12))
async def test_the_cursor_is_where_the_last_reading_ended(store: GraphStore, data: st.DataObject, steps: list[str]) -> None:
    batches, cursor, unread = _history([*steps, "read"])
    tenant = f"t{abs(hash(tuple(steps)))}"
    consumer = await _consumer(store, *data.draw(st.permutations(batches)), tenant=tenant)
    assert (consumer.cursor, len(consumer.unread)) == (cursor, unread)
