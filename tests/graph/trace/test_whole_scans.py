"""All records of a scan again: each with its reference and its values, from files that are what the run read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import SourceChangedError
from headwater.graph.associations import NONE, pack
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.trace.recompute.spec import make_group_reference, make_key, make_row_reference
from headwater.graph.trace.recompute.whole_scan import WholeScan, make_whole_scan
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.tracer import get_tracer
from tests.graph.jobs import TENANT, Job

COLUMNS = {"k": "bigint", "v": "string", "day": "int"}


@pytest.fixture
def session(store) -> Iterator[Session]:
    with get_tracer(store).session(TENANT) as opened:
        yield opened


def part(folder: Path, rows: list[tuple[int | None, str | None]]) -> Path:
    folder.mkdir(parents=True)
    pq.write_table(
        pa.table({"k": pa.array([k for k, _ in rows], pa.int64()), "v": pa.array([v for _, v in rows], pa.string())}), folder / "p.parquet"
    )
    return folder / "p.parquet"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    part(tmp_path / "t" / "day=1", [(1, "a"), (None, "b")])
    part(tmp_path / "t" / "day=2", [(3, None)])
    part(tmp_path / "t" / "day=__HIVE_DEFAULT_PARTITION__", [(4, "d")])
    return tmp_path / "t"


def whole(session: Session, job: Job, table: Path, out: Path, wanted: dict[str, str]) -> WholeScan:
    """The scan of a table, asked for some of its columns; `a1` is k, `a2` v, `a3` day."""
    scan = job.scan(table, "parquet", COLUMNS, partition_columns=["day"])
    job.write(scan, out, "parquet", ["k"])
    known: Capture = session.get_capture(job.capture)
    return make_whole_scan(
        session, known, known.plan.operators[scan.operator], {scan.columns[name][0]: kind for name, kind in wanted.items()}
    )


def test_each_record_has_its_reference_its_values_and_those_of_its_folder(session, store, table, tmp_path) -> None:
    found = whole(session, Job(store, "j"), table, tmp_path / "out", COLUMNS)
    rows = session.database.execute(f"SELECT ref, a1, a2, a3 FROM {found.sql}").fetchall()
    assert sorted(rows) == [
        (pack(0, 0), 1, "a", 1),
        (pack(0, 1), None, "b", 1),
        (pack(1, 0), 3, None, 2),
        (pack(2, 0), 4, "d", None),
    ]
    found.check()


def test_a_scan_that_read_no_file_has_no_record(session, store, tmp_path) -> None:
    (tmp_path / "t").mkdir()
    found = whole(session, Job(store, "j"), tmp_path / "t", tmp_path / "out", {"k": "bigint"})
    described = session.database.execute(f"DESCRIBE SELECT ref, a1 FROM {found.sql}").fetchall()
    assert [(name, kind) for name, kind, *_ in described] == [("ref", "BIGINT"), ("a1", "BIGINT")]
    assert session.database.execute(f"FROM {found.sql}").fetchall() == []


def test_a_file_that_is_not_what_it_was_is_named(session, store, table, tmp_path) -> None:
    job = Job(store, "j")
    scan = job.scan(table, "parquet", COLUMNS, partition_columns=["day"])
    job.write(scan, tmp_path / "out", "parquet", ["k"])
    os.utime(table / "day=2" / "p.parquet", (1, 1))
    known = session.get_capture(job.capture)
    with pytest.raises(SourceChangedError, match=r"/day=2/p\.parquet: it has changed since the run"):
        make_whole_scan(session, known, known.plan.operators[scan.operator], {scan.columns["k"][0]: "bigint"})


def test_a_file_that_is_written_while_it_is_read_is_seen_afterwards(session, store, table, tmp_path) -> None:
    found = whole(session, Job(store, "j"), table, tmp_path / "out", {"k": "bigint"})
    found.check()
    os.utime(table / "day=1" / "p.parquet", (1, 1))
    with pytest.raises(SourceChangedError, match=r"/day=1/p\.parquet"):
        found.check()


def test_values_of_another_type_than_spark_read_are_refused(session, store, table, tmp_path) -> None:
    with pytest.raises(Untranslatable, match=r"k, which was read as string, is not just that in .*BIGINT"):
        whole(session, Job(store, "j"), table, tmp_path / "out", {"k": "string"})


@pytest.mark.parametrize("read", [True, False])  # whether it is of the schema that the job read with
@pytest.mark.parametrize("name", ["file_index", "File_Row_Number"])
def test_a_column_by_the_name_of_one_of_duckdbs_own_is_refused(session, store, tmp_path, name, read) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"k": [1], name: [2]}), tmp_path / "t" / "p.parquet")
    job = Job(store, "j")
    scan = job.scan(tmp_path / "t", "parquet", {"k": "bigint"} | ({name: "bigint"} if read else {}))
    job.write(scan, tmp_path / "out", "parquet", ["k"])
    known = session.get_capture(job.capture)
    with pytest.raises(Untranslatable, match=name):
        make_whole_scan(session, known, known.plan.operators[scan.operator], {scan.columns["k"][0]: "bigint"})


AMBIGUOUS = {6768574230986378843, -4868686476189106176}  # docs/guide/semantics.md: capture reports rows with these keys as missing
KEYS = st.integers(-(2**63) + 1, 2**63 - 1).filter(lambda key: key not in AMBIGUOUS)


@given(st.lists(st.one_of(st.none(), KEYS, st.sampled_from([0, 1, -1])), min_size=1))
def test_a_reference_tells_the_key_that_it_was_made_of(keys: list[int | None]) -> None:
    listed = ", ".join(f"({'NULL' if key is None else key}::BIGINT)" for key in keys)
    rows = duckdb.execute(
        f"SELECT k, {make_group_reference(make_row_reference('k'))}, {make_key(make_key('k'))}, "
        f"{make_row_reference('k')} FROM (VALUES {listed}) t(k)"
    ).fetchall()
    assert all(back == key == again for key, back, again, _ in rows)
    assert NONE not in {reference for key, *_, reference in rows if key is None}
