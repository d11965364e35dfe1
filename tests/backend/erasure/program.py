"""A program of the histories: it takes steps, separated by `+`, each with a kind and folders. `run` does a step in a session of Spark."""

from __future__ import annotations

import sys
from typing import Any

SCHEMA = "id int, name string, v int"


def run(spark: Any, kind: str, *paths: str) -> None:
    """Read the first folders, and write the last one."""
    from pyspark.sql import functions as f

    *sources, target = paths
    people = (
        spark.read.schema(SCHEMA).parquet(sources[0])
        if sources[0].endswith("parquet")
        else spark.read.schema(SCHEMA).option("header", "true").csv(sources[0])
    )
    mode = "append" if kind == "append" else "overwrite"
    match kind:
        case "clean":  # of the source
            result = people.where("v < 90").withColumn("w", f.col("v") * 2)
        case "append":  # one file of the source
            result = people.select("id", "v")
        case "sum":
            result = spark.read.parquet(sources[0]).groupBy(f.expr("id % 3 AS bucket")).agg(f.sum("v").alias("s"), f.count("*").alias("n"))
        case "join":
            names = spark.read.schema("bucket int, label string").option("header", "true").csv(sources[1])
            result = spark.read.parquet(sources[0]).join(names, f.expr("id % 3 = bucket"), "left").select("id", "v", "label")
        case "sort":
            result = spark.read.parquet(sources[0]).orderBy(f.desc("v"), "id").limit(5)
        case "dims":  # nothing of the people
            result = spark.read.schema("bucket int, label string").option("header", "true").csv(sources[0]).where("bucket < 2")
        case _:
            raise ValueError(kind)
    result.write.mode(mode).parquet(target)


def main(arguments: list[str]) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    session = spark.appName(f"history-{arguments[0]}").getOrCreate()
    for step in " ".join(arguments[1:]).split(" + "):
        run(session, *step.split())
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
