"""Compare each hour of weather with its day: the day's mean wind, how much windier this hour is, and how the pressure moves.

Usage: hourly_weather.py RAW OUT
"""

import sys

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F


def main(raw: str, out: str) -> None:
    spark = SparkSession.builder.appName("hourly_weather").getOrCreate()
    weather = spark.read.parquet(f"{out}/clean/weather")
    day = Window.partitionBy("origin", "year", "month", "day")
    through_the_day = day.orderBy("hour")
    hourly = (
        weather.withColumn("day_wind", F.avg("wind_speed").over(day))
        .withColumn("above_day_wind", F.col("wind_speed") - F.col("day_wind"))
        .withColumn("pressure_change", F.col("pressure") - F.lag("pressure").over(through_the_day))
        .select(
            "origin", "year", "month", "day", "hour", "temp", "wind_speed", "day_wind", "above_day_wind", "precip", "visib",
            "pressure", "pressure_change",
        )
    )  # fmt: skip
    hourly.write.mode("overwrite").parquet(f"{out}/hourly_weather")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
