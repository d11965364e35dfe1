"""Groups that were left to the trace are kept by the service once a trace took long to find them."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.cli.group_keeper import keep_what_may_be_lost
from headwater.backend.home.settings import load_settings
from headwater.backend.worker.thread import Worker
from headwater.backend.workspace import Workspace
from headwater.graph.associations import Manifest
from headwater.graph.records import AssociationStore, Wanted
from headwater.graph.trace import TraceRequest, trace
from headwater.graph.trace.recompute import boundary_rows, group_keeper, large_groups
from headwater.graph.trace.recompute.group_keeper import keep_groups, keep_wanted
from tests.graph.jobs import TENANT
from tests.graph.trace.conftest import records
from tests.graph.trace.later import LazyJob

_SECONDS = 60


def _grouped(store: AssociationStore, folder: Path) -> Manifest:
    """Twelve rows by three keys, in a boundary that is to be found again."""
    (folder / "in").mkdir()
    pq.write_table(pa.table({"k": [n % 3 for n in range(12)], "v": list(range(12))}), folder / "in" / "part-0.parquet")
    job = LazyJob(store, "counts")
    read = job.scan(folder / "in", "parquet", {"k": "bigint", "v": "bigint"})
    counted = job.group(read, ["k"], "by its reference")
    return job.write(counted, folder / "out", "parquet", ["k", "rows"], files=1)


def _wanted(made: Manifest) -> Wanted:
    return Wanted(TENANT, made.capture, 0)


async def _rows(store: AssociationStore, folder: Path, row: int) -> set[tuple[str, int | None]]:
    out = folder / "out"
    answer = await trace(None, store, TENANT, TraceRequest(dataset=str(out), rows=[(str(out / "part-00000.parquet"), row)]))
    assert answer.exact, answer.incomplete
    return records(answer)


def _wait_for(table: Path) -> None:
    until = time.monotonic() + _SECONDS
    while not table.exists() and time.monotonic() < until:
        time.sleep(0.05)


def _of_key(key: int) -> set[tuple[str, int]]:
    return {("part-0.parquet", row) for row in range(12) if row % 3 == key}


async def test_the_service_keeps_what_a_trace_found_at_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary_rows, "_AT_LENGTH", 0.0)
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as workspace:
        workspace.registry.add_roots([str(tmp_path)])
        made = _grouped(workspace.records, tmp_path)
        table = workspace.records.table(TENANT, made.capture, 0)
        worker = Worker(workspace)
        worker.start()
        try:
            assert await _rows(workspace.records, tmp_path, 1) == _of_key(1)
            _wait_for(table)
        finally:
            worker.stop()
        assert sorted(pq.read_table(table)["r0"].to_pylist()) == list(range(12))
        for row in range(3):
            assert await _rows(workspace.records, tmp_path, row) == _of_key(row)


async def test_what_is_kept_for_speed_gives_way_to_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begins, ended = Event(), Event()

    def keep_at_length(*_: object, start_task: Callable[[Callable[[], None]], None]) -> bool:
        start_task(ended.set)
        begins.set()
        assert ended.wait(_SECONDS)
        raise RuntimeError("interrupted")

    monkeypatch.setattr(group_keeper, "keep_wanted", keep_at_length)
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as workspace:
        workspace.registry.add_roots([str(tmp_path)])
        wanted = workspace.records.wanted
        wanted.add(Wanted(TENANT, "0190a6f2-0000-7000-8000-000000000000", 0))
        worker = Worker(workspace)
        worker.start()
        try:
            assert begins.wait(_SECONDS)
            assert not ended.wait(0.5)
            _grouped(workspace.records, tmp_path)
            assert ended.wait(_SECONDS)
        finally:
            worker.stop()


async def test_what_a_trace_finds_at_once_is_not_asked_for(
    store: AssociationStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary_rows, "_AT_LENGTH", 60.0)
    _grouped(store, tmp_path)
    assert await _rows(store, tmp_path, 0) == _of_key(0)
    assert store.wanted.take() is None


@pytest.mark.parametrize(("rows_a_second", "mode", "asked"), [(5.0, "auto", False), (3.0, "auto", True), (3.0, "lazy", False)])
def test_what_a_trace_may_not_find_within_the_budget_is_kept_unasked(
    store: AssociationStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_a_second: float, mode: str, *, asked: bool
) -> None:
    monkeypatch.setattr(LazyJob, "mode", mode)
    monkeypatch.setattr(large_groups, "_ROWS_A_SECOND", rows_a_second)  # twelve rows in three groups
    made = _grouped(store, tmp_path)
    assert keep_groups(store, TENANT, made.capture) == 0
    assert store.wanted.take() == (_wanted(made) if asked else None)
    assert store.wanted.take() is None


async def test_an_answer_says_what_was_found_again_and_how_that_was_estimated(store: AssociationStore, tmp_path: Path) -> None:
    made = _grouped(store, tmp_path)
    out = tmp_path / "out"
    request = TraceRequest(dataset=str(out), rows=[(str(out / "part-00000.parquet"), 1)])
    (again,) = (await trace(None, store, TENANT, request)).found_again
    assert (again.capture, again.operator, again.estimated_ms) == (made.capture, "Aggregate by k", 1.0)
    assert again.took_ms > 0
    assert keep_wanted(store, _wanted(made))
    assert not (await trace(None, store, TENANT, request)).found_again


async def test_what_takes_too_much_space_is_left_to_be_found_again(
    store: AssociationStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _grouped(store, tmp_path)
    monkeypatch.setattr(group_keeper, "_LITTLE", 0)
    assert not keep_wanted(store, _wanted(made))
    assert sorted(path.name for path in store.table(TENANT, made.capture, 0).parent.glob("*b0*")) == []
    assert await _rows(store, tmp_path, 2) == _of_key(2)


def test_nothing_is_kept_of_a_source_that_changed(store: AssociationStore, tmp_path: Path) -> None:
    made = _grouped(store, tmp_path)
    pq.write_table(pa.table({"k": [0], "v": [0]}), tmp_path / "in" / "part-0.parquet")
    assert not keep_wanted(store, _wanted(made))
    assert not store.table(TENANT, made.capture, 0).exists()


def test_what_is_left_of_a_process_that_was_killed_is_dropped(store: AssociationStore, tmp_path: Path) -> None:
    made = _grouped(store, tmp_path)
    table = store.table(TENANT, made.capture, 0)
    left = table.with_name(f".{table.name}.0123")
    left.write_bytes(b"half")
    assert keep_wanted(store, _wanted(made))
    assert table.exists()
    assert not left.exists()
    assert keep_wanted(store, _wanted(made))  # nothing is left to do


@pytest.mark.parametrize(("seconds", "rows"), [(60.0, 1), (0.0, 0)])
async def test_a_home_without_a_service_keeps_after_a_question_what_an_overwrite_could_lose(
    tmp_path: Path, seconds: float, rows: int
) -> None:
    home, raw = tmp_path / "home", tmp_path / "raw"
    raw.mkdir()
    pq.write_table(pa.table({"k": [n % 3 for n in range(12)], "v": list(range(12))}), raw / "part-0.parquet")
    async with await Workspace.open(load_settings(home=home)) as workspace:
        workspace.registry.add_roots([str(tmp_path)])
        copies = LazyJob(workspace.records, "copies")  # a known job, which may write its output again
        copies.write(copies.scan(raw, "parquet", {"k": "bigint", "v": "bigint"}), tmp_path / "in", "parquet", ["k", "v"], files=1)
        job = LazyJob(workspace.records, "counts")
        counted = job.group(job.scan(tmp_path / "in", "parquet", {"k": "bigint", "v": "bigint"}), ["k"], "by its reference")
        job.write(counted, tmp_path / "out", "parquet", ["k", "rows"], files=1)
    assert keep_what_may_be_lost(home, seconds=seconds) == rows
    assert keep_what_may_be_lost(home, seconds=seconds) == 0
    (file,) = (tmp_path / "in").glob("*.parquet")
    file.unlink()
    async with await Workspace.open(load_settings(home=home)) as workspace:
        out = tmp_path / "out"
        request = TraceRequest(dataset=str(out), rows=[(str(out / "part-00000.parquet"), 1)])
        answer = await trace(None, workspace.records, TENANT, request)
    assert (len(answer.records) == 4) == bool(rows)
