"""Metadata of tables by other writers, damaged or lying: an answer names unknown parts, and reads no more than it may."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.errors import UnsupportedError
from headwater.graph.files import allowance
from headwater.graph.files.row_ids import TableRows
from headwater.graph.files.table_cache import TableCache
from headwater.graph.records import ANYWHERE, AssociationStore, DataRoots, block_of
from headwater.graph.trace import TraceAnswer
from tests.graph.jobs import Job, write_csv

COLUMNS = {"k": "string", "v": "int"}
ROWS = [[key, number] for number, key in enumerate("abcde")]
RAW = {"header": "true"}
NAMES = {f"delta.rowTracking.materializedRow{name}ColumnName": column for name, column in (("Id", "_num"), ("CommitVersion", "_ver"))}


@dataclass
class Lake:
    """A Delta table that a known run wrote, that another one compacted with its rows reversed, and that a known run read."""

    folder: Path
    store: AssociationStore
    log: list[list[dict[str, Any]]]

    @property
    def table(self) -> Path:
        return self.folder / "table"

    def put(self) -> None:
        """Write the log as it stands."""
        folder = self.table / "_delta_log"
        folder.mkdir(exist_ok=True)
        for version, actions in enumerate(self.log):
            (folder / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))

    def added(self) -> dict[str, Any]:
        """The entry of the log for the file that the known run wrote."""
        found: dict[str, Any] = self.log[1][1]["add"]
        return found


def _add(path: Path, first: int, version: int, rows: int = len(ROWS)) -> dict[str, Any]:
    return {"add": {
        "path": path.name, "size": path.stat().st_size, "dataChange": True, "modificationTime": 1, "partitionValues": {},
        "stats": json.dumps({"numRecords": rows}), "baseRowId": first, "defaultRowCommitVersion": version,
    }}  # fmt: skip


@pytest.fixture
def lake(store: AssociationStore, tmp_path: Path) -> Lake:
    raw, table = write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), ROWS), tmp_path / "table"
    first = table / "part-00000.parquet"
    job = Job(store, "fills", 1, said={"format": "delta", "numbered": [{"path": f"file:{first}", "first": 0, "version": 1, "added": 1}]})
    job.write(job.scan(raw, "csv", COLUMNS, RAW), table, "parquet", list(COLUMNS), files=1)
    moved = table / "moved.parquet"
    _moved(moved, list(range(len(ROWS)))[::-1])
    made = Lake(tmp_path, store, [
        [{"commitInfo": {"operation": "CREATE TABLE"}}, {"metaData": {"configuration": NAMES}}],
        [{"commitInfo": {"operation": "WRITE"}}, _add(first, 0, 1)],
        [{"commitInfo": {"operation": "OPTIMIZE"}}, {"remove": {"path": first.name}}, _add(moved, 100, 2)],
    ])  # fmt: skip
    made.put()
    _read(made, 2)
    return made


def _read(lake: Lake, number: int) -> None:
    """A known run reads the table."""
    job = Job(lake.store, f"reads {number}", number)
    scan = job.scan(lake.table / "moved.parquet", "parquet", COLUMNS)
    job.sources[-1] |= {"format": "delta", "path": f"file:{lake.table}", "dataset": {"namespace": "file", "name": str(lake.table)}}
    job.write(scan, lake.folder / "out", "parquet", list(COLUMNS), files=1)


def _protocol(**stated: Any) -> dict[str, Any]:
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": [], **stated}}


def _given(greatest: int) -> dict[str, Any]:
    stated = json.dumps({"rowIdHighWaterMark": greatest})
    return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": stated, "removed": False}}


def _moved(path: Path, numbers: list[int], versions: int = 1) -> None:
    values = {name: [ROWS[number % len(ROWS)][place] for number in numbers] for place, name in enumerate(COLUMNS)}
    own = {"_num": pa.array(numbers, pa.int64()), "_ver": pa.array([versions] * len(numbers), pa.int64())}
    pq.write_table(pa.table({**values, **own}), path)


@pytest.fixture
def behind(lake: Lake, ask: Any) -> Callable[..., Any]:
    async def asked(*rows: int) -> tuple[list[int | None], str]:
        """The records of the raw file behind rows of the output; and what is missing, if anything is."""
        out = lake.folder / "out"
        answer: TraceAnswer = await ask(dataset=str(out), rows=[(str(out / "part-00000.parquet"), row) for row in rows])
        missing = " ".join(entry.reason for entry in answer.incomplete if entry.effect == "missing")
        assert answer.exact is not bool(missing), answer.incomplete
        return [record.row for record in answer.records if record.dataset.endswith("t.csv")], missing

    return asked


async def test_rows_are_found_by_their_numbers(behind: Any) -> None:
    assert [await behind(row) for row in range(len(ROWS))] == [([row], "") for row in range(len(ROWS))[::-1]]


LIES: dict[str, Callable[[Lake], Any]] = {
    "its first row has another number": lambda lake: lake.added().update(baseRowId=3),
    "it is of another version": lambda lake: lake.added().update(defaultRowCommitVersion=0),
    "it has more rows than it has": lambda lake: lake.added().update(stats='{"numRecords": 50}', baseRowId=0),
    "it has as many rows as no file has": lambda lake: lake.added().update(stats=json.dumps({"numRecords": 2**70})),
    "its numbers are beyond any": lambda lake: lake.added().update(baseRowId=2**63 - 1),
    "they are below any": lambda lake: lake.added().update(baseRowId=-5),
    "its version is beyond any": lambda lake: lake.added().update(defaultRowCommitVersion=2**80),
    "it is nowhere": lambda lake: lake.log[1].pop(),
    "its path is none": lambda lake: lake.added().update(path=7),
    "the new file is nowhere": lambda lake: lake.log[2].pop(),
    "an action is none": lambda lake: lake.log[2].append([]),  # type: ignore[arg-type]
    "the names of columns are none": lambda lake: lake.log[0][1]["metaData"].update(configuration=[3]),
    "the new file came earlier than it did": lambda lake: lake.log[2][2]["add"].update(defaultRowCommitVersion=1),
    "the new file will come": lambda lake: lake.log[2][2]["add"].update(defaultRowCommitVersion=7),
    "the new file has more rows than it has": lambda lake: lake.log[2][2]["add"].update(stats='{"numRecords": 50}'),
    "no row has its number": lambda lake: lake.log[2].append(_given(3)),
    "what readers must know is not known": lambda lake: lake.log[0].append(_protocol(readerFeatures=["columnMapping", "turnedAround"])),
    "its readers are of another time": lambda lake: lake.log[0].append(_protocol(minReaderVersion=4)),
    "its newest versions are elsewhere": lambda lake: lake.log[0].append(_protocol(writerFeatures=["coordinatedCommits-preview"])),
    "another file has its numbers": lambda lake: lake.log[1].append(_add(lake.table / "moved.parquet", 2, 1)),
}


OTHERWISE = {
    "its first row has another number": "say otherwise",
    "it has more rows than it has": "say otherwise",
    "what readers must know is not known": "turnedAround",
    "its readers are of another time": "readers of version 4",
    "its newest versions are elsewhere": "coordinatedCommits-preview",
    "the new file came earlier than it did": "do not tell of it",
    "the new file will come": "do not tell of it",
    "the new file has more rows than it has": "has 5 rows",
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_log_that_lies_or_is_damaged_is_not_gone_by(lie: str, lake: Lake, behind: Any) -> None:
    LIES[lie](lake)
    lake.put()
    found, missing = await behind(0)
    assert found == [4] or (found == [] and missing), "the run that wrote a file said what numbers its rows have"
    assert OTHERWISE.get(lie, "") in missing


@pytest.mark.parametrize("lie", LIES)
async def test_nothing_is_left_out_forward_where_a_log_lies(lie: str, lake: Lake, ask: Any) -> None:
    LIES[lie](lake)
    lake.put()
    raw = str(lake.folder / "raw" / "t.csv")
    answer: TraceAnswer = await ask(dataset=raw, rows=[(raw, 4)], forward=True)
    found = [record.row for record in answer.records if record.dataset.endswith("out")]
    assert found == [0] or (found == [] and not answer.exact), answer


async def test_rows_that_a_compaction_numbered_anew_are_not_taken_for_new_ones(lake: Lake, behind: Any, ask: Any) -> None:
    moved = lake.table / "moved.parquet"
    pq.write_table(pq.read_table(moved).drop_columns(["_num", "_ver"]), moved)
    lake.log[2][2] = _add(moved, 100, 2)
    lake.put()
    _read(lake, 3)
    assert "some of its rows have new numbers" in (await behind(0))[1]
    raw = str(lake.folder / "raw" / "t.csv")
    answer: TraceAnswer = await ask(dataset=raw, rows=[(raw, 4)], forward=True)
    assert "some of its rows have new numbers" in " ".join(entry.reason for entry in answer.incomplete)


async def test_a_document_without_end_or_depth_is_refused(lake: Lake, behind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = lake.table / "_delta_log" / f"{1:020}.json"
    commit.write_text('{"add": ' + "[" * 100_000)
    assert "RecursionError" in (await behind(0))[1]
    lake.put()
    for name, bound in (("_ENTRIES", 4), ("_BYTES", 200), ("_TEXT", 100), ("_FILES", 2)):
        with monkeypatch.context() as patched:
            patched.setattr(allowance, name, bound)
            (lake.table / "_delta_log" / "other").write_text(name)  # what was read before counts no more
            found, missing = await behind(0)
        assert "too much to be read" in missing, name
        assert found == []
    (lake.table / "_delta_log" / "other").unlink()
    assert await behind(0) == ([4], "")


async def test_files_that_feed_each_other_in_a_circle_end(lake: Lake, behind: Any) -> None:
    """In the log the new file came first, and its input was in the table before."""
    out = lake.folder / "out" / "part-00000.parquet"
    lake.log[1] = [{"commitInfo": {"operation": "MERGE"}}, _add(out, 100, 1) | {}]
    lake.log[1][1]["add"]["path"] = str(out)
    lake.put()
    found, missing = await behind(0)
    assert (found, bool(missing)) == ([], True)


async def test_rows_that_share_a_number_are_no_record_of_another_file(lake: Lake, behind: Any) -> None:
    shared = lake.table / "moved.parquet"
    _moved(shared, [2] * 5)
    lake.log[2][2] = _add(shared, 100, 2)
    lake.put()
    _read(lake, 3)
    assert await behind(2) == ([2], ""), "alone, it has the number of that record"
    assert "have one number" in (await behind(*range(5)))[1]


# Iceberg: metadata name other metadata.


def _iceberg(folder: Path, manifest_list: str, *, following: int | None = None, **snapshot: Any) -> Path:
    (folder / "metadata").mkdir(parents=True, exist_ok=True)
    known = {"next-row-id": following, "snapshots": [{"snapshot-id": 1, "sequence-number": 1, "manifest-list": manifest_list, **snapshot}]}
    (folder / "metadata" / "v1.metadata.json").write_text(json.dumps(known))
    return folder


def _avro(path: Path, fields: dict[str, Any], records: Iterator[dict[str, Any]] | list[dict[str, Any]], codec: str = "deflate") -> str:
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}
    packed = io.BytesIO()
    fastavro.writer(packed, fastavro.parse_schema(schema), records, codec=codec, sync_interval=1 << 30)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed.getvalue())
    return f"file:{path}"


def _rows(table: Path, root: Path) -> TableRows | None:
    return TableCache().get_rows(DataRoots.of([root]).look(), "iceberg", f"file:{table}")


def test_metadata_lead_to_nothing_outside_of_the_roots(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = _avro(tmp_path / "secret.avro", {"manifest_path": "string"}, [{"manifest_path": "x"}])
    (root / "link.avro").parent.mkdir()
    (root / "link.avro").symlink_to(tmp_path / "secret.avro")
    for place in (outside, f"file:{root}/t/../../secret.avro", f"file:{root}/link.avro", "file:/proc/self/environ", "s3://other/m.avro"):
        with pytest.raises(UnsupportedError, match=r"not readable here|not on a local|root|not named"):
            _rows(_iceberg(root / "t", place), root)
    inside = _avro(root / "list.avro", {"manifest_path": "string"}, [{"manifest_path": outside}])
    with pytest.raises(UnsupportedError, match="not readable here"):
        _rows(_iceberg(root / "t", inside), root)


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy"])
def test_what_unpacks_to_more_than_a_bound_is_refused_before_it_does(codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"manifest_path": "string", "content": "int"}
    large = [{"manifest_path": "x" * 1000, "content": 1}] * 100
    made = _avro(tmp_path / "list.avro", fields, large, codec)
    assert (found := _rows(_iceberg(tmp_path / "t", made), tmp_path)) is not None
    assert not found.files
    monkeypatch.setattr(allowance, "_UNPACKED", 50_000)
    with pytest.raises(UnsupportedError, match="once they are unpacked"):
        _rows(tmp_path / "t", tmp_path)


def test_a_packed_document_is_unpacked_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t" / "metadata").mkdir(parents=True)
    with gzip.open(tmp_path / "t" / "metadata" / "v1.gz.metadata.json", "wb") as packed:
        packed.write(b'{"snapshots": []}' + b" " * 5_000_000)
    monkeypatch.setattr(allowance, "_TEXT", 1 << 20)
    with pytest.raises(UnsupportedError, match="1 MB in one document"):
        _rows(tmp_path / "t", tmp_path)


@pytest.mark.parametrize("damage", [b"", b"Obj\x01", b'Obj\x01\x02\x16avro.schema\x06"x"\x00' + b"m" * 16, b"[" * 100_000])
def test_a_damaged_list_is_named(damage: bytes, tmp_path: Path) -> None:
    (tmp_path / "list.avro").write_bytes(damage)
    with pytest.raises((UnsupportedError, OSError), match=r"cannot be read"):
        _rows(_iceberg(tmp_path / "t", f"file:{tmp_path}/list.avro"), tmp_path)


@pytest.mark.parametrize(
    "metadata", ['{"snapshots": 3}', '{"snapshots": [' + "[" * 100_000, "\x00", '{"snapshots": [{"snapshot-id": 1e999}]}']
)
def test_damaged_metadata_are_named(metadata: str, tmp_path: Path) -> None:
    _iceberg(tmp_path / "t", "x")
    (tmp_path / "t" / "metadata" / "v1.metadata.json").write_text(metadata)
    with pytest.raises(UnsupportedError, match=r"metadata of .* cannot be read"):
        _rows(tmp_path / "t", tmp_path)


def _appended(folder: Path, *, replaces: bool = False, first: int | None = None, following: int | None = None) -> TableRows:
    """A table of a commit that calls itself an append; its one new file has one row, of number `first`."""
    data = {"type": "record", "name": "d", "fields": [{"name": "file_path", "type": "string"}, {"name": "record_count", "type": "long"},
                                                      {"name": "file_size_in_bytes", "type": "long"}]}  # fmt: skip
    files = [(1, "new")] + ([(2, "old")] if replaces else [])
    entries = [
        {"status": status, "data_file": {"file_path": f"/{name}.parquet", "record_count": 1, "file_size_in_bytes": 1}}
        for status, name in files
    ]
    manifest = _avro(folder / "m.avro", {"status": "int", "data_file": data}, entries)
    fields: dict[str, Any] = {"manifest_path": "string", "content": "int", "sequence_number": "long", "added_snapshot_id": "long"}
    entry = {"manifest_path": manifest, "content": 0, "sequence_number": 1, "added_snapshot_id": 1, "first_row_id": first}
    made = _avro(folder / "l.avro", {**fields, "first_row_id": ["null", "long"]}, [entry])
    found = _rows(_iceberg(folder / "t", made, summary={"operation": "append"}, following=following), folder)
    assert found is not None
    return found


def test_a_commit_that_took_files_out_is_none_that_only_appends(tmp_path: Path) -> None:
    assert _appended(tmp_path / "a").files["file:/new.parquet"].is_rewrite is False
    assert _appended(tmp_path / "b", replaces=True).files["file:/new.parquet"].is_rewrite is True


@pytest.mark.parametrize(
    ("first", "following", "counts"), [(7, 8, True), (7, None, True), (8, 8, False), (-1, 8, False), (2**63 - 1, None, False)]
)
def test_a_file_of_iceberg_with_numbers_that_the_table_never_gave_is_left_out(
    first: int, following: int | None, tmp_path: Path, *, counts: bool
) -> None:
    assert bool(_appended(tmp_path, first=first, following=following).files) is counts


def test_what_was_read_counts_as_long_as_the_log_is_as_it_was(lake: Lake) -> None:
    known, path = TableCache(), f"file:{lake.table}"
    first = known.get_rows(ANYWHERE.look(), "delta", path)
    assert first is not None
    assert known.get_rows(ANYWHERE.look(), "delta", path) is first
    lake.log.append([{"commitInfo": {"operation": "DELETE"}}, {"remove": {"path": "moved.parquet"}}])
    lake.put()
    second = known.get_rows(ANYWHERE.look(), "delta", path)
    assert second is not None
    assert second.files[block_of(lake.table / "moved.parquet").path].removed_at == 3
    small = TableCache(most_files=1)
    other = lake.folder / "other"
    other.mkdir()
    (lake.table / "_delta_log").rename(other / "_delta_log")
    assert small.get_rows(ANYWHERE.look(), "delta", f"file:{other}") is not None
    assert known.get_rows(ANYWHERE.look(), "delta", path) is None
