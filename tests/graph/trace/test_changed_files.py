"""Files that have changed, or are gone, since a job read or wrote them: never read instead, always said."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headwater.graph.trace import Grain, Semantics
from tests.graph.jobs import Job, Relation
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW, copy, grouped


async def test_a_source_that_changed_is_said_and_its_values_are_left_out(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    raw.write_text(raw.read_text().replace("5", "6"))
    os.utime(raw, (1, 1))
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5", values=True)
    assert [(record.row, dict(record.values)) for record in answer.records] == [(0, {})]
    (entry,) = answer.incomplete
    assert (entry.effect, entry.what) == ("unreadable", f"file:{raw}")
    assert "has changed since the run" in entry.reason
    assert answer.exact


async def test_a_source_that_is_gone_is_said(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    raw.unlink()
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5", values=True)
    assert records(answer) == {("t.csv", 0)}
    assert "cannot be read any more" in answer.incomplete[0].reason


async def test_a_source_that_changed_is_said_where_its_values_are_not_asked_for(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    raw.write_text("k,v\nother,1\n")
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5", values=False)
    assert records(answer) == {(raw.name, 0)}
    (entry,) = answer.incomplete
    assert (entry.effect, "has changed since the run" in entry.reason) == ("unreadable", True)


async def test_a_witness_that_needs_a_changed_source_is_a_superset(store, ask, raw, tmp_path) -> None:
    grouped(store, raw, tmp_path / "out", "max")
    os.utime(raw, (1, 1))
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2, 3, 5}
    assert [entry.effect for entry in answer.incomplete] == ["superset", "unreadable"]


async def test_a_record_of_a_split_cannot_be_numbered_once_its_file_changed(store, ask, raw, tmp_path) -> None:
    job = Job(store, "split", 1)
    scan = job.scan(raw, "csv", COLUMNS, RAW, splits={"t.csv": [0, 12]})
    job.write(scan, tmp_path / "out", "parquet", list(COLUMNS))
    os.utime(raw, (1, 1))
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 7")
    (record,) = answer.records
    assert (record.grain, record.file, record.row) == (Grain.PARTITION, f"file:{raw}", None)
    assert not answer.exact


async def test_a_file_that_was_overwritten_by_someone_unknown_ends_the_lineage_and_is_said(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "mid", 1)
    for file in (tmp_path / "mid").glob("*.parquet"):
        os.utime(file, (1, 1))
    copy(store, tmp_path / "mid", tmp_path / "out", 5)
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5")
    assert records(answer) == {("part-00000.parquet", 0)}
    assert answer.records[0].dataset == f"dataset:file:{tmp_path}/mid"
    assert [entry.effect for entry in answer.incomplete] == ["missing"]


async def test_what_became_of_records_of_a_file_that_has_changed_since_it_was_read_is_not_known(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with raw.open("a") as file:
        file.write("c,3\n")
    answer = await ask(dataset=str(raw), where="v = 5", forward=True)
    (entry,) = answer.incomplete
    assert (answer.exact, answer.total, entry.what, entry.effect) == (False, 0, f"file:{raw}", "missing")
    assert "has changed since job copy1 read it" in entry.reason
    copy(store, raw, tmp_path / "again", 2)
    answer = await ask(dataset=str(raw), where="v = 5", forward=True)
    assert (answer.exact, len(records(answer)), answer.incomplete) == (True, 1, [])


async def test_records_that_a_known_run_wrote_over_others_are_known_to_be_read_by_nobody(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    (file,) = (str(path) for path in (tmp_path / "out").glob("*0.parquet"))
    copy(store, Path(file), tmp_path / "final", 2)
    with raw.open("a") as more:
        more.write("c,3\nd,4\n")
    copy(store, raw, tmp_path / "out", 3)
    answer = await ask(dataset=str(tmp_path / "out"), rows=[(file, 0)], forward=True)
    assert (answer.exact, answer.total, answer.incomplete) == (True, 0, [])


async def test_a_file_is_followed_by_the_scans_that_read_it_and_not_by_others_of_the_job(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "middle", 1)
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "n.csv").write_text("# of keys\nk,name\na,first\nb,second\n")
    job = Job(store, "joined", 2)
    middle = job.scan(tmp_path / "middle", "parquet", COLUMNS)
    names = job.scan(tmp_path / "names", "csv", {"k": "string", "name": "string"}, {"header": "true", "comment": "#"})
    job.write(job.join(middle, names, [("k", "k")]), tmp_path / "out", "parquet", ["v", "name"])
    answer = await ask(dataset=str(raw), where="v = 5", forward=True, values=True)
    assert (answer.exact, answer.incomplete) == (True, [])
    assert [record.values["name"] for record in answer.records] == ["first"]


def on_store(path: str, written: str, name: str) -> str:
    """A file of this machine as one of a bucket."""
    return f"{written}://lake/{Path(path).name}" if f"/{name}/" in path else path


class _OnS3(Job):
    """A job whose output, and its input from there, have names of an object store, by a scheme."""

    def __init__(self, store, name, started, *, scheme) -> None:
        super().__init__(store, name, started)
        self.scheme = scheme

    def _segment(self, number, attempt, columns, footer=None) -> None:
        for file in (footer or {}).get("files", ()):
            file["path"] = on_store(file["path"], self.scheme, "middle")
        super()._segment(number, attempt, columns, footer)

    def scan(self, path: Path, format_: str, columns: Mapping[str, str], *more: Any, **of: Any) -> Relation:
        found = super().scan(path, format_, columns, *more, **of)
        for file in self.sources[-1]["files"]:
            file["path"] = on_store(file["path"], self.scheme, "middle")
        return found


@pytest.mark.parametrize(
    ("written", "read", "files"),
    [("s3a", "s3", 1), ("s3", "s3a", 1), ("s3n", "s3a", 1), ("abfs", "abfss", 1), ("s3a", "s3", 600)],  # many are kept in lists
)
async def test_schemes_of_one_store_are_one(store, ask, raw, tmp_path, written, read, files) -> None:
    first = _OnS3(store, "first", 1, scheme=written)
    first.write(first.scan(raw, "csv", COLUMNS, RAW), tmp_path / "middle", "parquet", list(COLUMNS), files=files)
    second = _OnS3(store, "second", 2, scheme=read)
    second.write(second.scan(tmp_path / "middle", "parquet", COLUMNS), tmp_path / "out", "parquet", list(COLUMNS))
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5", values=False)
    assert (answer.exact, [(Path(str(record.file)).name, record.row) for record in answer.records]) == (True, [(raw.name, 0)])
    forward = await ask(dataset=str(raw), where="v = 5", forward=True, values=True)
    assert (forward.exact, [record.values["v"] for record in forward.records]) == (True, [5])
