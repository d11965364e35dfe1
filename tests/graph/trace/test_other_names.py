"""Files that are written under one dataset's name and read under another's: a folder of a partition, a table that took them over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headwater.errors import InvalidQueryError
from headwater.graph.records import AssociationStore
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW

_ROWS = [["a", 1], ["b", 2], ["a", 3], ["b", 4]]


@pytest.fixture
def lake(store: AssociationStore, tmp_path: Path) -> Path:
    """`raw` is copied to `mid` by partition, and `mid/k=a` to `out`; another job reads all of `mid`."""
    raw = write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), _ROWS)
    for number, (source, target, by) in enumerate(((raw, "mid", "k"), (tmp_path / "mid" / "k=a", "out", None))):
        job = Job(store, f"copy{number}", number, part=f"p{number}")
        columns = COLUMNS if by else {"v": "int"}
        scan = job.scan(source, "csv" if by else "parquet", columns, RAW if by else {})
        job.write(scan, tmp_path / target, "parquet", list(columns), files=1, partition_by=by)
    return tmp_path


def _anew(store: AssociationStore, lake: Path, first: int) -> None:
    """Enter the captures again, beginning with one of them."""
    known = [entry.capture for entry in store.catalog.captures(TENANT)]
    kept = [(store.manifest(TENANT, capture), list(store.written_files(TENANT, capture))) for capture in known]
    for capture in known:
        store.catalog.forget(TENANT, capture)
    with closing(sqlite3.connect(lake / "associations" / "catalog.db")) as database:
        database.execute("DELETE FROM handed")
        database.commit()
    for manifest, files in [*kept[first:], *kept[:first]]:
        store.catalog.put(TENANT, manifest, files)


@pytest.mark.parametrize("first", [0, 1], ids=["writer first", "reader first"])
async def test_a_trace_with_a_target_goes_by_the_file(store: AssociationStore, ask, lake: Path, first: int) -> None:
    _anew(store, lake, first)
    out, mid = str(lake / "out"), str(lake / "mid")
    back = {to: await ask(dataset=out, where="v = 3", to=to) for to in (str(lake / "raw" / "t.csv"), mid, f"{mid}/k=a")}
    assert [records(answer) for answer in back.values()] == [{("t.csv", 2)}, {("p0-00000.parquet", 1)}, {("p0-00000.parquet", 1)}]
    raw = str(lake / "raw" / "t.csv")
    onward = {to: await ask(dataset=raw, where="v = 3", to=to, forward=True) for to in (out, mid, f"{mid}/k=a")}
    assert [records(answer) for answer in onward.values()] == [
        {("p1-00000.parquet", 1)},
        {("p0-00000.parquet", 1)},
        {("p0-00000.parquet", 1)},
    ]
    assert records(await ask(dataset=raw, where="v = 2", to=f"{mid}/k=a", forward=True)) == set()
    assert all(answer.exact for answer in (*back.values(), *onward.values()))


async def test_a_partition_of_one_of_two_datasets_is_not_taken_for_unknown(store: AssociationStore, ask, lake: Path) -> None:
    job = Job(store, "copy2", 2, part="p2")
    job.write(job.scan(lake / "raw" / "t.csv", "csv", COLUMNS, RAW), lake / "other" / "mid", "parquet", list(COLUMNS), files=1)
    with pytest.raises(InvalidQueryError, match="2 datasets are called mid"):
        await ask(dataset="mid/k=a", where="v = 1")
