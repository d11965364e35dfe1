"""Two versions compared: added, removed and changed records, by key or as bags, and versions whose data is not there any more."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.records import AssociationStore
from headwater.graph.trace.version_diff.answer import Change, DiffRequest, VersionDiff
from headwater.graph.trace.version_diff.engine import diff
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.trace.small import COLUMNS, RAW

FORMATS = ("parquet", "csv")
Rows = Sequence[Sequence[Any]]


def _write(store: AssociationStore, root: Path, clock: int, rows: Rows, *, mode: str = "append", format_: str = "parquet") -> Job:
    """A run that copies rows of its own file to `out`."""
    raw, out = write_csv(root / "raw" / f"{clock}.csv", list(COLUMNS), rows), root / "out"
    if mode == "overwrite":
        shutil.rmtree(out, ignore_errors=True)
    job = Job(store, "copy", clock, part=f"run{clock}", said={"mode": mode})
    job.write(job.scan(raw, "csv", COLUMNS, RAW), out, format_, list(COLUMNS), files=1)
    return job


async def _diff(store: AssociationStore, root: Path, before: str, after: str = "now", **options: Any) -> VersionDiff:
    return await diff(None, store, TENANT, DiffRequest(dataset=str(root / "out"), before=before, after=after, **options))


def _values(found: VersionDiff, change: Change) -> list[tuple[Any, Any]]:
    return [
        (entry.before and tuple(entry.before.values), entry.after and tuple(entry.after.values))
        for entry in found.entries
        if entry.change is change
    ]


@pytest.mark.parametrize("format_", FORMATS)
async def test_records_that_a_run_added_are_listed_with_their_place_and_run(store, tmp_path, format_) -> None:
    first = _write(store, tmp_path, 1, [["a", 1], ["b", 2]], format_=format_)
    second = _write(store, tmp_path, 2, [["a", 1], ["c", None]], format_=format_)
    found = await _diff(store, tmp_path, first.run, second.run)
    assert (found.added, found.removed, found.changed, found.total, found.exact) == (2, 0, 0, 2, True)
    assert _values(found, Change.ADDED) == [(None, ("a", 1)), (None, ("c", None))]
    (_, last) = found.entries
    assert last.after is not None
    assert (Path(last.after.file).name.startswith("run2"), last.after.row, last.after.run) == (True, 1, f"run:{second.run}")
    back = await _diff(store, tmp_path, second.run, first.run)
    assert (back.added, back.removed) == (0, 2)


async def test_a_bag_has_each_of_several_equal_records(store, tmp_path) -> None:
    first = _write(store, tmp_path, 1, [["a", 1], ["a", 1], ["a", 1], ["b", 2]])
    before = tmp_path / "kept"
    shutil.copytree(tmp_path / "out", before)
    second = _write(store, tmp_path, 2, [["a", 1], ["b", 2], ["b", 2]], mode="overwrite")
    for path in before.iterdir():
        shutil.copy2(path, tmp_path / "out" / path.name)  # an overwrite that deletes nothing
    found = await _diff(store, tmp_path, first.run, second.run)
    assert _values(found, Change.REMOVED) == [(("a", 1), None), (("a", 1), None)]
    assert _values(found, Change.ADDED) == [(None, ("b", 2))]
    assert [entry.before.row for entry in found.entries if entry.before] == [1, 2]


async def test_with_a_key_a_record_changes(store, tmp_path) -> None:
    first = _write(store, tmp_path, 1, [["a", 1], ["b", 2], ["c", 3], ["d", 4], ["d", 4]])
    shutil.copytree(tmp_path / "out", tmp_path / "kept")
    second = _write(store, tmp_path, 2, [["a", 1], ["b", 9], ["e", 5], ["d", 4], ["d", 6]], mode="overwrite")
    shutil.copytree(tmp_path / "kept", tmp_path / "out", dirs_exist_ok=True)
    found = await _diff(store, tmp_path, first.run, second.run, key=["K"])
    assert _values(found, Change.CHANGED) == [(("b", 2), ("b", 9))]
    assert _values(found, Change.ADDED) == [(None, ("e", 5)), (None, ("d", 6))]
    assert _values(found, Change.REMOVED) == [(("c", 3), None), (("d", 4), None)]
    assert found.notes == ["One value of the key (k) occur several times in a version. Records with them are compared by content."]
    with pytest.raises(InvalidQueryError, match="no column 'x' for the key"):
        await _diff(store, tmp_path, first.run, second.run, key=["x"])


async def test_pages_cover_each_change_once(store, tmp_path) -> None:
    first = _write(store, tmp_path, 1, [["x", 0]])
    second = _write(store, tmp_path, 2, [["a", n % 3] for n in range(10)])
    pages = [await _diff(store, tmp_path, first.run, second.run, first=4, offset=offset) for offset in (0, 4, 8)]
    entries = [entry for page in pages for entry in page.entries]
    assert [entry.after.row for entry in entries if entry.after] == list(range(10))
    only = await _diff(store, tmp_path, first.run, second.run, changes=[Change.REMOVED])
    assert (only.entries, only.total, only.added) == ([], 0, 10)


async def test_a_version_whose_files_are_gone_or_replaced_is_refused(store, tmp_path) -> None:
    first = _write(store, tmp_path, 1, [["a", 1]])
    second = _write(store, tmp_path, 2, [["b", 1]], mode="overwrite")
    with pytest.raises(UnsupportedError, match=r"Version .* cannot be compared: its data is not there as it was written\. .*run1"):
        await _diff(store, tmp_path, first.run, second.run)
    path = next((tmp_path / "out").glob("run2*"))
    path.write_bytes(path.read_bytes() + b"x")
    third = _write(store, tmp_path, 3, [["c", 1]])
    with pytest.raises(UnsupportedError, match="it has changed since the run"):
        await _diff(store, tmp_path, second.run)
    found = await _diff(store, tmp_path, second.run, third.run)  # both versions have the file: it makes no difference
    assert (found.added, found.removed) == (1, 0)


async def test_the_files_as_they_are_can_be_compared(store, tmp_path) -> None:
    first = _write(store, tmp_path, 1, [["a", 1]])
    assert (await _diff(store, tmp_path, first.run)).total == 0
    shutil.copy(next((tmp_path / "out").iterdir()), tmp_path / "out" / "foreign.parquet")
    found = await _diff(store, tmp_path, first.run)
    assert _values(found, Change.ADDED) == [(None, ("a", 1))]
    assert found.entries[0].after is not None
    assert found.entries[0].after.run is None


async def test_a_version_that_is_not_there_is_not_found(store, tmp_path) -> None:
    first = _write(store, tmp_path, 1, [["a", 1]])
    with pytest.raises(NotFoundError):
        await _diff(store, tmp_path, first.run, "2025-01-01")
    with pytest.raises(InvalidQueryError, match="has no block 7"):
        await _diff(store, tmp_path, first.run, "7")


async def test_hidden_columns_are_not_compared(store, tmp_path) -> None:
    first = _write(store, tmp_path, 1, [["a", 1], ["b", 2]])
    shutil.copytree(tmp_path / "out", tmp_path / "kept")
    second = _write(store, tmp_path, 2, [["a", 7], ["c", 2]], mode="overwrite")
    shutil.copytree(tmp_path / "kept", tmp_path / "out", dirs_exist_ok=True)
    found = await _diff(store, tmp_path, first.run, second.run, hidden=["V"])
    assert Counter(change.change for change in found.entries) == {Change.ADDED: 1, Change.REMOVED: 1}
    assert [name for name, _ in found.columns] == ["k"]
