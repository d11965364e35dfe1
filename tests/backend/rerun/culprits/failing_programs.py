"""Programs that fail at one record, one for each kind of failure: `failing_programs.py KIND FOLDER BAD`. Tests run them as a user's script.

The record is number BAD of `people`, which FOLDER has as CSV, JSON, text and Parquet. Its age is no number, its amount is zero, its
document is no JSON, and its day is no date. In `reports.json` and `damaged.csv`, the record itself cannot be parsed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # the usual name in programs
from pyspark.sql.types import IntegerType

Kind = Callable[[SparkSession, str], Any]
KINDS: dict[str, Kind] = {}
BAD = int(sys.argv[3]) if sys.argv[3:] and sys.argv[3].isdigit() else -1


def kind(function: Kind) -> Kind:
    KINDS[function.__name__] = function
    return function


def people(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.csv(f"{folder}/people.csv", header=True)


def write(frame: DataFrame, folder: str) -> None:
    frame.write.mode("overwrite").parquet(f"{folder}/out")


def ages(spark: SparkSession, folder: str) -> Any:
    """The ages as an RDD of text, without the header."""
    lines = spark.sparkContext.textFile(f"{folder}/people.csv").filter(lambda line: not line.startswith("id"))
    return lines.map(lambda line: line.split("|")[0].split(",")[2])


@kind
def udf_int(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).select("id", F.udf(int, "int")("age").alias("age")), folder)


@kind
def udf_divide(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).select(F.udf(lambda amount: 100 // int(amount), "int")("amount").alias("share")), folder)


@kind
def udf_decorated(spark: SparkSession, folder: str) -> None:
    @F.udf("string")
    def kind_of(document: str) -> str:
        return str(json.loads(document)["kind"])

    write(spark.read.parquet(f"{folder}/people.parquet").select(kind_of("document").alias("kind")), folder)


@kind
def udf_registered(spark: SparkSession, folder: str) -> None:
    spark.udf.register("to_age", int, IntegerType())
    people(spark, folder).createOrReplaceTempView("people")
    write(spark.sql("SELECT id, to_age(age) AS age FROM people"), folder)


@kind
def udf_arrow(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).select(F.udf(int, "int", useArrow=True)("age").alias("age")), folder)


@kind
def udf_in_filter(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).where(F.udf(lambda text: int(text) > 40, "boolean")("age")), folder)


@kind
def udf_after_filter(spark: SparkSession, folder: str) -> None:
    some = people(spark, folder).where(f"id % 3 <> {(BAD + 1) % 3}")
    write(some.select(F.udf(int, "int")("age").alias("age")), folder)


@kind
def udf_of_two_columns(spark: SparkSession, folder: str) -> None:
    share = F.udf(lambda name, amount: len(name) / int(amount), "double")
    write(people(spark, folder).select(share("name", "amount").alias("share")), folder)


@kind
def udf_of_json(spark: SparkSession, folder: str) -> None:
    write(spark.read.json(f"{folder}/people.json").select(F.udf(int, "int")("age").alias("age")), folder)


@kind
def udf_of_text(spark: SparkSession, folder: str) -> None:
    write(spark.read.text(f"{folder}/people.txt").select(F.udf(lambda line: int(line.split(",")[2]), "int")("value").alias("age")), folder)


@kind
def udf_of_null(spark: SparkSession, folder: str) -> None:
    write(spark.read.parquet(f"{folder}/people.parquet").select(F.udf(lambda city: city.upper(), "string")("city").alias("city")), folder)


@kind
def udf_collected(spark: SparkSession, folder: str) -> list[Any]:
    return people(spark, folder).select(F.udf(int, "int")("age")).collect()


@kind
def pandas_series(spark: SparkSession, folder: str) -> None:
    @F.pandas_udf("long")  # type: ignore[call-overload]  # PySpark's types know classes only
    def to_age(age: pd.Series) -> pd.Series:
        return age.astype(int)

    write(people(spark, folder).select("id", to_age("age").alias("age")), folder)


@kind
def pandas_iterator(spark: SparkSession, folder: str) -> None:
    @F.pandas_udf("long")  # type: ignore[call-overload]
    def to_age(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for batch in batches:
            yield batch.astype(int)

    write(people(spark, folder).select(to_age("age").alias("age")), folder)


@kind
def map_in_pandas(spark: SparkSession, folder: str) -> None:
    def parse(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"age": frame["age"].astype(int)})

    write(people(spark, folder).select("age").mapInPandas(parse, "age long"), folder)


@kind
def map_in_arrow(spark: SparkSession, folder: str) -> None:
    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"age": [int(text) for text in batch.column(0).to_pylist()]})

    write(people(spark, folder).select("age").mapInArrow(parse, "age long"), folder)


@kind
def apply_in_pandas(spark: SparkSession, folder: str) -> None:
    def oldest(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"age": [frame["age"].astype(int).max()]})

    write(people(spark, folder).groupBy("day").applyInPandas(oldest, "age long"), folder)


@kind
def pandas_aggregate(spark: SparkSession, folder: str) -> None:
    @F.pandas_udf("double")  # type: ignore[call-overload]
    def mean(age: pd.Series) -> float:
        return float(age.astype(int).mean())

    write(people(spark, folder).groupBy("name").agg(mean("age").alias("mean")), folder)


@kind
def rdd_map(spark: SparkSession, folder: str) -> None:
    ages(spark, folder).map(lambda text: str(int(text))).saveAsTextFile(f"{folder}/out")


@kind
def rdd_filter(spark: SparkSession, folder: str) -> int:
    return int(ages(spark, folder).filter(lambda text: int(text) > 40).count())


@kind
def rdd_flat_map(spark: SparkSession, folder: str) -> list[Any]:
    return list(ages(spark, folder).flatMap(lambda text: range(int(text))).collect())


@kind
def rdd_foreach(spark: SparkSession, folder: str) -> None:
    ages(spark, folder).foreach(int)


@kind
def rdd_accumulator(spark: SparkSession, folder: str) -> None:
    total = spark.sparkContext.accumulator(0)
    ages(spark, folder).foreach(lambda text: total.add(int(text)))


@kind
def rdd_foreach_partition(spark: SparkSession, folder: str) -> None:
    ages(spark, folder).foreachPartition(lambda texts: [int(text) for text in texts] and None)


@kind
def rdd_map_partitions(spark: SparkSession, folder: str) -> list[Any]:
    return list(ages(spark, folder).mapPartitions(lambda texts: [sum(int(text) for text in texts)]).collect())


@kind
def rdd_reduce_by_key(spark: SparkSession, folder: str) -> list[Any]:
    pairs = ages(spark, folder).map(lambda text: (len(text), text))
    return list(pairs.mapValues(int).reduceByKey(lambda one, other: one + other).collect())


@kind
def rdd_sort_by(spark: SparkSession, folder: str) -> list[Any]:
    return list(ages(spark, folder).sortBy(int).take(3))


@kind
def rdd_group(spark: SparkSession, folder: str) -> list[Any]:
    groups = ages(spark, folder).map(lambda text: (text[-1], text)).groupByKey()
    return list(groups.mapValues(lambda texts: max(int(text) for text in texts)).collect())


@kind
def rdd_json(spark: SparkSession, folder: str) -> int:
    lines = spark.sparkContext.textFile(f"{folder}/reports.json")
    return int(lines.map(json.loads).filter(lambda report: report["id"] > 3).count())


@kind
def rdd_lookup(spark: SparkSession, folder: str) -> int:
    known = {str(age): age for age in range(200)}
    return int(ages(spark, folder).map(lambda text: known[text]).filter(bool).count())


@kind
def rdd_of_frame(spark: SparkSession, folder: str) -> list[Any]:
    return people(spark, folder).rdd.map(lambda row: int(row.age)).collect()


@kind
def frame_foreach(spark: SparkSession, folder: str) -> None:
    people(spark, folder).foreach(lambda row: int(row.age))


@kind
def cast(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).select("id", F.col("age").cast("int")), folder)


@kind
def cast_of_parquet(spark: SparkSession, folder: str) -> None:
    write(spark.read.parquet(f"{folder}/people.parquet").select(F.col("age").cast("int")), folder)


@kind
def divide(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).selectExpr("100 / CAST(amount AS INT) AS share"), folder)


@kind
def overflow(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).selectExpr("CAST(large AS INT) AS large"), folder)


@kind
def overflow_of_number(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).selectExpr("CAST(CAST(large AS BIGINT) AS SMALLINT) AS small"), folder)


@kind
def array_index(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).selectExpr("element_at(array(1, 2), CAST(amount AS INT) % 2) AS item"), folder)


@kind
def date(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).select(F.to_date("day", "yyyy-MM-dd").alias("day")), folder)


@kind
def from_json(spark: SparkSession, folder: str) -> None:
    parsed = F.from_json("document", "kind string", {"mode": "FAILFAST"})
    write(spark.read.parquet(f"{folder}/people.parquet").select(parsed.kind.alias("kind")), folder)


@kind
def json_file(spark: SparkSession, folder: str) -> None:
    write(spark.read.schema("id long").option("mode", "FAILFAST").json(f"{folder}/reports.json"), folder)


@kind
def csv_file(spark: SparkSession, folder: str) -> None:
    write(spark.read.schema("id int, age int").option("mode", "FAILFAST").option("header", True).csv(f"{folder}/damaged.csv"), folder)


@kind
def raise_error(spark: SparkSession, folder: str) -> None:
    write(people(spark, folder).selectExpr("if(amount = '0', raise_error(concat('no amount of ', id)), amount) AS amount"), folder)


@kind
def cast_after_join(spark: SparkSession, folder: str) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    cities = spark.read.csv(f"{folder}/cities.csv", header=True)
    joined = people(spark, folder).join(cities, "name")
    write(joined.repartition(3).selectExpr("CAST(age AS INT) + CAST(zip AS INT) AS sum"), folder)


@kind
def divide_of_group(spark: SparkSession, folder: str) -> None:
    groups = people(spark, folder).groupBy("day").agg(F.sum("amount").alias("sum"))
    write(groups.selectExpr("day", "100 / CAST(sum AS INT) AS share"), folder)


@kind
def cast_in_window(spark: SparkSession, folder: str) -> None:
    order = Window.partitionBy("name").orderBy("id")
    write(people(spark, folder).select(F.lag("age").over(order).alias("age")).selectExpr("CAST(age AS INT) AS age"), folder)


@kind
def rows_of_the_program(spark: SparkSession, folder: str) -> list[Any]:
    return spark.sparkContext.parallelize(["x17" if row == BAD else str(row) for row in range(300)], 4).map(int).collect()


@kind
def frame_of_the_program(spark: SparkSession, folder: str) -> None:
    rows = [("x17" if row == BAD else str(row),) for row in range(300)]
    write(spark.createDataFrame(rows, "age string").selectExpr("CAST(age AS INT) AS age"), folder)


@kind
def range_of_the_program(spark: SparkSession, folder: str) -> None:
    write(spark.range(300).selectExpr(f"100 / (id - {BAD}) AS share"), folder)


if __name__ == "__main__":
    KINDS[sys.argv[1]](SparkSession.builder.master("local[2]").getOrCreate(), sys.argv[2])
