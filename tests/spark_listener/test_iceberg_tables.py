"""What Iceberg tables go through in their lives, and the records of those who read them meanwhile: deletes of every kind, other partitions,
branches, compaction, snapshots that expire. Real tables, in one session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyspark
import pytest

from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.model import node_id
from headwater.graph.trace import Semantics, TraceAnswer
from headwater.graph.trace.version_diff.answer import DiffRequest
from headwater.graph.trace.version_diff.engine import diff
from tests.oracle.iceberg_history import delete_equal, lake_in
from tests.oracle.laboratory import TENANT, Laboratory
from tests.spark_listener.iceberg import ids, traced

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connector is that of Spark 4.1"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with lake_in(tmp_path_factory.mktemp("lake"), compiled=False) as laboratory:
        yield laboratory


Run = Callable[[str], Mapping[str, Any]]


@pytest.fixture
def run(lake: Laboratory) -> Run:
    """Run a statement; the capture of what it wrote last, which is whole."""

    def run(statement: str) -> Mapping[str, Any]:
        lake.spark.sql(statement)
        captures = lake.take()
        assert all((capture["status"], capture["problems"]) == ("complete", []) for capture in captures), captures
        return captures[-1] if captures else {}

    return run


def _compared(lake: Laboratory, folder: str, before: str, after: str) -> set[tuple[str, int]]:
    """The `id` of each record in which two snapshots differ."""
    request = DiffRequest(dataset=str(lake.folder / folder), before=before, after=after, key=["id"])
    found = asyncio.run(diff(None, lake.store, TENANT, request))
    assert found.exact, found.incomplete
    place = [name for name, _ in found.columns].index("id")
    return {(str(entry.change), (entry.after or entry.before).values[place]) for entry in found.entries}  # type: ignore[union-attr]


def _read(lake: Laboratory, query: str, name: str) -> TraceAnswer:
    """Write what a query reads, and trace all of it."""
    lake.spark.sql(query).write.parquet(f"{lake.folder}/{name}")
    (capture,) = lake.take()
    assert (capture["status"], capture["problems"]) == ("complete", [])
    answer = traced(lake, name)
    assert answer.exact, answer.incomplete
    return answer


@pytest.mark.slow
@pytest.mark.parametrize("vectorized", ["true", pytest.param("false", marks=pytest.mark.torture)])
def test_rows_that_an_equality_delete_takes_are_no_records(lake: Laboratory, run: Run, vectorized: str) -> None:
    name = f"equal_{vectorized}"
    run(f"CREATE TABLE lake.db.{name} USING iceberg AS SELECT /*+ COALESCE(1) */ * FROM raw WHERE id < 12")
    delete_equal(lake, f"lake.db.{name}", "id", [0, 5, 7])
    run(f"INSERT INTO lake.db.{name} SELECT id - 50, k, s FROM raw WHERE id = 55")  # a 5 again, which is younger than the delete
    run(f"DELETE FROM lake.db.{name} WHERE id = 3")
    lake.spark.conf.set("spark.sql.iceberg.vectorization.enabled", vectorized)
    answer = _read(lake, f"SELECT s FROM lake.db.{name}", f"{name}_out")  # without the column that the delete compares
    lake.spark.conf.unset("spark.sql.iceberg.vectorization.enabled")
    assert ids(lake, answer) == [1, 2, 4, 6, 8, 9, 10, 11, 55]
    run(f"UPDATE lake.db.{name} SET s = 'new' WHERE k = 1")
    run(f"CALL lake.system.rewrite_data_files(table => 'db.{name}', options => map('rewrite-all', 'true'))")
    assert ids(lake, _read(lake, f"SELECT * FROM lake.db.{name} WHERE id <= 5", f"{name}_then")) == [1, 2, 4, 55]


@pytest.mark.slow
def test_files_of_several_partitionings_are_read_and_written(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.parted USING iceberg PARTITIONED BY (k) TBLPROPERTIES ('write.merge.mode' = 'merge-on-read') "
        "AS SELECT * FROM raw WHERE id < 10")  # fmt: skip
    run("ALTER TABLE lake.db.parted ADD PARTITION FIELD bucket(4, id)")
    run("INSERT INTO lake.db.parted SELECT * FROM raw WHERE id BETWEEN 10 AND 19")
    run("ALTER TABLE lake.db.parted DROP PARTITION FIELD k")
    run("ALTER TABLE lake.db.parted REPLACE PARTITION FIELD bucket(4, id) WITH truncate(2, s)")
    run("INSERT INTO lake.db.parted SELECT * FROM raw WHERE id BETWEEN 20 AND 29")
    run("MERGE INTO lake.db.parted t USING (SELECT * FROM raw WHERE id % 5 = 0) m ON t.id = m.id WHEN MATCHED AND t.id < 15 THEN "
        "UPDATE SET k = m.k + 3 WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND m.id < 40 THEN INSERT *")  # fmt: skip
    run("DELETE FROM lake.db.parted WHERE id IN (7, 17, 27)")  # copy-on-write
    left = [i for i in range(30) if i not in (7, 17, 27, 15, 20, 25)] + [30, 35]
    assert ids(lake, _read(lake, "SELECT id, k FROM lake.db.parted", "from_parted")) == left
    run("CALL lake.system.rewrite_data_files(table => 'db.parted', options => map('rewrite-all', 'true'))")
    assert ids(lake, _read(lake, "SELECT k, count(*) n FROM lake.db.parted WHERE s IN ('r2', 'r3') GROUP BY k", "grouped")) == [
        2, 3, 8, 12, 13, 18, 22, 23, 28,
    ]  # fmt: skip


def test_a_branch_is_written_and_read_apart_and_taken_over(lake: Laboratory, run: Run) -> None:
    first = run("CREATE TABLE lake.db.branched USING iceberg AS SELECT * FROM raw WHERE id < 4")
    run("ALTER TABLE lake.db.branched CREATE BRANCH audit")
    written = run("INSERT INTO lake.db.branched.branch_audit SELECT * FROM raw WHERE id = 40")
    assert written["sink"]["path"] == first["sink"]["path"]
    assert written["sink"]["table"] == "lake.db.branched"
    head = lake.spark.sql("SELECT snapshot_id FROM lake.db.branched.refs WHERE name = 'audit'").collect()[0][0]
    assert written["sink"]["version"] == str(head)
    assert ids(lake, _read(lake, "SELECT * FROM lake.db.branched", "of_main")) == [0, 1, 2, 3]
    for name, table in (("of_branch", "branched VERSION AS OF 'audit'"), ("by_name", "branched.branch_audit")):
        assert ids(lake, _read(lake, f"SELECT * FROM lake.db.{table}", name)) == [0, 1, 2, 3, 40]
    run("CALL lake.system.fast_forward('db.branched', 'main', 'audit')")
    run("ALTER TABLE lake.db.branched CREATE TAG kept")
    run("DELETE FROM lake.db.branched WHERE id < 3")
    assert ids(lake, _read(lake, "SELECT id FROM lake.db.branched", "then_main")) == [3, 40]
    assert ids(lake, _read(lake, "SELECT id FROM lake.db.branched VERSION AS OF 'kept'", "of_tag")) == [0, 1, 2, 3, 40]


@pytest.mark.slow
def test_row_ids_are_read_beside_records(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.rowed USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.update.mode' = 'copy-on-write') "
        "AS SELECT /*+ COALESCE(1) */ * FROM raw WHERE id < 6")  # fmt: skip
    query = "SELECT id, _row_id FROM lake.db.rowed ORDER BY id"
    before = [tuple(row) for row in lake.spark.sql(query).collect()]
    run("UPDATE lake.db.rowed SET s = 'new' WHERE id = 2")
    run("CALL lake.system.rewrite_data_files(table => 'db.rowed', options => map('rewrite-all', 'true'))")
    assert [tuple(row) for row in lake.spark.sql(query).collect()] == before, "capture keeps what the table says of its rows"
    answer = _read(lake, "SELECT id, _row_id FROM lake.db.rowed WHERE _last_updated_sequence_number > 1", "from_rowed")
    assert ids(lake, answer) == [2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "mode"),
    [
        (2, "copy-on-write"),
        (3, "merge-on-read"),
        pytest.param(3, "copy-on-write", marks=pytest.mark.torture),
        pytest.param(2, "merge-on-read", marks=pytest.mark.torture),
    ],
)
def test_the_witness_of_a_column_stays_narrow_through_rewrites(lake: Laboratory, run: Run, version: int, mode: str) -> None:
    """Each version and each mode once; the torture has all pairs."""
    name = f"narrow_{version}_{mode.partition('-')[0]}"
    run(f"CREATE TABLE lake.db.{name} USING iceberg TBLPROPERTIES ('format-version' = '{version}', 'write.update.mode' = '{mode}') AS "
        "SELECT k, max(id) AS most, count(DISTINCT s) AS kinds, 0 AS changed FROM raw WHERE id < 20 GROUP BY k")  # fmt: skip
    compact = f"CALL lake.system.rewrite_data_files(table => 'db.{name}', options => map('rewrite-all', 'true'))"
    for statement in (compact, f"UPDATE lake.db.{name} SET changed = 1 WHERE k = 1", compact, compact):
        run(statement)
    _read(lake, f"SELECT * FROM lake.db.{name}", f"of_{name}")
    narrow = traced(lake, f"of_{name}", column="most", semantics=Semantics.WITNESS)
    assert narrow.exact, narrow.incomplete
    assert ids(lake, narrow) == [17, 18, 19]
    assert len(traced(lake, f"of_{name}", column="kinds", semantics=Semantics.WITNESS).records) > 3
    assert len(traced(lake, f"of_{name}").records) == 20


@pytest.mark.slow
def test_a_snapshot_is_read_by_time_and_between_others(lake: Laboratory, run: Run) -> None:
    first = run("CREATE TABLE lake.db.timed USING iceberg AS SELECT * FROM raw WHERE id < 3")["sink"]["version"]
    at = lake.spark.sql("SELECT committed_at FROM lake.db.timed.snapshots").collect()[0][0]
    second = run("INSERT INTO lake.db.timed SELECT * FROM raw WHERE id = 30")["sink"]["version"]
    run("DELETE FROM lake.db.timed WHERE id < 2")
    assert ids(lake, _read(lake, f"SELECT * FROM lake.db.timed TIMESTAMP AS OF '{at}'", "at")) == [0, 1, 2]
    added = lake.spark.read.format("iceberg").option("start-snapshot-id", first).option("end-snapshot-id", second).load("lake.db.timed")
    added.write.parquet(f"{lake.folder}/added")
    assert [capture["status"] for capture in lake.take()] == ["complete"]
    assert ids(lake, traced(lake, "added")) == [30]


@pytest.mark.parametrize("version", [2, 3])
def test_a_trace_begins_with_the_rows_of_a_snapshot(lake: Laboratory, run: Run, version: int) -> None:
    name = f"asked_{version}"
    modes = ", ".join(f"'write.{command}.mode' = 'merge-on-read'" for command in ("delete", "update"))
    made = f"USING iceberg PARTITIONED BY (k) TBLPROPERTIES ('format-version' = '{version}', {modes})"
    first = run(f"CREATE TABLE lake.db.{name} {made} AS SELECT * FROM raw WHERE id < 8")
    run(f"ALTER TABLE lake.db.{name} CREATE TAG begin")
    between = run(f"DELETE FROM lake.db.{name} WHERE id IN (1, 2)")
    run(f"UPDATE lake.db.{name} SET s = 'new' WHERE id = 5")
    run(f"INSERT INTO lake.db.{name} SELECT * FROM raw WHERE id = 40")
    run(f"ALTER TABLE lake.db.{name} RENAME COLUMN s TO text")
    rows = lake.spark.sql(f"SELECT snapshot_id, committed_at FROM lake.db.{name}.snapshots ORDER BY committed_at").collect()
    last, folder = str(rows[-1][0]), f"lake/db/{name}"
    at = rows[0][1].astimezone().isoformat()
    for as_of, held in ((first["sink"]["version"], range(8)), ("begin", range(8)), (at, range(8)), (last, [0, 3, 4, 5, 6, 7, 40])):
        answer = traced(lake, folder, as_of=as_of)
        assert (answer.exact, ids(lake, answer)) == (True, list(held)), as_of
        assert len(answer.selected) == len(list(held))
    assert ids(lake, traced(lake, f"{folder}@{last}", where="id > 4 AND s = 'new'")) == [5]
    assert ids(lake, traced(lake, folder, as_of=last, where="id = 2")) == []
    writes = lake.store.catalog.versions.writes(TENANT, node_id("dataset", "file", f"{lake.folder}/{folder}"))
    of_run = traced(lake, folder, as_of=next(write.run for write in writes if write.capture == between["capture"]))
    assert ids(lake, of_run) == [0, 3, 4, 5, 6, 7]
    with pytest.raises(UnsupportedError) as refused:
        traced(lake, folder)
    assert f"@{last}" in str(refused.value.hint)
    for wrong in ("17", "no_such_tag", "2000-01-01"):
        with pytest.raises(NotFoundError):
            traced(lake, folder, as_of=wrong)
    start = str(first["sink"]["version"])
    assert _compared(lake, folder, start, str(between["sink"]["version"])) == {("removed", 1), ("removed", 2)}
    assert _compared(lake, folder, start, last) == _compared(lake, folder, "begin", "now")
    assert _compared(lake, folder, start, last) == {("removed", 1), ("removed", 2), ("changed", 5), ("added", 40)}


@pytest.mark.slow
def test_a_snapshot_of_which_rows_were_deleted_by_value_is_refused_by_name(lake: Laboratory, run: Run) -> None:
    first = run("CREATE TABLE lake.db.by_value USING iceberg AS SELECT /*+ COALESCE(1) */ * FROM raw WHERE id < 6")["sink"]["version"]
    delete_equal(lake, "lake.db.by_value", "id", [0, 5])
    assert ids(lake, traced(lake, "lake/db/by_value", as_of=first)) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(UnsupportedError, match="deleted by their values"):
        traced(lake, "lake/db/by_value", as_of="main")


@pytest.mark.slow
def test_of_a_snapshot_that_expired_records_are_traced_and_not_shown(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.expired USING iceberg AS SELECT * FROM raw WHERE id < 3")
    _read(lake, "SELECT id FROM lake.db.expired WHERE id > 0", "before")
    run("INSERT OVERWRITE lake.db.expired SELECT * FROM raw WHERE id = 50")
    within = traced(lake, "before", to=str(lake.folder / "lake/db/expired"))
    assert sorted(str(record.values) for record in within.records) == ["{'id': 1, 'k': 1, 's': 'r1'}", "{'id': 2, 'k': 2, 's': 'r2'}"]
    run("CALL lake.system.expire_snapshots(table => 'db.expired', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)")
    assert ids(lake, traced(lake, "before")) == [1, 2]  # which file it was is known, though the file is not there
    within = traced(lake, "before", to=str(lake.folder / "lake/db/expired"))
    assert [record.values for record in within.records] == [{}, {}]
    reasons = {entry.effect: entry.reason for entry in within.incomplete}
    assert set(reasons) == {"unreadable", "version"}, "the table holds neither of the records now, and their file is gone"
    assert "cannot be read any more" in reasons["unreadable"]
