"""Queries that have an operator of every kind between them, and how their plans are described, with all numbers renewed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession, functions

QUERIES = {
    "project and filter": "select k + 1 as n, upper(s) as t from l where v > 2 and s like 'a%'",
    "inner join": "select l.k, r.w from l join r on l.k = r.k and l.v < r.w",
    "outer joins": "select a.k, b.w, c.w as u from l a left join r b on a.k = b.k full outer join r c on b.w = c.w",
    "cross join": "select a.k, b.w from l a cross join r b",
    "semi-join": "select k from l where k in (select k from r where w > 1)",
    "anti-join": "select k from l where not exists (select 1 from r where r.k = l.k)",
    "existence join": "select k from l where v > 3 or exists (select 1 from r where r.k = l.k)",
    "aggregate": "select s, sum(v) as total, count(*) filter (where v > 1) as n, max_by(k, v) as best from l group by s having sum(v) > 2",
    # one DISTINCT alone: Spark numbers several in an order that depends on the numbers of their columns
    "distinct aggregate": "select s, sum(distinct v) filter (where v > 1) as b, sum(v) as c from l group by s",
    "cube": "select s, k, sum(v) as total from l group by cube (s, k)",
    "distinct": "select distinct s, k from l",
    "windows": "select k, row_number() over (partition by s order by v desc nulls last) as n, sum(v) over (partition by s order by v"
    " rows between 2 preceding and current row) as a, avg(v) over (partition by s order by v"
    " range between 1 preceding and unbounded following) as b from l",
    "ranks": "select * from (select k, v, rank() over (partition by s order by v) as n from l) where n <= 2",
    "top of all": "select * from (select k, row_number() over (order by v) as n from l) where n <= 2",
    "union": "select k, s from l union all select w, null from r",
    "except all": "select k from l except all select k from r",
    "intersect": "select k from l intersect select k from r",
    "explode": "select k, word from l lateral view outer explode(split(s, 'b')) as word",
    "pivot": "select * from (select s, k, v from l) pivot (sum(v) for k in (1, 2))",
    "limits": "select * from (select k from l order by v limit 5) order by k limit 3 offset 1",
    "sample": "select * from l tablesample (50 percent) repeatable (7)",
    "scalar subqueries": "select k, (select max(w) from r) as m from l where v > (select avg(v) from l)",
    "correlated scalar subquery": "select k, (select sum(w) from r where r.k = l.k) as m from l",
    "common table expression": "with c as (select s, rand(3) as x from l) select a.x, b.x as y from c a join c b on a.s = b.s",
    "hints": "select /*+ repartition(3, k) */ * from l",
    "rebalance": "select /*+ rebalance(k) */ * from l",
    "range": "select id * 2 as n from range(10)",
    "rows of the program": "select * from values (1, 'a'), (2, 'b') as t(n, s)",
    "no relation": "select 1 as one, current_date() is null as never",
}


def _python_udf(spark: SparkSession) -> DataFrame:
    return spark.table("l").select(functions.udf(lambda s: s * 2, "string")("s").alias("twice"))


def _arrow_udf(spark: SparkSession) -> DataFrame:
    @functions.pandas_udf("long")  # type: ignore[call-overload,untyped-decorator]  # pyspark's stubs know no strings here
    def plus(numbers: pd.Series) -> pd.Series:
        return numbers + 1

    return spark.table("l").select(plus("k").alias("n"))


def _map_in_pandas(spark: SparkSession) -> DataFrame:
    def same(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from frames

    return spark.table("l").mapInPandas(same, "k int, s string, v int")


def _apply_in_pandas(spark: SparkSession) -> DataFrame:
    return spark.table("l").groupBy("s").applyInPandas(lambda frame: frame, "k int, s string, v int")


def _cached(spark: SparkSession) -> DataFrame:
    return spark.table("l").where("v > 1").cache().groupBy("s").count()


def _rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(spark.sparkContext.parallelize([(1, "a")]), "n int, s string").where("n > 0")


FRAMES: dict[str, Callable[[SparkSession], DataFrame]] = {
    "function in Python": _python_udf,
    "function over Arrow": _arrow_udf,
    "map in pandas": _map_in_pandas,
    "apply in pandas": _apply_in_pandas,
    "cached rows": _cached,
    "rows of an RDD": _rows,
    "repartitioned": lambda spark: spark.table("l").repartition(3).sortWithinPartitions("k"),
    "tail": lambda spark: spark.createDataFrame(spark.table("l").offset(2).tail(2)),
}


def prepare(spark: SparkSession, folder: Path) -> None:
    """The relations that the queries read."""
    spark.sql("select * from values (1, 'ab', 3), (2, 'abc', 5), (1, 'b', 1) as t(k, s, v)").write.parquet(str(folder / "l"))
    spark.sql("select * from values (1, 4), (3, 2) as t(k, w)").write.csv(str(folder / "r"))
    spark.read.parquet(str(folder / "l")).createOrReplaceTempView("l")
    spark.read.schema("k int, w int").csv(str(folder / "r")).createOrReplaceTempView("r")


def descriptions(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """The description of each query by its name, in a form that does not change from run to run."""
    frames = {name: spark.sql(text) for name, text in QUERIES.items()} | {name: make(spark) for name, make in FRAMES.items()}
    return {name: _renewed(json.dumps(described(spark, frame)), folder) for name, frame in frames.items()}


def described(session: SparkSession, frame: DataFrame) -> dict[str, Any]:
    """The plan of a frame, as a manifest has it."""
    jvm: Any = session.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    description = jvm.java.lang.Class.forName("headwater.describe.PlanDescription", True, loader)
    (of,) = [method for method in description.getDeclaredMethods() if method.getName() == "of"]
    arguments = jvm.java.util.ArrayList()
    arguments.add(frame._jdf.queryExecution().optimizedPlan())
    arguments.add(None)
    parts = of.invoke(None, arguments.toArray()).parts()
    result: dict[str, Any] = json.loads(jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(parts))
    return result


def _renewed(text: str, folder: Path) -> Any:
    """Numbers of attributes by their first place in the text; nothing of folders, objects and plans that a run makes anew."""
    known: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        kept = found[0][: found.start(1) - found.start()]
        return kept + str(known.setdefault(found[1], len(known)))

    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"@[0-9a-f]{5,}", "@OBJECT", text)
    text = re.sub(r"plan_id=\d+|RDD\[\d+\]", "NUMBER", text)
    text = re.sub(r'(?:#|"attr": |"rows": |"cte": )(\d+)', number, text)
    result = json.loads(text)
    for operator in result["operators"]:
        for listed in ("reads", "sees"):
            if listed in operator:
                operator[listed] = [known.get(str(attribute), -1) for attribute in operator[listed]]
    return result
