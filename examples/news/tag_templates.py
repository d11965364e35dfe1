"""Remove the lines of templates from new articles. Templates are found at night, so an article has those of the days before.

Usage: tag_templates.py --articles FILE… --templates FOLDER… --tagged FOLDER
"""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(articles: list[str], templates: list[str], tagged: str) -> None:
    spark = SparkSession.builder.appName("tag_templates").getOrCreate()
    new = spark.read.json(articles, schema="id long, site string, day int, text string")
    lines = new.select("id", "site", "day", F.posexplode(F.split("text", "\n")).alias("place", "line"))
    if templates:
        known = spark.read.parquet(*templates)
        is_template = (lines.site == known.site) & (lines.line == known.line) & (known.since < lines.day)
        lines = lines.join(known, is_template, "left_anti")
    rest = lines.groupBy("id", "site", "day").agg(F.sort_array(F.collect_list(F.struct("place", "line"))).alias("lines"))
    rest.select("id", "site", "day", F.array_join(F.col("lines.line"), " ").alias("text")).write.parquet(tagged)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--articles", nargs="*", default=[])
    parser.add_argument("--templates", nargs="*", default=[])
    parser.add_argument("--tagged")
    options = parser.parse_args()
    main(options.articles, options.templates, options.tagged)
