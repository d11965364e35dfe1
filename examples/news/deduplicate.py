"""Keep the new articles that share less than half of their hashes with each earlier article.

Usage: deduplicate.py --new FOLDER… --old FOLDER… --unique FOLDER
"""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(new: list[str], old: list[str], unique: str) -> None:
    spark = SparkSession.builder.appName("deduplicate").getOrCreate()
    fresh = spark.read.parquet(*new)
    earlier = spark.read.parquet(*new, *old).select(F.col("id").alias("earlier"), F.explode("hashes").alias("hash"))
    hashes = fresh.select("id", F.size("hashes").alias("size"), F.explode("hashes").alias("hash"))
    common = hashes.join(earlier, "hash").filter(F.col("earlier") < F.col("id"))
    copies = common.groupBy("id", "earlier", "size").count().filter(F.col("count") * 2 >= F.col("size"))
    fresh.join(copies, "id", "left_anti").select("id", "site", "day", "text").write.parquet(unique)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--new", nargs="*", default=[])
    parser.add_argument("--old", nargs="*", default=[])
    parser.add_argument("--unique")
    options = parser.parse_args()
    main(options.new, options.old, options.unique)
