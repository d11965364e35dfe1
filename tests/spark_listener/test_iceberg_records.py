"""Records of Iceberg tables: read with data file and position, written, and traced on through other jobs. Real tables, in one session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError

from headwater.errors import UnsupportedError
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from tests.oracle.iceberg_history import lake_in
from tests.oracle.laboratory import TENANT, Laboratory
from tests.spark_listener.iceberg import ids, traced

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning"
    ),  # py4j leaves closing its sockets to the garbage collector
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connector is that of Spark 4.1"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with lake_in(tmp_path_factory.mktemp("lake")) as laboratory:
        yield laboratory


Run = Callable[[str], Mapping[str, Any]]


@pytest.fixture
def run(lake: Laboratory) -> Run:
    """Run a statement; the capture of what it wrote."""

    def run(statement: str) -> Mapping[str, Any]:
        lake.spark.sql(statement)
        captures = lake.take()
        return captures[-1] if captures else {}

    return run


def _write(lake: Laboratory, query: str, name: str) -> Mapping[str, Any]:
    lake.spark.sql(query).write.parquet(f"{lake.folder}/{name}")
    (capture,) = lake.take()
    return capture


def _ids(lake: Laboratory, answer: TraceAnswer) -> set[int]:
    return set(ids(lake, answer))


@pytest.mark.parametrize("made", ["USING iceberg", "USING iceberg PARTITIONED BY (k)", "USING iceberg PARTITIONED BY (bucket(4, id))"])
def test_a_record_is_traced_through_a_table_both_ways(lake: Laboratory, run: Run, made: str) -> None:
    name = f"way{abs(hash(made)) % 1000}"
    created = run(f"CREATE TABLE lake.db.{name} {made} AS SELECT * FROM raw WHERE id < 30")
    assert (created["status"], created["sink"]["format"]) == ("complete", "iceberg")
    read = _write(lake, f"SELECT id, s FROM lake.db.{name} WHERE id IN (4, 7)", f"{name}_out")
    assert read["status"] == "complete"
    answer = traced(lake, f"{name}_out")
    assert (answer.exact, _ids(lake, answer)) == (True, {4, 7})
    within = traced(lake, f"{name}_out", to=str(lake.folder / "lake/db" / name), where="id = 7")
    (record,) = within.records
    assert record.values == {"id": 7, "k": 1, "s": "r2"}
    onward = asyncio.run(
        trace(None, lake.store, TENANT, TraceRequest(dataset=record.dataset, rows=[(str(record.file), int(str(record.row)))], forward=True))
    )
    assert [entry.values for entry in onward.records] == [{"id": 7, "s": "r2"}]
    assert onward.selected[0].values == record.values


def test_the_snapshot_that_was_read_and_that_was_made_are_told(lake: Laboratory, run: Run) -> None:
    first = run("CREATE TABLE lake.db.versions USING iceberg AS SELECT * FROM raw WHERE id < 5")["sink"]["version"]
    second = run("INSERT INTO lake.db.versions SELECT * FROM raw WHERE id = 50")["sink"]["version"]
    made = [str(row[0]) for row in lake.spark.sql("SELECT snapshot_id FROM lake.db.versions.snapshots ORDER BY committed_at").collect()]
    assert made == [first, second]
    now = _write(lake, "SELECT * FROM lake.db.versions", "now")
    before = _write(lake, f"SELECT * FROM lake.db.versions VERSION AS OF {first}", "before")
    assert [capture["sources"][0]["version"] for capture in (now, before)] == [second, first]
    assert [_ids(lake, traced(lake, name)) for name in ("now", "before")] == [{0, 1, 2, 3, 4, 50}, {0, 1, 2, 3, 4}]


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_were_deleted_shift_no_position(lake: Laboratory, run: Run, version: int) -> None:
    name = f"deleted{version}"
    properties = f"'format-version' = '{version}', 'write.delete.mode' = 'merge-on-read'"
    run(f"CREATE TABLE lake.db.{name} USING iceberg TBLPROPERTIES ({properties}) AS SELECT /*+ COALESCE(1) */ * FROM raw")
    run(f"DELETE FROM lake.db.{name} WHERE id % 3 = 1")
    files = {row.content for row in lake.spark.sql(f"SELECT content FROM lake.db.{name}.files").collect()}
    assert files == {0, 1}, "what is deleted is told beside the data"
    for query, vectorized in (("SELECT id, s", "true"), ("SELECT id, s", "false")):
        lake.spark.conf.set("spark.sql.iceberg.vectorization.enabled", vectorized)
        assert _write(lake, f"{query} FROM lake.db.{name} WHERE id % 4 = 0", f"{name}_{vectorized}")["status"] == "complete"
        answer = traced(lake, f"{name}_{vectorized}")
        assert (answer.exact, _ids(lake, answer)) == (True, {i for i in range(60) if i % 4 == 0 and i % 3 != 1})
    lake.spark.conf.unset("spark.sql.iceberg.vectorization.enabled")


@pytest.mark.slow
def test_values_are_found_by_field_though_columns_were_renamed(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.evolved USING iceberg AS SELECT id, k, s FROM raw WHERE id = 8")
    run("ALTER TABLE lake.db.evolved RENAME COLUMN s TO k2")
    run("ALTER TABLE lake.db.evolved DROP COLUMN k")
    run("ALTER TABLE lake.db.evolved RENAME COLUMN k2 TO k")  # the name of another field before
    run("ALTER TABLE lake.db.evolved ADD COLUMN more bigint")
    run("ALTER TABLE lake.db.evolved ALTER COLUMN id TYPE bigint")
    run("INSERT INTO lake.db.evolved SELECT id, s, 5 FROM raw WHERE id = 9")
    _write(lake, "SELECT max(k) m, count(*) n FROM lake.db.evolved", "from_evolved")
    answer = traced(lake, "from_evolved", to=str(lake.folder / "lake/db/evolved"))
    assert answer.exact
    assert sorted((record.values for record in answer.records), key=lambda values: int(str(values["id"]))) == [
        {"id": 8, "k": "r3", "more": None}, {"id": 9, "k": "r4", "more": 5},
    ]  # fmt: skip
    witness = traced(lake, "from_evolved", semantics=Semantics.WITNESS, column="m")
    assert _ids(lake, witness) == {9}


@pytest.mark.slow
def test_a_column_of_structs_is_read_row_by_row_and_not_shown(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.nested USING iceberg AS SELECT id, named_struct('a', k, 'b', array(s)) t FROM raw WHERE id < 10")
    assert _write(lake, "SELECT id, t.b[0] b FROM lake.db.nested WHERE t.a = 1", "from_nested")["status"] == "complete"
    assert _ids(lake, traced(lake, "from_nested")) == {1, 4, 7}
    within = traced(lake, "from_nested", to=str(lake.folder / "lake/db/nested"), where="id = 4")
    assert [record.values for record in within.records] == [{"id": 4}]


@pytest.mark.slow
def test_values_of_all_types_are_what_they_are_beside_references(lake: Laboratory, run: Run) -> None:
    columns = (
        "id, id > 3 flag, k + 0.5f single, k / 3 twice, cast(id AS decimal(30, 2)) exact, s, cast(s AS binary) raw, "
        "DATE '2020-01-01' + id day, TIMESTAMP '2020-01-01 00:00:01' at, nullif(k, 1) hole, "
        "map(s, id) m, array(named_struct('a', k, 'b', nullif(s, 'r4'))) nested"
    )
    run(f"CREATE TABLE lake.db.typed USING iceberg AS SELECT {columns} FROM raw WHERE id < 10")
    query = "SELECT * FROM lake.db.typed WHERE id <> 6"
    assert _write(lake, query, "from_typed")["status"] == "complete"
    with lake.without_capture():
        plain = sorted(map(str, lake.spark.sql(query).collect()))
    assert sorted(map(str, lake.spark.read.parquet(f"{lake.folder}/from_typed").collect())) == plain
    lake.forget()
    assert _ids(lake, traced(lake, "from_typed")) == set(range(10)) - {6}


@pytest.mark.slow
def test_what_changes_its_partition_with_nearly_every_row_is_let_go(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.mixed (id int, k int) USING iceberg PARTITIONED BY (k) "
        "TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')")  # fmt: skip
    query = "SELECT a.id, CAST(b.id % 2 AS int) k FROM raw a CROSS JOIN range(0, {rows}, 1, 1) b WHERE a.id = 1"
    few = run(f"INSERT INTO lake.db.mixed {query.format(rows=20)}")
    assert few["status"] == "complete"
    many = run(f"INSERT INTO lake.db.mixed {query.format(rows=1_100_000)}")
    assert many["status"] != "complete"
    assert "rows of many partitions came mixed" in str(many["problems"])
    assert lake.spark.sql("SELECT k, count(*) FROM lake.db.mixed GROUP BY k ORDER BY k").collect() == [(0, 550_010), (1, 550_010)]
    lake.forget()


@pytest.mark.slow
def test_a_store_that_failed_is_not_asked_for_each_file(lake: Laboratory) -> None:
    jvm: Any = lake.spark.sparkContext._jvm
    gateway: Any = lake.spark.sparkContext._gateway
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    look = jvm.java.lang.Class.forName("headwater.write.iceberg.FileLook", True, loader)
    (at,) = [method for method in look.getDeclaredMethods() if method.getName() == "at"]
    at.setAccessible(True)

    def seen(path: str) -> str:
        arguments = gateway.new_array(jvm.java.lang.Object, 2)
        arguments[0] = jvm.org.apache.hadoop.fs.Path(path)
        arguments[1] = lake.spark.sparkContext._jsc.hadoopConfiguration()
        try:
            return str(at.invoke(None, arguments).getLen())
        except Py4JJavaError as fault:
            return str(fault.java_exception.getCause())

    (lake.folder / "there").write_text("four")
    assert 'No FileSystem for scheme "nowhere"' in seen("nowhere://one/a")
    assert "a look at nowhere://one failed before: " in seen("nowhere://one/b")
    assert "failed before" not in seen("nowhere://two/b")
    assert "FileNotFoundException" in seen(f"file:{lake.folder}/gone")
    assert seen(f"file:{lake.folder}/there") == "4"


@pytest.mark.slow
def test_the_snapshot_of_a_write_is_told_where_a_table_was_rolled_back_and_where_it_is_staged(lake: Laboratory, run: Run) -> None:
    first = run("CREATE TABLE lake.db.staged USING iceberg AS SELECT * FROM raw WHERE id < 2")["sink"]["version"]
    run("INSERT INTO lake.db.staged SELECT * FROM raw WHERE id = 20")
    run(f"CALL lake.system.rollback_to_snapshot('db.staged', {first})")
    written = run("INSERT INTO lake.db.staged SELECT * FROM raw WHERE id = 30")["sink"]["version"]
    snapshots = "SELECT snapshot_id, parent_id FROM lake.db.staged.snapshots ORDER BY committed_at DESC LIMIT 1"
    assert [str(value) for value in lake.spark.sql(snapshots).collect()[0]] == [written, first]
    run("ALTER TABLE lake.db.staged SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    lake.spark.conf.set("spark.wap.id", "w1")
    try:
        staged = run("INSERT INTO lake.db.staged SELECT * FROM raw WHERE id = 40")["sink"]["version"]
    finally:
        lake.spark.conf.unset("spark.wap.id")
    assert [str(value) for value in lake.spark.sql(snapshots).collect()[0]] == [staged, written]
    assert {row.id for row in lake.spark.sql("SELECT id FROM lake.db.staged").collect()} == {0, 1, 30}
    lake.forget()


@pytest.mark.slow
def test_a_table_joined_with_itself_and_cached_is_followed(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.self USING iceberg PARTITIONED BY (k) AS SELECT * FROM raw WHERE id < 12")
    query = "SELECT a.id, count(*) n FROM lake.db.self a JOIN lake.db.self b ON a.k = b.k AND a.id < b.id WHERE a.k = 2 GROUP BY a.id"
    assert _write(lake, query, "from_self")["status"] == "complete"
    assert _ids(lake, traced(lake, "from_self", where="id = 5")) == {5, 8, 11}
    cached = lake.spark.sql("SELECT id, s FROM lake.db.self WHERE k = 0").cache()
    cached.count()
    cached.where("id > 3").write.parquet(f"{lake.folder}/from_cached")
    lake.take()
    assert _ids(lake, traced(lake, "from_cached")) == {6, 9}
    cached.unpersist()


@pytest.mark.slow
def test_the_count_of_a_table_reads_and_lists_its_records(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.counted USING iceberg AS SELECT * FROM raw WHERE id < 6")
    capture = _write(lake, "SELECT count(DISTINCT k) n FROM lake.db.counted WHERE length(s) > 0", "from_counted")
    assert (capture["status"], capture["problems"]) == ("complete", [])
    assert _ids(lake, traced(lake, "from_counted")) == set(range(6))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT file_path FROM lake.db.refused.files", "tables of metadata"),
        ("SELECT id FROM lake.db.orc", "data files of the format ORC"),
        ("SELECT count(*) n FROM lake.db.refused", "SparkLocalScan"),
    ],
)
def test_what_has_no_positions_is_refused_by_name(lake: Laboratory, run: Run, query: str, reason: str) -> None:
    run("CREATE TABLE IF NOT EXISTS lake.db.refused USING iceberg AS SELECT * FROM raw WHERE id < 3")
    run("CREATE TABLE IF NOT EXISTS lake.db.orc (id int) USING iceberg TBLPROPERTIES ('write.format.default' = 'orc')")
    written = run("INSERT INTO lake.db.orc SELECT id FROM raw WHERE id < 3")
    assert (written["status"], written["problems"][0]["operator"]) == ("refused", "Write iceberg")
    capture = _write(lake, query, f"refused{abs(hash(query))}")
    assert capture["status"] == "refused"
    assert capture["problems"][0]["operator"] == "Scan iceberg"
    assert reason in capture["problems"][0]["reason"]


@pytest.mark.slow
def test_a_table_is_asked_by_place_alone(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.asked USING iceberg AS SELECT * FROM raw WHERE id < 3")
    with pytest.raises(UnsupportedError, match="has now is not known here"):
        traced(lake, "lake/db/asked")


@pytest.mark.slow
def test_explaining_a_write_is_no_write(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.explained USING iceberg AS SELECT * FROM raw WHERE id < 3")
    shown = lake.spark.sql("EXPLAIN EXTENDED INSERT INTO lake.db.explained SELECT * FROM raw").collect()[0][0]
    assert "headwater" not in shown
    assert not lake.take()


def test_plans_keep_their_operators_filters_and_splits(lake: Laboratory, run: Run) -> None:
    run("CREATE TABLE lake.db.planned USING iceberg PARTITIONED BY (k) AS SELECT * FROM raw")
    frame = lake.spark.sql("SELECT k, count(*) n FROM lake.db.planned WHERE id > 7 AND k < 2 GROUP BY k")

    def scans(out: str) -> list[str]:
        frame.write.parquet(f"{lake.folder}/{out}")
        store = lake.spark._jsparkSession.sharedState().statusStore()
        described = store.executionsList().last().physicalPlanDescription()
        return [line.strip(" +-:*()0123456789") for line in described.splitlines() if "BatchScan" in line and "filters=" in line]

    captured = scans("planned_captured")
    lake.take()
    with lake.without_capture():
        plain = scans("planned_plain")
    lake.forget()
    assert plain
    assert [line.split("filters=")[1] for line in captured] == [line.split("filters=")[1] for line in plain]
