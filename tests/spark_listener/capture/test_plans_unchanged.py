"""Capture changes no plan: the same physical operators, join strategies, pushed filters and files read, on against off."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from bench.truth.plans import ended
from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY

pytestmark = pytest.mark.spark

_KEPT = (
    "Scan", "Join", "Aggregate", "Exchange", "Window", "Sort", "Union", "EvalPython", "Reuse", "Subquery", "Limit", "TakeOrdered", "Expand",
    "Generate", "Sample", "FlatMap",
)  # fmt: skip
_DESCRIBED = "spark.sql.ui.explainMode"  # how, on the page of Spark's own, from where tests take them


def executed(spark: SparkSession, bridge: Bridge, out: Path, frame: Any) -> tuple[dict[str, Any], list[str], list[str]]:
    """The end of a write, the operators of its final plan (filters and projections apart), and what each scan pushed."""
    assert bridge.flush(PATIENTLY)
    while bridge.drain(0):
        pass
    with _told_whole(spark):
        frame.write.mode("overwrite").parquet(str(out))
    assert bridge.flush(PATIENTLY)
    (end,) = [event for event in bridge.drain(500) if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
    store = spark._jsparkSession.sharedState().statusStore()
    text = ended(store, end["execution"]).physicalPlanDescription()
    adaptive = re.search(r"== (?:Final|Current) Plan ==(.*?)== Initial Plan ==", text, re.DOTALL)
    tree = adaptive[1] if adaptive else text.split("\n\n")[0]
    names = [re.sub(r"[^A-Za-z ]", "", re.sub(r"Statistics.*", "", line)).strip() for line in tree.splitlines()]
    pushed = [line for line in text.splitlines() if line.startswith(("PushedFilters", "PartitionFilters", "Batched"))]
    reused = [re.sub(r"[#\d]+", "", line) for line in names + text.splitlines() if "Reuse" in line and "(" not in line]
    assert pushed, "nothing is told of the scans: this shows nothing"
    return end, [name for name in names if any(kept in name for kept in _KEPT)] + reused, [re.sub(r"#\d+L?", "", line) for line in pushed]


@contextmanager
def _told_whole(spark: SparkSession) -> Iterator[None]:
    """Plans are described with what their scans pushed, and after that as before: other tests compare two sessions."""
    before = spark.conf.get(_DESCRIBED)
    spark.conf.set(_DESCRIBED, "formatted")
    try:
        yield
    finally:
        spark.conf.set(_DESCRIBED, str(before))


NAMED = "SELECT v, name FROM facts JOIN names ON facts.k = names.k"
QUERIES = ["filter", "aggregate", "broadcast", "pruning", "twice", "window", "top", "limit", "sample", "rollup", "distincts", "explode"]
QUERIES += ["ranks", "first", "union", "semi", "anti", "scalar", "merged", "functions of groups"]
ABSENT = (
    f"SELECT a.v, a.name FROM ({NAMED}) a WHERE NOT EXISTS (SELECT 1 FROM ({NAMED} WHERE v < 20) b WHERE b.v = a.v AND b.name = a.name)"
)
REUSED = {
    "absent": ABSENT,
    "grouped": f"SELECT a.v, a.name, n FROM ({NAMED}) a JOIN (SELECT v, count(name) n FROM ({NAMED}) GROUP BY v) b ON a.v = b.v",
    "grouped by both": f"SELECT a.v, a.name, n FROM ({NAMED}) a "
    f"JOIN (SELECT v, name, count(*) n FROM ({NAMED}) GROUP BY v, name) b ON a.v = b.v",
    "grouped and absent": f"SELECT v, name, count(*) n FROM ({ABSENT}) GROUP BY v, name",
}


def rows_read(spark: SparkSession, end: dict[str, Any]) -> list[str]:
    """The rows that each scan of a query put out, as Spark counted them."""
    store = spark._jsparkSession.sharedState().statusStore()
    values, metrics = {}, store.executionMetrics(end["execution"]).iterator()
    while metrics.hasNext():
        entry = metrics.next()
        values[entry._1()] = entry._2()
    read, nodes = [], store.planGraph(end["execution"]).allNodes().iterator()
    while nodes.hasNext():
        node = nodes.next()
        for number in range(node.metrics().size() if node.name().startswith("Scan") else 0):
            metric = node.metrics().apply(number)
            if metric.name() == "number of output rows":
                read.append(str(values.get(metric.accumulatorId())))
    return sorted(read)


class Tables(NamedTuple):
    """The folders that all queries read."""

    facts: str
    names: str


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    made = Tables(*(str(tmp_path_factory.mktemp("plans") / name) for name in Tables._fields))
    numbers = spark.range(4000).selectExpr("id", "id % 5 k", "id * 7 % 101 v", "id % 3 part")
    numbers.sortWithinPartitions("v").write.partitionBy("part").option("parquet.block.size", 4096).parquet(made.facts)
    spark.range(5).selectExpr("id k", "concat('n', id) name").repartition(2).write.parquet(made.names)
    return made


def frame(spark: SparkSession, tables: Tables, query: str) -> DataFrame:
    """A query over the tables, in a session; of the others none is made, as each would be analysed."""
    facts = spark.read.schema("id bigint, k bigint, v bigint, part int").parquet(tables.facts)
    names = spark.read.schema("k bigint, name string").parquet(tables.names)
    facts.createOrReplaceTempView("facts")
    names.createOrReplaceTempView("names")
    per_k = facts.groupBy("k").agg(f.sum("v").alias("t"))
    queries: dict[str, Callable[[], DataFrame]] = {
        "filter": lambda: facts.filter("v > 10 and part = 1").select("id", "v"),
        "aggregate": lambda: facts.filter("v > 10").groupBy("k").agg(f.sum("v"), f.countDistinct("id")),
        "broadcast": lambda: facts.join(names, "k").filter("name like 'n%'").groupBy("name").count(),
        "pruning": lambda: facts.join(names.filter("name = 'n1'"), facts.part == names.k).select(facts.id, "name"),
        "twice": lambda: per_k.join(per_k.withColumnRenamed("t", "u"), "k"),
        "window": lambda: facts.withColumn("m", f.avg("v").over(Window.partitionBy("k").orderBy("v"))).select("id", "m"),
        "semi": lambda: facts.join(names.filter("name <> 'n2'"), facts.k == names.k, "left_semi").select("id"),
        "anti": lambda: facts.join(names.filter("name <> 'n2'"), facts.k == names.k, "left_anti").select("id"),
        "scalar": lambda: facts.filter("v > (select avg(v) from facts) and k = (select max(k) from names where name < 'n3')").select(
            "id", "v"
        ),
        "merged": lambda: facts.selectExpr("id", "(select max(v) from facts) as most", "(select min(v) from facts) as least"),
        "top": lambda: facts.orderBy("v", "id").limit(5).select("id"),
        "limit": lambda: facts.filter("v > 3").select("id").limit(4000),
        "sample": lambda: facts.sample(fraction=0.5, seed=3).select("id"),
        "rollup": lambda: facts.rollup("k", "part").agg(f.sum("v"), f.count("id")),
        "distincts": lambda: facts.groupBy("k").agg(f.countDistinct("v"), f.countDistinct("part"), f.sum("id")),
        "explode": lambda: facts.select("id", f.explode(f.array("k", "v")).alias("x")).groupBy("x").count(),
        "ranks": lambda: (
            facts.withColumn("n", f.row_number().over(Window.partitionBy("k").orderBy("v", "id"))).filter("n <= 3").select("id", "n")
        ),
        "first": lambda: facts.withColumn("n", f.row_number().over(Window.orderBy("v", "id"))).filter("n <= 3").select("id", "n"),
        "few": lambda: facts.join(per_k.filter("t > 5"), "k").select("id", "t"),
        "few windows": lambda: facts.join(per_k.withColumn("r", f.max("t").over(Window.partitionBy("k"))), "k").groupBy("k", "r").count(),
        "first of few": lambda: facts.join(per_k.withColumn("n", f.rank().over(Window.orderBy("t"))).filter("n < 3"), "k").select(
            "id", "n"
        ),
        "pivot": lambda: facts.join(facts.groupBy("k").pivot("part", [0, 1]).agg(f.sum("v")), "k").groupBy("k").count(),
        "functions of groups": lambda: (
            facts.groupBy("k")
            .cogroup(names.groupBy("k"))
            .applyInPandas(lambda left, right: left[["id", "k"]], "id long, k long")
            .groupBy("k")
            .applyInArrow(lambda group: group, "id long, k long")
            .join(names, "k")
        ),
        "union": lambda: facts.select("id").union(facts.filter("k = 1").select("id")).orderBy("id"),
    }
    return spark.sql(REUSED[query]) if query in REUSED else queries[query]()


@pytest.mark.parametrize("aqe", [True, pytest.param(False, marks=pytest.mark.torture)])
@pytest.mark.parametrize("query", QUERIES)
def test_plans_are_the_same(spark: SparkSession, bridge: Bridge, tmp_path: Path, tables: Tables, query: str, aqe: bool) -> None:
    _compare(spark, bridge, tmp_path, tables, query, {"adaptive.enabled": str(aqe).lower()})


@pytest.mark.parametrize("query", ["twice", "few", "few windows", "first of few", "pivot"])
def test_joins_that_turn_out_to_be_small_are_broadcast_as_without_capture(
    spark: SparkSession, bridge: Bridge, tmp_path: Path, tables: Tables, query: str
) -> None:
    operators = _compare(spark, bridge, tmp_path, tables, query, {"adaptive.enabled": "true", "autoBroadcastJoinThreshold": "1500"})
    assert any(name.startswith("BroadcastHashJoin") for name in operators), "nothing turned out to be small: this shows nothing"


@pytest.mark.parametrize("mode", ["active", "lazy"])
@pytest.mark.parametrize("query", REUSED)
def test_a_broadcast_that_is_used_twice_is_made_once(
    spark: SparkSession, bridge: Bridge, tmp_path: Path, tables: Tables, query: str, mode: str
) -> None:
    if mode == "active":
        operators = _compare(spark, bridge, tmp_path, tables, query, {"adaptive.enabled": "true"}, sides=False)
    else:
        session = spark.newSession()
        lazy = Bridge.install(session, mode="lazy", segments=str(tmp_path / "segments"), budget=math.inf)
        try:
            operators = _compare(session, lazy, tmp_path, tables, query, {"adaptive.enabled": "true"}, sides=False)
        finally:
            lazy.close()
    assert any("Reused" in name for name in operators), f"nothing is used twice: this shows nothing: {operators}"


def _compare(
    spark: SparkSession, bridge: Bridge, tmp_path: Path, tables: Tables, query: str, settings: dict[str, str], *, sides: bool = True
) -> list[str]:
    """Compare the operators of a query's plan with and without capture, and return them.

    Without `sides`, the built side of a join may differ, because adaptive execution may take the one that is ready first.

    """
    plain = spark.newSession()
    for session in (spark, plain):
        for name, value in settings.items():
            session.conf.set(f"spark.sql.{name}", value)
        session.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        plain_end, without, pushed = executed(plain, bridge, tmp_path / "out", frame(plain, tables, query))
        expected = sorted(map(str, pq.read_table(tmp_path / "out").to_pylist()))
        end, captured, still_pushed = executed(spark, bridge, tmp_path / "out", frame(spark, tables, query))
        answer = sorted(map(str, pq.read_table(tmp_path / "out").to_pylist()))
    finally:
        for name in settings:
            spark.conf.unset(f"spark.sql.{name}")
    assert (plain_end["capture"], end["capture"]["status"]) == (None, "complete")
    assert answer == expected
    if sides:
        assert captured == without
    assert Counter(map(_sideless, captured)) == Counter(map(_sideless, without))
    assert still_pushed == pushed
    assert rows_read(spark, end) == rows_read(plain, plain_end) != []
    assert end["metrics"]["rows"] == plain_end["metrics"]["rows"]
    return without


def _sideless(operator: str) -> str:
    return operator.removesuffix(" BuildLeft").removesuffix(" BuildRight")
