"""Hash each row of four words of new articles.

Usage: shingle.py --tagged FOLDER… --shingles FOLDER
"""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

HASHES = "array_distinct(transform(sequence(1, greatest(size(words) - 3, 1)), i -> xxhash64(concat_ws(' ', slice(words, i, 4)))))"


def main(tagged: list[str], shingles: str) -> None:
    spark = SparkSession.builder.appName("shingle").getOrCreate()
    words = spark.read.parquet(*tagged).withColumn("words", F.split(F.lower("text"), " "))
    words.select("id", "site", "day", "text", F.expr(HASHES).alias("hashes")).write.parquet(shingles)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tagged", nargs="*", default=[])
    parser.add_argument("--shingles")
    options = parser.parse_args()
    main(options.tagged, options.shingles)
