"""The Spark program that merges the files of a dataset. A compaction starts it with `headwater run`, like a program of a user.

    merge_program.py ORDER

ORDER is a JSON file: the folders `source` and `target`, the partition columns, and the number of files for each task's partition. Values of
partition columns stay texts, so that the names of partition folders do not change.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(order_file: str) -> None:
    order = json.loads(Path(order_file).read_text(encoding="utf-8"))
    builder = SparkSession.builder.appName("headwater_compact")
    builder = builder.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    for name, value in order["options"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        merged = spark.read.option("mergeSchema", "true").parquet(order["source"]).coalesce(order["files"])
        merged.write.partitionBy(*order["columns"]).parquet(order["target"])
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
