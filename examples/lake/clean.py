"""Give the raw weather types, turn its NA into nulls, and keep it as an Iceberg table.

Usage: clean.py RAW
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

SCHEMA = (
    "origin string, year int, month int, day int, hour int, temp double, dewp double, humid double, wind_dir int, "
    "wind_speed double, wind_gust double, precip double, pressure double, visib double, time_hour timestamp"
)


def main(raw: str) -> None:
    spark = SparkSession.builder.appName("clean").getOrCreate()
    weather = spark.read.csv(f"{raw}/weather.csv", schema=SCHEMA, header=True, nullValue="NA").filter(F.col("origin").isNotNull())
    weather.writeTo("lake.nyc.weather").using("iceberg").partitionedBy(F.col("origin")).tableProperty("format-version", "3").create()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
