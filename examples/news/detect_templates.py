"""Find the lines that a site puts around its articles. A line is a template as soon as four articles of the site have had it.

Usage: detect_templates.py --articles FILE… --templates FOLDER
"""

import argparse

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

LEAST = 4


def main(articles: list[str], templates: str) -> None:
    spark = SparkSession.builder.appName("detect_templates").getOrCreate()
    lines = spark.read.json(articles, schema="id long, site string, day int, text string")
    lines = lines.select("id", "site", "day", F.explode(F.split("text", "\n")).alias("line"))
    order = Window.partitionBy("site", "line").orderBy("day", "id")
    found = lines.withColumn("number", F.row_number().over(order)).filter(F.col("number") == LEAST)
    found.select("site", "line", F.col("day").alias("since")).write.parquet(templates)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--articles", nargs="*", default=[])
    parser.add_argument("--templates")
    options = parser.parse_args()
    main(options.articles, options.templates)
