"""Columns go on where no plan shows it: through batches of a stream, commands that change the columns of a table, and change feeds.

And what is not known has a name of its own, and a problem in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader

from headwater.spark_listener.capture import Bridge
from tests import connectors
from tests.jvm import PATIENTLY, start_with
from tests.oracle.laboratory import INTERPRETED
from tests.spark_listener.delta import SETTINGS
from tests.spark_listener.test_running_queries import Told

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

_ICEBERG = {
    "spark.sql.extensions": f"{SETTINGS['spark.sql.extensions']},org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
}
_MODES = ["auto", *(pytest.param(mode, marks=pytest.mark.torture) for mode in ("coarse", "active", "lazy"))]


class World:
    """A session, and a scribe that reports its runs."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        spark.createDataFrame([(i, i * 10) for i in range(4)], "id long, v long").coalesce(1).write.parquet(f"{folder}/in/s")
        spark.createDataFrame([(i, f"n{i}") for i in range(4)], "id long, name string").coalesce(1).write.parquet(f"{folder}/in/dim")

    def told(self, mode: str, action: Callable[[], object]) -> list[dict[str, Any]]:
        """The ends of the runs of an action, in one mode."""
        folder = self.folder / f"told_{mode}_{len(list(self.folder.glob('told_*')))}"
        told = Told(folder)
        bridge = Bridge.install(self.spark, mode=mode, segments=str(folder / "segments"), budget=1.0)
        try:
            action()
            assert bridge.flush(PATIENTLY)
            while events := bridge.drain(500):
                for event in events:
                    told.scribe.take(event)
        finally:
            bridge.close()
        return [item.body for item in told.folder.pending() if item.body.get("eventType") in ("COMPLETE", "ABORT", "FAIL")]


