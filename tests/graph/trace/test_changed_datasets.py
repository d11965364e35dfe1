"""Forward traces to a dataset that changed after records went into it: the answer is about what it holds now, or names the version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headwater.graph.records import AssociationStore
from headwater.graph.trace import TraceAnswer
from tests.graph.jobs import Job, write_csv
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW

_ROWS = [["a", 1], ["b", 2], ["a", 3], ["b", 4]]


class Folder:
    """A raw file, and jobs that each write one file named after them."""

    def __init__(self, store: AssociationStore, root: Path) -> None:
        self.store, self.root, self.clock = store, root, 0
        self.raw = write_csv(root / "raw" / "t.csv", list(COLUMNS), _ROWS)
        self.table = root / "table"

    def job(self, source: Path, target: Path, name: str, *, over: bool = True, keep: str | None = None) -> None:
        """Write what is read (of `k` alone) over the target, or in addition to it."""
        job = Job(self.store, name, self.clock, part=name)
        self.clock += 1
        of_csv = source.suffix == ".csv"
        rows = job.scan(source, "csv" if of_csv else "parquet", COLUMNS, RAW if of_csv else {})
        if keep is not None:
            rows = job.filter(rows, lambda values: values["k"] == keep, ["k"])
        if over and target.exists():
            shutil.rmtree(target)
        job.write(rows, target, "parquet", list(COLUMNS), files=1)


@pytest.fixture
def folder(store: AssociationStore, tmp_path: Path) -> Folder:
    made = Folder(store, tmp_path)
    made.job(made.raw, made.table, "first")
    return made


@pytest.fixture
def onward(folder: Folder, ask):
    """The trace of a row of the raw file to the table."""

    async def put(value: int, **request: object) -> TraceAnswer:
        return await ask(dataset=str(folder.raw), where=f"v = {value}", to=str(folder.table), forward=True, **request)

    return put


def _said(answer: TraceAnswer, effect: str) -> str:
    return "; ".join(entry.reason for entry in answer.incomplete if entry.effect == effect)


@pytest.mark.parametrize("semantics", ["influence", "witness"])
async def test_a_folder_is_overwritten_from_itself(folder: Folder, onward, semantics: str) -> None:
    """By way of a temporary folder, twice; the second time without some of the rows."""
    folder.job(folder.table, folder.root / "tmp", "aside")
    folder.job(folder.root / "tmp", folder.table, "second")
    folder.job(folder.table, folder.root / "tmp", "again")
    folder.job(folder.root / "tmp", folder.table, "third", keep="a")
    kept, gone = await onward(3, semantics=semantics), await onward(2, semantics=semantics)
    assert (records(kept), kept.exact) == ({("third-00000.parquet", 1)}, True), kept.incomplete
    assert "2 records that were reached are not in it any more" in _said(kept, "version")
    assert (records(gone), gone.total, gone.exact) == (set(), 0, True)
    assert "of first" in _said(gone, "version")
    assert "of second" in _said(gone, "version")


async def test_a_row_may_be_in_a_table_several_times(folder: Folder, onward) -> None:
    folder.job(folder.table, folder.table, "more", over=False, keep="a")
    both, one = await onward(3), await onward(2)
    assert (records(both), both.exact, both.incomplete) == ({("first-00000.parquet", 2), ("more-00000.parquet", 1)}, True, [])
    assert (records(one), one.exact, one.incomplete) == ({("first-00000.parquet", 1)}, True, [])


async def test_a_folder_that_was_overwritten_from_elsewhere_holds_nothing_of_it(folder: Folder, onward) -> None:
    other = write_csv(folder.root / "raw" / "u.csv", list(COLUMNS), [["z", 9]])
    folder.job(other, folder.table, "second")
    answer = await onward(3)
    assert (answer.records, answer.exact) == ([], True)
    assert "one record that was reached is not in it any more" in _said(answer, "version")
    assert "of first" in _said(answer, "version")


async def test_files_of_an_unknown_program_may_hold_the_row(folder: Folder, onward) -> None:
    shutil.move(folder.table / "first-00000.parquet", folder.root / "copy.parquet")
    write_csv(folder.table / "unknown.parquet", ["x"], [])
    answer = await onward(3)
    assert (answer.records, answer.exact) == ([], False)
    assert "no known run wrote one of its files" in _said(answer, "missing")


async def test_records_of_a_folder_that_is_gone_name_their_version(folder: Folder, onward) -> None:
    shutil.rmtree(folder.table)
    answer = await onward(3)
    assert (records(answer), answer.exact) == ({("first-00000.parquet", 2)}, True)
    assert "there is nothing at" in _said(answer, "version")
    assert "of first" in _said(answer, "version")


async def test_a_table_in_the_middle_of_a_chain_is_what_it_is_now(folder: Folder, ask, onward) -> None:
    folder.job(folder.table, folder.root / "report", "report")
    folder.job(folder.table, folder.root / "tmp", "aside")
    folder.job(folder.root / "tmp", folder.table, "second")
    middle = await onward(3)
    assert (records(middle), middle.exact) == ({("second-00000.parquet", 2)}, True)
    end = await ask(dataset=str(folder.raw), where="v = 3", to=str(folder.root / "report"), forward=True)
    assert (records(end), end.exact, end.incomplete) == ({("report-00000.parquet", 2)}, True, [])
    back = await ask(dataset=str(folder.table), where="v = 3")
    assert (records(back), back.exact) == ({("t.csv", 2)}, True)
    itself = await ask(dataset=str(folder.root / "tmp"), where="v = 3", to=str(folder.table), forward=True)
    assert records(itself) == {("second-00000.parquet", 2)}
