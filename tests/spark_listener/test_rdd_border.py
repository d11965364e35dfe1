"""A program whose records go from DataFrames to RDDs and back: it does what it does under Python, and each record is traced across."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]

PROGRAM = """
    import datetime, decimal, sys
    from pyspark.sql import Row, SparkSession, functions as F
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    out = sys.argv[1]
    spark = SparkSession.builder.appName("Border").getOrCreate()
    sc = spark.sparkContext
    sc.setLogLevel("OFF")

    # A file, an RDD, a DataFrame, an RDD, a DataFrame
    spark.read.csv("weather.csv", header=True, inferSchema=True).repartition(3, "origin").write.parquet(f"{out}/clean")
    clean = spark.read.parquet(f"{out}/clean")
    most = clean.groupBy("origin").agg(F.max("wind").alias("top"), F.count("*").alias("n"))
    told = most.rdd.map(lambda row: (row.origin, row.top * 2))
    again = told.toDF(["origin", "twice"]).join(clean, "origin")
    again.rdd.map(lambda row: Row(text=f"{row.origin} {row.twice} {row.wind}")).toDF().write.text(f"{out}/told")
    print(sorted(row.value for row in spark.read.text(f"{out}/told").collect()))

    # Types and nulls as they are
    values = [
        (1, "a", None, decimal.Decimal("1.50"), datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5), b"x", [1, None],
         {"k": 1.0}, Row(inner=Row(x=1, y=None), z="q"), 1.5, True),
        (None,) * 12,
    ]
    schema = "i bigint, s string, n int, d decimal(10,2), day date, at timestamp, raw binary, l array<int>, m map<string,double>, " \\
        "r struct<inner:struct<x:int,y:string>,z:string>, f double, b boolean"
    typed = spark.createDataFrame(values, schema)
    rows = typed.rdd.collect()
    print(rows, rows[0].r.inner.x, rows[0].asDict(True) == typed.collect()[0].asDict(True), type(rows[0].raw).__name__)
    back = spark.createDataFrame(typed.rdd, typed.schema)
    print(back.schema == typed.schema, back.collect() == typed.collect(), back.rdd.getNumPartitions(), typed.rdd.getNumPartitions())
    print(typed.select(F.lit(1).alias("x"), F.lit("two").alias("x")).rdd.first())

    # What is wrong is said as it is
    def tried(name, act):
        try:
            print(name, act())
        except Exception as error:
            lines = str(error).splitlines()
            told = [line.strip() for line in lines if "values are provided" in line or "Error" in line or "[" in line]
            print(name, type(error).__name__, (told or lines)[-1][-160:])

    pairs = sc.parallelize([("a", 1), ("b", 2)], 2)
    long = StructType([StructField("k", StringType()), StructField("v", LongType()), StructField("w", LongType())])
    tried("short", lambda: spark.createDataFrame(pairs, long, verifySchema=False).collect())
    tried("verified", lambda: spark.createDataFrame(pairs, "k string, v string").collect())
    tried("inferred", lambda: typed.rdd.toDF())
    tried("inferred of rows", lambda: typed.select("s", "l", "m", "r").rdd.toDF().dtypes)
    tried("empty", lambda: sc.parallelize([]).toDF())
    tried("mixed", lambda: sc.parallelize([(1,), ("a",)], 1).toDF(["x"]).collect())
    tried("no row", lambda: sc.parallelize([1, 2]).toDF())
    tried("null", lambda: spark.createDataFrame(sc.parallelize([None, (1,)], 1), "x int", verifySchema=False).collect())
    tried("value", lambda: sorted(row.value for row in spark.createDataFrame(sc.parallelize([3, 1]), "int").collect()))
    tried("names", lambda: pairs.toDF(["k", "v"]).where("v > 1").collect())
    tried("limit", lambda: spark.createDataFrame(sc.range(0, 1000, 1, 4).map(lambda n: (n,)), "n bigint").limit(3).collect())
    tried("fails", lambda: clean.select(F.raise_error(F.lit("of the program")).alias("x")).rdd.collect())
    tried("for each", lambda: clean.foreachPartition(lambda rows: [None for _ in rows]))
    tried("count", lambda: clean.rdd.count())
    tried("json", lambda: sorted(clean.toJSON().collect())[0])

    # One row at a time: what is limited, persisted, or sent on again
    numbers = spark.createDataFrame(sc.textFile("numbers.txt", 2).map(lambda line: (int(line), int(line) % 3)), "n int, k int")
    numbers.where("n >= 2").orderBy(F.desc("n")).limit(4).select(F.col("n").cast("string")).write.text(f"{out}/limited")
    kept = numbers.rdd.persist()
    print(kept.count())
    kept.map(lambda row: (row.k, row.n)).reduceByKey(lambda a, b: a + b, 2).map(str).saveAsTextFile(f"{out}/summed")
    numbers.rdd.coalesce(1).map(lambda row: str(row.n)).saveAsTextFile(f"{out}/one")
    asked = numbers.filter("n > 3")
    asked.collect()
    asked.rdd.map(lambda row: str(row.n)).saveAsTextFile(f"{out}/planned")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weather.csv").write_text("origin,wind\nEWR,1.0\nEWR,4.5\nJFK,3.5\nJFK,0.0\n")
    (tmp_path / "numbers.txt").write_text("".join(f"{n}\n" for n in range(10)))
    return tmp_path


