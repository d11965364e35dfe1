"""Rewrite the data files of the table of weather, as a nightly job does.

Usage: compact.py
"""

from pyspark.sql import SparkSession


def main() -> None:
    spark = SparkSession.builder.appName("compact").getOrCreate()
    spark.sql("CALL lake.system.rewrite_data_files(table => 'nyc.weather', options => map('rewrite-all', 'true'))")
    spark.stop()


if __name__ == "__main__":
    main()
