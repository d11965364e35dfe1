"""A compaction merges the current version, changes no trace, and is refused where a consumer, a hold or a writer could lose data."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.backend.versions.compaction import compactor as module
from headwater.backend.versions.compaction import journal as journals
from headwater.backend.versions.compaction.journal import CompactionState
from headwater.backend.versions.compaction.spark_merge import SparkMerge
from headwater.errors import InvalidInputError, NotFoundError, SourceChangedError, UnavailableError, UnsupportedError
from headwater.graph.versions import ConsumptionMode, list_consumers
from headwater.spark_listener.spool import Item, SpoolFolder
from tests.backend.versions.history import History
from tests.backend.versions.plain_merge import PlainMerge
from tests.graph.jobs import TENANT

BY = "ann"


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[History]:
    """A base and two deltas. `copy` has read them as they came, `greatest` has grouped all of them."""
    opened = await History.open(tmp_path)
    opened.write("base", [["a", 1], ["b", 2]])
    opened.consume("copy", "new")
    opened.write("delta", [["c", 3]])
    opened.consume("copy", "new")
    opened.write("delta", [["a", 7], ["c", 1]])
    opened.consume("copy", "new")
    opened.consume("greatest", "group")
    await opened.settle()
    opened.collector().enrol(opened.dataset, by=BY)
    yield opened
    await opened.close()


async def _reasons(history: History) -> str:
    await history.settle()
    return "; ".join((await history.compactor().plan(history.dataset)).reasons)


def _shadows(history: History) -> list[Path]:
    return [*history.root.glob(".headwater-compact-*")]


async def test_traces_and_cursors_are_the_same_after_a_compaction(history: History) -> None:
    rows, traces = await history.rows(), await history.traces()
    assert await _reasons(history) == ""
    await history.compact()
    assert len(history.files()) == 1
    assert await history.rows() == rows
    after = await history.traces()
    assert after == {name: traces.get(name, after[name]) for name in after}
    assert len(set(after) & set(traces)) == len(traces) - 6  # three files of the dataset, with two semantics
    consumers = {one.job: one for one in await list_consumers(history.graph, TENANT, history.dataset)}
    assert set(consumers) == {"job:tests:copy", "job:tests:greatest"}
    assert [(one.cursor, one.unread) for one in consumers.values()] == [(4, ())] * 2
    lines = [json.loads(line)["what"] for line in (history.root / "audit.jsonl").read_text().splitlines()]
    assert lines == ["versions.enrol", "versions.compact", "versions.compact.end"]


async def test_consumers_go_on_after_a_compaction(history: History) -> None:
    await history.compact()
    history.write("delta", [["d", 4]])
    await history.settle()
    consumers = {one.job: one for one in await list_consumers(history.graph, TENANT, history.dataset)}
    assert [[block.sequence for block in one.unread] for one in consumers.values()] == [[5], [5]]
    history.consume("copy", "new")
    history.consume("greatest", "group")
    await history.settle()
    consumers = {one.job: one for one in await list_consumers(history.graph, TENANT, history.dataset)}
    assert {(one.mode, one.cursor, one.unread) for one in consumers.values()} == {
        (ConsumptionMode.NEW, 5, ()), (ConsumptionMode.ALL, 5, ()),
    }  # fmt: skip
    await history.compact()  # and a second time
    assert await _reasons(history) == "the current version has one block, so there is nothing to merge"


async def test_old_data_stays_while_a_trace_needs_its_values(history: History) -> None:
    before = await history.traces()
    await history.compact(trash_days=0)
    await history.compactor().settle()
    assert _shadows(history)
    after = await history.traces()
    assert {name: after[name] for name in before if name in after} == {name: before[name] for name in before if name in after}
    for path in history.outputs["greatest"].iterdir():  # nothing is kept that was made of the values
        path.unlink()
    rows = await history.rows()
    await history.compactor().settle()
    assert not _shadows(history)
    assert await history.rows() == rows


async def test_an_unread_delta_of_a_consumer_of_new_blocks_forbids_it(history: History) -> None:
    history.write("delta", [["e", 5]])
    assert "job:tests:copy, job:tests:greatest have not read all blocks (job:tests:copy: 4)" in await _reasons(history)
    with pytest.raises(UnsupportedError, match="declare"):
        await history.compactor().compact(history.dataset, by=BY)
    assert len(history.files()) == 4
    assert not _shadows(history)
    history.consume("copy", "new")
    assert "job:tests:greatest has not read all blocks" in await _reasons(history)  # its only run does not show its mode
    history.consume("greatest", "group")
    history.write("delta", [["f", 6]])
    history.consume("copy", "new")
    assert await _reasons(history) == ""  # `greatest` has unread blocks, and reads the whole dataset


async def test_a_declared_mode_decides_about_unread_blocks(history: History) -> None:
    history.write("delta", [["e", 5]])
    await history.settle()
    for job, mode in (("copy", "all"), ("greatest", "all")):
        await history.describe(f"job:tests:{job}", "consumption", f"{mode} {history.dataset}")
    assert await _reasons(history) == ""
    await history.describe("job:tests:copy", "consumption", f"new {history.dataset}")
    assert "job:tests:copy has not read all blocks" in await _reasons(history)


async def test_a_hold_a_foreign_file_a_link_and_a_writer_forbid_it(history: History) -> None:
    other = history.out / "other.parquet"
    other.write_bytes(b"x")
    assert "is not of the current version" in await _reasons(history)
    other.unlink()
    other.symlink_to(history.out / "run1-00000.parquet")
    assert "is a link" in await _reasons(history)
    other.unlink()
    (history.out / "_temporary" / "0").mkdir(parents=True)
    assert "a job writes to it now" in await _reasons(history)
    (history.out / "_temporary" / "0").rmdir()
    (history.out / "_temporary").rmdir()
    (history.out / "_spark_metadata").mkdir()
    assert "a streaming query" in await _reasons(history)
    (history.out / "_spark_metadata").rmdir()
    assert await _reasons(history) == ""
    await history.hold(history.dataset, "case 17")
    assert "a legal hold covers block 1: case 17" in await _reasons(history)


async def test_a_dataset_that_is_not_enrolled_is_not_merged(history: History) -> None:
    history.collector().withdraw(history.dataset, by=BY)
    with pytest.raises(NotFoundError, match="is not enrolled"):
        await history.compactor().compact(history.dataset, by=BY)


@pytest.mark.parametrize("moment", ["before the exchange", "during the exchange"])
async def test_data_that_changes_meanwhile_stays(history: History, monkeypatch, moment: str) -> None:
    path, original = history.out / "run1-00000.parquet", path_bytes(history)
    exchange = journals.exchange_folders

    def change(*_: object) -> None:
        monkeypatch.undo()
        status = path.stat()
        path.write_bytes(original + b"x")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def change_first(one: Path, other: Path) -> None:
        change()
        exchange(one, other)

    if moment == "during the exchange":
        monkeypatch.setattr(journals, "exchange_folders", change_first)
    else:
        merge = history.compactor()._merge
        run = type(merge).run
        monkeypatch.setattr(type(merge), "run", lambda self, *rest: (run(self, *rest), change())[0])
    history.clock += 1
    with pytest.raises((SourceChangedError, UnsupportedError), match=r"changed|not as it was written|cannot be read"):
        await history.compactor().compact(history.dataset, by=BY)
    assert path.read_bytes() == original + b"x"
    assert len(history.files()) == 3
    assert not _shadows(history)


def path_bytes(history: History) -> bytes:
    return (history.out / "run1-00000.parquet").read_bytes()


async def test_an_undo_brings_the_old_files_back(history: History) -> None:
    files, traces = history.files(), await history.traces()
    history.clock += 1
    done = await history.compactor().compact(history.dataset, by=BY)
    assert done.journal is not None
    await history.settle()
    await history.compactor().restore(done.journal.id, by=BY)
    assert history.files() == files
    assert not _shadows(history)
    assert await history.traces() == traces
    (document,) = history.declared.documents
    assert [(entry["id"], entry["value"]) for entry in document["descriptions"]] == [(done.journal.version, "undone")]
    with pytest.raises(NotFoundError, match="could be undone"):
        await history.compactor().restore(done.journal.id, by=BY)


async def test_an_undo_is_refused_after_the_merged_data_was_read_or_changed(history: History) -> None:
    history.clock += 1
    done = await history.compactor().compact(history.dataset, by=BY)
    assert done.journal is not None
    history.note_merge([Path(file.path).name for file in done.journal.merged_files])
    new = history.out / "new.parquet"
    new.write_bytes(b"x")
    with pytest.raises(SourceChangedError, match="changed meanwhile"):
        await history.compactor().restore(done.journal.id, by=BY)
    new.unlink()
    history.consume("greatest", "group")
    with pytest.raises(UnsupportedError, match="has read the merged data"):
        await history.compactor().restore(done.journal.id, by=BY)


class _KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", range(9))
async def test_a_compaction_that_is_killed_at_any_step_leaves_the_old_or_the_merged_data(history: History, monkeypatch, step: int) -> None:
    old, rows, traces = history.files(), await history.rows(), await history.traces()
    steps = 0

    def stopping(function):
        def wrapped(*arguments, **more):
            nonlocal steps
            if steps == step:
                raise _KilledError
            steps += 1
            return function(*arguments, **more)

        return wrapped

    history.clock += 1
    with monkeypatch.context() as patch:
        compactor = history.compactor()
        for name in ("save", "exchange", "append_line"):
            patch.setattr(module, name, stopping(getattr(module, name)))
        for verb in ("run", "deliver", "clean"):
            patch.setattr(compactor._merge, verb, stopping(getattr(compactor._merge, verb)))
        patch.setattr(compactor._replaced, "add", stopping(compactor._replaced.add))
        with pytest.raises(_KilledError):
            await compactor.compact(history.dataset, by=BY)
    there = history.files()
    assert there == old or len(there) == 1
    await history.settle()
    again = history.compactor()
    await again.settle()
    await history.settle()
    there = history.files()
    if there == old:
        assert not _shadows(history)
        await history.compact()
    else:
        history.note_merge(sorted(there))
    assert await history.rows() == rows
    after = await history.traces()
    assert {name: after[name] for name in traces if name in after} == {name: traces[name] for name in traces if name in after}
    states = [journals.load(path.parent).state for path in history.root.glob(f"versions/*/{journals.JOURNAL}")]
    assert states == [CompactionState.DONE]


def _compactions(history: History) -> list[Path]:
    return [path.parent for path in history.root.glob(f"versions/*/{journals.JOURNAL}")]


async def test_a_compaction_whose_lineage_was_refused_keeps_the_old_data_until_its_undo(history: History, monkeypatch) -> None:
    files, traces = history.files(), await history.traces()
    history.clock += 1
    with monkeypatch.context() as patch:
        patch.setattr(PlainMerge, "deliver", lambda self, journal, place, note_refusal: note_refusal("too large"))
        with pytest.raises(UnsupportedError, match="was refused: too large"):
            await history.compactor().compact(history.dataset, by=BY, trash_days=0)
    (place,) = _compactions(history)
    for path in history.outputs["greatest"].iterdir():  # no trace needs the old data
        path.unlink()
    for _ in range(2):  # the refused part is not in the spool any more
        await history.compactor().settle()
    assert journals.load(place).state is CompactionState.REFUSED
    assert _shadows(history)
    await history.compactor().restore(place.name, by=BY)
    assert history.files() == files
    assert not _shadows(history)
    after = await history.traces()
    assert after == {name: traces[name] for name in after}
    assert journals.load(place).state is CompactionState.UNDONE


async def test_a_refusal_is_noted_although_the_log_fails_afterwards(history: History) -> None:
    history.clock += 1
    done = await history.compactor().compact(history.dataset, by=BY)
    assert done.journal is not None
    spool = SpoolFolder.create(history.root / "home" / "spool", "app", limit=1 << 20)
    for name in ("refused", "later"):
        spool.event({"eventType": name}, durable=True)
    spool.describe(ended=True)
    spool.close()

    class Log:
        def send(self, item: Item, folder: SpoolFolder) -> None:
            if item.body["eventType"] == "refused":
                raise InvalidInputError("no such job")
            raise UnavailableError("The log does not answer.")

    reasons: list[str] = []
    with pytest.raises(UnavailableError):
        SparkMerge(history.store, Log).deliver(done.journal, history.root, reasons.append)
    assert reasons == ["no such job"]


async def test_an_unfinished_compaction_hinders_no_other(history: History, monkeypatch) -> None:
    history.clock += 1
    done = await history.compactor().compact(history.dataset, by=BY)
    assert done.journal is not None
    await history.settle()
    versions = history.root / "versions"
    (versions / ("0" * 12)).mkdir()
    (versions / ("0" * 12) / journals.JOURNAL).write_text("{")  # a damaged journal
    waiting = done.journal.model_copy(update={"id": "1" * 12, "dataset": "dataset:file:/gone", "state": CompactionState.EXCHANGED})
    (versions / waiting.id).mkdir()  # without its capture, so its delivery fails
    journals.save(waiting, versions / waiting.id)
    await history.compactor().restore(done.journal.id, by=BY)
    assert len(history.files()) == 3
    await history.settle()
    await history.describe(done.journal.version, "tag", "undone")
    await history.compact()
    assert len(history.files()) == 1
    with pytest.raises(NotFoundError, match="could be undone"):
        await history.compactor().restore("0" * 12, by=BY)
    with pytest.raises(UnavailableError, match="not delivered yet"):
        await history.compactor().restore(waiting.id, by=BY)


async def test_a_dataset_waits_for_the_lineage_of_its_last_compaction(history: History, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise UnavailableError("The log does not answer.")

    history.clock += 1
    with monkeypatch.context() as patch:
        patch.setattr(PlainMerge, "deliver", fail)
        with pytest.raises(UnavailableError, match="does not answer"):
            await history.compactor().compact(history.dataset, by=BY)
        with pytest.raises(UnsupportedError, match="is not finished"):
            await history.compactor().compact(history.dataset, by=BY)
    await history.compactor().settle()
    (place,) = _compactions(history)
    assert journals.load(place).state is CompactionState.DONE


@pytest.mark.parametrize("moment", ["exchange", "undo", "expiry"])
async def test_a_file_of_another_program_in_the_shadow_is_never_deleted(history: History, monkeypatch, moment: str) -> None:
    exchange = journals.exchange_folders

    def exchange_and_write(one: Path, other: Path) -> None:
        exchange(one, other)
        (history.out / "late.parquet").write_bytes(b"late")  # into the merged files, which leave again
        monkeypatch.setattr(journals, "exchange_folders", exchange)

    def write_and_exchange(one: Path, other: Path) -> None:
        (history.out / "run1-00000.parquet").touch()
        exchange_and_write(one, other)

    history.clock += 1
    if moment == "exchange":
        monkeypatch.setattr(journals, "exchange_folders", write_and_exchange)
        with pytest.raises(SourceChangedError, match="changed meanwhile"):
            await history.compactor().compact(history.dataset, by=BY)
    else:
        done = await history.compactor().compact(history.dataset, by=BY, trash_days=0)
        assert done.journal is not None
        await history.settle()
    if moment == "undo":
        exchange_back = module.exchange_back

        def exchange_back_and_write(journal: journals.CompactionJournal) -> None:
            exchange_back(journal)
            (journal.other / "late.parquet").write_bytes(b"late")  # by a program that had the folder open

        monkeypatch.setattr(module, "exchange_back", exchange_back_and_write)
        await history.compactor().restore(done.journal.id, by=BY)
    elif moment == "expiry":
        (done.journal.other / "late.parquet").write_bytes(b"late")
        for path in history.outputs["greatest"].iterdir():  # no trace needs the old data
            path.unlink()
        await history.compactor().settle()
    (shadow,) = _shadows(history)
    assert (shadow / "out" / "late.parquet").read_bytes() == b"late"


async def test_old_data_of_a_compaction_is_not_collected(history: History) -> None:
    await history.compact()
    verdicts = (await history.collector().plan(history.dataset)).verdicts
    assert [list(verdict.files) for verdict in verdicts] == [[]] * 4