def test_records_are_followed_across_the_border_and_the_program_does_what_it_does_without(folder: Path, root: Path) -> None:
    script(folder, "border.py", PROGRAM)
    home, env = folder / "home", environment(root, HEADWATER_RDD_RECORDS="true")
    plain = run(["border.py", "plain"], folder, env)
    ours = run(["-m", "headwater", "run", "--mode", "active", "--home", str(home), "border.py", "ours"], folder, env)
    assert plain.returncode == 0, plain.stderr
    assert (ours.returncode, ours.stdout) == (0, plain.stdout), ours.stderr

    states = _states(logged(home))
    assert states["told"] == ("complete", [])
    assert states["summed"] == ("complete", [])
    assert states["one"] == ("complete", [])
    assert states["limited"] == ("complete", [])
    assert states["planned"][0] == "refused"
    assert "had been planned before" in states["planned"][1][0]

    for name in ("told", "limited", "summed"):
        part = next(part for part in sorted((folder / "ours" / name).glob("part-*")) if part.stat().st_size)
        text = part.read_text().splitlines()[0]
        expected = {
            "told": {"weather.csv": {0, 1} if text.startswith("EWR") else {2, 3}},
            "limited": {"numbers.txt": {int(text)} if text.isdigit() else set()},
            "summed": {"numbers.txt": {n for n in range(10) if str(n % 3) == text[1:2]}},
        }
        assert _records(folder, env, home, folder / "ours" / name, f"{part}:0") == expected[name], text


def _states(events: list[dict[str, Any]]) -> dict[str, tuple[str, list[str]]]:
    """The ledger of each write, by the folder that it wrote."""
    found = {}
    for event in events:
        ledger = event["run"]["facets"].get("headwater_capture")
        for output in event["outputs"] if ledger and event["eventType"] == "COMPLETE" else ():
            found[output["name"].rpartition("/")[2]] = (ledger["status"], [problem["reason"] for problem in ledger["problems"]])
    return found


def _records(folder: Path, env: Mapping[str, str], home: Path, dataset: Path, row: str) -> dict[str, set[int]]:
    """The sources of a record: numbers of records by file."""
    asked = ["trace", str(dataset), "--row", row, "-f", "json", "--limit", "1000", "--home", str(home)]
    done = run(["-m", "headwater", *asked], folder, dict(env))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["exact"], answer
    records: dict[str, set[int]] = {}
    for record in answer["records"]:
        records.setdefault(Path(record["file"]).name, set()).add(record["row"])
    return records
