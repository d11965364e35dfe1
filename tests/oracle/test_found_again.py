"""Groups and matches that are left to the trace: what happens when their source changes, and when finding them would take too long."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from headwater.graph.trace import Semantics
from headwater.graph.trace.recompute import boundary_rows
from headwater.graph.trace.recompute.group_keeper import keep_groups, keep_wanted
from tests.oracle.laboratory import TENANT, laboratory_in
from tests.oracle.typed import SCHEMA, rows, written

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

Query = Callable[[DataFrame, DataFrame], DataFrame]


def _grouped(_: DataFrame, frame: DataFrame) -> DataFrame:
    return frame.groupBy("s").count()


def _matched(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.join(right.filter("b"), "k", "left_semi")


def test_a_source_that_changed_is_said_and_never_read(tmp_path: Path) -> None:
    with laboratory_in(tmp_path, budget=1.0) as laboratory:
        table = written(tmp_path / "t")
        laboratory.spark.read.parquet(str(table)).groupBy("s").count().write.parquet(str(tmp_path / "out"))
        laboratory.publish(laboratory.captured())
        (path,) = (path for path in (tmp_path / "out").glob("*.parquet") if pq.ParquetFile(path).metadata.num_rows)
        assert laboratory.ask(tmp_path / "out", (f"file:{path}", 0), Semantics.INFLUENCE).exact
        pq.write_table(pa.Table.from_pylist(rows(0), SCHEMA), table / "part-0.parquet")
        answer = laboratory.ask(tmp_path / "out", (f"file:{path}", 0), Semantics.INFLUENCE)
        assert not answer.exact
        assert not answer.records
        assert [entry.effect for entry in answer.incomplete if "found again" in entry.reason] == ["missing"]


def test_matches_in_a_source_that_changed_are_missing(tmp_path: Path) -> None:
    with laboratory_in(tmp_path, budget=1.0) as laboratory:
        read = laboratory.spark.read.parquet
        table = written(tmp_path / "t")
        _matched(read(str(written(tmp_path / "u"))), read(str(table))).coalesce(1).write.parquet(str(tmp_path / "out"))
        laboratory.publish(laboratory.captured())
        (path,) = (tmp_path / "out").glob("*.parquet")
        whole = laboratory.ask(tmp_path / "out", (f"file:{path}", 0), Semantics.INFLUENCE)
        assert whole.exact
        pq.write_table(pa.Table.from_pylist(rows(0), SCHEMA), table / "part-0.parquet")
        answer = laboratory.ask(tmp_path / "out", (f"file:{path}", 0), Semantics.INFLUENCE)
        assert [entry.effect for entry in answer.incomplete if "found again" in entry.reason] == ["missing"]
        left = [record for record in whole.records if Path(str(record.file)).parent.name == "u"]
        assert [(record.file, record.row) for record in answer.records] == [(record.file, record.row) for record in left]
        assert len(left) == 1 < len(whole.records)


@pytest.mark.parametrize("query", [_grouped, _matched])
def test_what_is_over_files_of_a_known_run_is_kept_before_it_changes(tmp_path: Path, query: Query) -> None:
    with laboratory_in(tmp_path, budget=1.0) as laboratory:
        written(tmp_path / "raw")
        laboratory.spark.read.parquet(str(tmp_path / "raw")).filter("k > 2").coalesce(1).write.parquet(str(tmp_path / "t"))
        laboratory.publish(laboratory.captured())
        read = laboratory.spark.read.parquet
        query(read(str(tmp_path / "raw")), read(str(tmp_path / "t"))).coalesce(1).write.parquet(str(tmp_path / "out"))
        capture = laboratory.captured()
        laboratory.publish(capture)
        (path,) = (tmp_path / "out").glob("*.parquet")
        before = laboratory.ask(tmp_path / "out", (f"file:{path}", 0), Semantics.INFLUENCE)
        assert before.exact
        assert {Path(str(record.file)).parent.name for record in before.records} == {"raw"}
        assert keep_groups(laboratory.store, TENANT, capture["capture"]) == 1
        assert keep_groups(laboratory.store, TENANT, capture["capture"]) == 0
        for part in (tmp_path / "t").glob("*.parquet"):
            os.utime(part, (1, 1))
        after = laboratory.ask(tmp_path / "out", (f"file:{path}", 0), Semantics.INFLUENCE)
        assert [(record.file, record.row) for record in after.records] == [(record.file, record.row) for record in before.records]


@pytest.mark.parametrize("query", [_grouped, _matched])
def test_what_a_trace_found_at_length_is_kept(tmp_path: Path, query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary_rows, "_AT_LENGTH", 0.0)
    with laboratory_in(tmp_path, budget=1.0) as laboratory:
        read = laboratory.spark.read.parquet
        left, right = written(tmp_path / "t"), written(tmp_path / "u")
        query(read(str(left)), read(str(right))).coalesce(1).write.parquet(str(tmp_path / "out"))
        laboratory.publish(laboratory.captured())
        (path,) = (tmp_path / "out").glob("*.parquet")

        def answers() -> list[set[tuple[str | None, int | None]]]:
            found = [laboratory.ask(tmp_path / "out", (f"file:{path}", row), Semantics.INFLUENCE) for row in range(3)]
            assert all(answer.exact for answer in found)
            return [{(record.file, record.row) for record in answer.records} for answer in found]

        assert laboratory.store.wanted.take() is None
        before = answers()
        wanted = laboratory.store.wanted.take()
        assert wanted is not None
        assert laboratory.store.wanted.take() is None  # asked for three times
        assert keep_wanted(laboratory.store, wanted)
        for part in right.glob("*.parquet"):
            os.utime(part, (1, 1))  # nothing has to be found in it any more
        assert answers() == before


def test_what_would_take_a_trace_too_long_is_written(tmp_path: Path) -> None:
    with laboratory_in(tmp_path, budget=1e-9) as laboratory:
        laboratory.spark.read.parquet(str(written(tmp_path / "t"))).groupBy("s").count().write.parquet(str(tmp_path / "out"))
        capture = laboratory.captured()
        assert not any("derived" in boundary for boundary in capture["boundaries"])
        assert any(segment["boundary"] for segment in capture["segments"])


def test_a_folder_that_is_read_as_it_was_at_two_times_is_not_left_to_traces(tmp_path: Path) -> None:
    with laboratory_in(tmp_path, budget=float("inf")) as laboratory:
        table = tmp_path / "t"
        table.mkdir()
        pq.write_table(pa.table({"k": [1, 2, 1], "v": [10, 20, 50]}), table / "part-0.parquet")
        before = laboratory.spark.read.parquet(str(table))
        pq.write_table(pa.table({"k": [1, 3, 1], "v": [30, 40, 60]}), table / "part-1.parquet")
        after = laboratory.spark.read.parquet(str(table))
        before.groupBy("k").count().join(after.filter("v = 30"), "k").coalesce(1).write.parquet(str(tmp_path / "out"))
        laboratory.publish(laboratory.captured())
        (path,) = (tmp_path / "out").glob("*.parquet")
        assert pq.read_table(path).to_pylist() == [{"k": 1, "count": 2, "v": 30}]
        answer = laboratory.ask(tmp_path / "out", (f"file:{path}", 0), Semantics.INFLUENCE)
        found = {(Path(str(record.file)).name, record.row) for record in answer.records}
        assert answer.exact
        assert found == {("part-0.parquet", 0), ("part-0.parquet", 2), ("part-1.parquet", 0)}