def columns(events: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """By the last part of an output's name, in the last event that writes it: each column with what it is made of."""
    return {
        Path(output["name"]).name: _columns(output["facets"].get("columnLineage", {})) for event in events for output in event["outputs"]
    }


def _columns(facet: Mapping[str, Any]) -> dict[str, list[str]]:
    fields = facet.get("fields", {})
    return {name: sorted(f"{Path(one['name']).name}.{one['field']}" for one in made["inputFields"]) for name, made in fields.items()}


def schema(event: Mapping[str, Any]) -> list[str]:
    return [field["name"] for output in event["outputs"] for field in output["facets"].get("schema", {}).get("fields", ())]


def problems(event: Mapping[str, Any]) -> list[str]:
    return [problem["reason"] for problem in event["run"]["facets"]["headwater_capture"]["problems"]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("changes")
    start_with(connectors.submitted())
    conf = {**SETTINGS, **_ICEBERG, **connectors.CONF, **INTERPRETED, "spark.sql.shuffle.partitions": "2"}
    conf |= {"spark.sql.catalog.lake.warehouse": f"{folder}/lake", "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    spark = SparkSession.builder.master("local[2]").appName("changes").config("spark.ui.enabled", "false").config(map=conf).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield World(spark, folder)
    spark.stop()


@pytest.mark.parametrize("mode", _MODES)
def test_what_foreach_batch_writes_has_the_columns_of_the_stream(world: World, mode: str) -> None:
    spark, folder, out = world.spark, world.folder, world.folder / f"streams_{mode}"
    spark.range(2).selectExpr("id", "id AS v").write.format("delta").save(f"{out}/merged")
    merge = f"MERGE INTO delta.`{out}/merged` t USING b ON t.id = b.id WHEN MATCHED THEN UPDATE SET v = b.v WHEN NOT MATCHED THEN INSERT *"

    def fold(batch: DataFrame, _: int) -> None:
        batch.select("id", (f.col("v") + 1).alias("w")).write.mode("append").parquet(f"{out}/plain")
        batch.persist()
        batch.join(spark.read.parquet(f"{folder}/in/dim"), "id").write.mode("append").parquet(f"{out}/joined")
        batch.createOrReplaceTempView("b")
        batch.sparkSession.sql("SELECT v * 2 AS twice FROM b").write.mode("append").parquet(f"{out}/viewed")
        batch.sparkSession.sql(merge)
        batch.unpersist()
        assert len(batch.collect()) == 4

    stream = spark.readStream.schema("id long, v long").parquet(f"{folder}/in/s").groupBy("id").agg(f.sum("v").alias("v"))

    def start() -> None:
        into = stream.writeStream.outputMode("update").foreachBatch(fold).option("checkpointLocation", f"{out}/checkpoint")
        into.trigger(availableNow=True).start().awaitTermination()

    *_, last = world.told(mode, start)
    assert columns([last]) == {
        "plain": {"id": ["s.id"], "w": ["s.v"]},
        "joined": {"id": ["s.id"], "v": ["s.v"], "name": ["dim.name"]},
        "viewed": {"twice": ["s.v"]},
        "merged": {"id": ["merged.id", "s.id"], "v": ["merged.v", "s.v"]},
    }
    assert sorted(Path(source["name"]).name for source in last["inputs"]) == ["dim", "merged", "s"]
    assert not [problem for problem in problems(last) if "columns" in problem]


# Each command with the columns that the table has then, in their order, and those that had another name before.
_SAME = {"id": "id", "kk": "kk", "n": "n"}
_CHANGES: dict[str, tuple[str, dict[str, str | None]]] = {
    "ALTER TABLE {t} RENAME COLUMN k TO kk": ("both", {"id": "id", "kk": "k", "n": "n"}),
    "ALTER TABLE {t} ADD COLUMNS (x int, st struct<a:int>)": ("both", {**_SAME, "x": None, "st": None}),
    "ALTER TABLE {t} RENAME COLUMN st.a TO b": ("both", {**_SAME, "x": "x", "st": "st"}),
    "ALTER TABLE {t} DROP COLUMNS (x, st)": ("both", _SAME),
    "ALTER TABLE {t} ALTER COLUMN n FIRST": ("both", {"n": "n", "id": "id", "kk": "kk"}),
    "ALTER TABLE {t} ALTER COLUMN n TYPE bigint": ("lake", {"n": "n", "id": "id", "kk": "kk"}),
    "ALTER TABLE {t} REPLACE COLUMNS (id int, kk string)": ("both", {"id": "id", "kk": "kk"}),
}


@pytest.mark.parametrize("kind", ["delta", "lake"])
@pytest.mark.parametrize("mode", _MODES)
def test_columns_go_on_when_a_table_is_altered(world: World, mode: str, kind: str) -> None:
    out = world.folder / f"altered_{mode}_{kind}"
    table = f"delta.`{out}/t`" if kind == "delta" else f"lake.{mode}.t"
    named = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" if kind == "delta" else ""
    world.spark.sql(f"CREATE TABLE {table} (id int, k string, n int) USING {'delta' if kind == 'delta' else 'iceberg'}{named}")
    chosen = {command: then for command, (of, then) in _CHANGES.items() if of in ("both", kind)}
    if kind == "lake":  # the catalog drops the columns and adds others of the same names
        chosen = {command: dict.fromkeys(then) if "REPLACE" in command else then for command, then in chosen.items()}
    events = world.told(mode, lambda: [world.spark.sql(command.format(t=table)) for command in chosen])
    made = [columns([event])["t"] for event in events]
    assert made == [{new: [f"t.{old}"] for new, old in then.items() if old} for then in chosen.values()]
    assert [schema(event) for event in events] == [list(then) for then in chosen.values()]
    assert [event["inputs"] for event in events] == [[]] * len(events)


def test_columns_go_on_in_tables_of_the_session_clones_and_restored_tables(world: World) -> None:
    sql, out = world.spark.sql, world.folder / "others"
    before = f"CREATE TABLE delta.`{out}/source` (id int, k string) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    commands = [
        "CREATE TABLE old (id int, k string) USING parquet",
        "ALTER TABLE old ADD COLUMNS (z int)",
        "ALTER TABLE old RENAME TO new",
        "CREATE TABLE alike LIKE new",
        f"CREATE TABLE delta.`{out}/clone` SHALLOW CLONE delta.`{out}/source`",
        f"ALTER TABLE delta.`{out}/source` RENAME COLUMN k TO kk",
        f"RESTORE TABLE delta.`{out}/source` TO VERSION AS OF 0",
    ]
    sql(before)
    events = [event for event in world.told("auto", lambda: [sql(command) for command in commands]) if event["outputs"]]
    assert [columns([event]) for event in events] == [
        {"old": {}},
        {"old": {"id": ["old.id"], "k": ["old.k"]}},
        {"new": {name: [f"old.{name}"] for name in ("id", "k", "z")}},
        {"alike": {}},
        {"clone": {"id": ["source.id"], "k": ["source.k"]}},
        {"source": {"id": ["source.id"], "kk": ["source.k"]}},
        {"source": {}},
    ]
    assert [Path(source["name"]).name for source in events[4]["inputs"]] == ["source"]
    assert schema(events[-1]) == ["id", "k"]


def test_a_command_that_fails_carries_no_column(world: World) -> None:
    world.spark.sql("CREATE TABLE lake.db.failing (id int) USING iceberg")

    def narrow() -> None:
        with pytest.raises(Exception, match=r"(?i)cannot|incompatible"):
            world.spark.sql("ALTER TABLE lake.db.failing ADD COLUMN must int NOT NULL")

    assert [made for made in columns(world.told("auto", narrow)).values() if made] == []


@pytest.mark.parametrize("mode", _MODES)
def test_a_change_feed_is_its_table_and_its_own_columns_are_none(world: World, mode: str) -> None:
    spark, out = world.spark, world.folder / f"feed_{mode}"
    spark.sql(f"CREATE TABLE delta.`{out}/t` (id int, k string) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    spark.sql(f"INSERT INTO delta.`{out}/t` VALUES (1, 'a')")

    def read() -> None:
        feed = {"readChangeFeed": "true", "startingVersion": "0"}
        spark.read.format("delta").options(**feed).load(f"{out}/t").write.parquet(f"{out}/batch")
        into = spark.readStream.format("delta").options(**feed).load(f"{out}/t").writeStream.format("parquet")
        into = into.option("checkpointLocation", f"{out}/checkpoint").trigger(availableNow=True)
        into.start(f"{out}/stream").awaitTermination()

    events = [event for event in world.told(mode, read) if event["outputs"]]
    assert len(events) == 2
    for event in events:
        assert [Path(source["name"]).name for source in event["inputs"]] == ["t"]
        (made,) = columns([event]).values()
        assert {name: of for name, of in made.items() if of} == {"id": ["t.id"], "k": ["t.k"]}
        (source,) = event["inputs"]
        assert [field["name"] for field in source["facets"]["schema"]["fields"]] == ["id", "k"]


class Numbers(DataSource):
    """A source in Python."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "a int"

    def reader(self, schema: Any) -> DataSourceReader:  # Spark names the argument
        class Reader(DataSourceReader):
            def read(self, _: Any) -> Iterator[tuple[int]]:
                yield (1,)

        return Reader()


@pytest.mark.parametrize("mode", _MODES)
def test_a_source_that_nobody_knows_has_a_name_of_its_own(world: World, mode: str) -> None:
    spark, out = world.spark, world.folder / f"unknown_{mode}"
    spark.dataSource.register(Numbers)
    first, second = (spark.read.format("numbers").option("of", number).load() for number in range(2))

    def read() -> None:
        first.write.parquet(f"{out}/one")
        first.write.parquet(f"{out}/again")
        second.write.parquet(f"{out}/other")

    events = world.told(mode, read)
    names = [source["name"] for event in events for source in event["inputs"]]
    assert len(names) == 3
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("unknown/numbers/") for name in names)
    assert all(any("is not known" in problem for problem in problems(event)) for event in events)


_JAVA = """
    package mine;
    import org.apache.spark.rdd.RDD;
    import org.apache.spark.sql.Dataset;
    import org.apache.spark.sql.SQLContext;
    import org.apache.spark.sql.SaveMode;
    import org.apache.spark.sql.sources.BaseRelation;
    import org.apache.spark.sql.types.StructType;

    public class Source implements org.apache.spark.sql.sources.RelationProvider, org.apache.spark.sql.sources.CreatableRelationProvider {
        public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options) {
            return new Rows(context);
        }
        public BaseRelation createRelation(SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset rows) {
            return new Rows(context);
        }
        public static class Rows extends BaseRelation implements org.apache.spark.sql.sources.TableScan {
            private final SQLContext context;
            public Rows(SQLContext context) { this.context = context; }
            public SQLContext sqlContext() { return context; }
            public StructType schema() { return StructType.fromDDL("a int"); }
            public RDD buildScan() { return context.sparkSession().emptyDataFrame().rdd(); }
        }
    }
"""


def test_a_class_of_the_programs_own_gives_its_name_to_no_dataset(world: World) -> None:
    spark, out = world.spark, world.folder / "classes"
    jvm: Any = spark.sparkContext._jvm
    thread = jvm.Thread.currentThread()
    before = thread.getContextClassLoader()
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(before)
    compiler.cook(_JAVA)

    def use() -> None:
        thread.setContextClassLoader(compiler.getClassLoader())
        try:
            spark.read.format("mine.Source").load().write.parquet(f"{out}/one")
            spark.read.format("mine.Source").load().write.parquet(f"{out}/two")
            spark.range(1).write.format("mine.Source").mode("append").save()
        finally:
            thread.setContextClassLoader(before)

    one, two, saved = world.told("auto", use)
    names = [dataset["name"] for dataset in (*one["inputs"], *two["inputs"], *saved["outputs"])]
    assert len(set(names)) == 3
    assert all(name.startswith("unknown/source/") for name in names)
    assert all(any("is not known" in problem for problem in problems(event)) for event in (one, two, saved))
