"""Report delays and weather by airport and month. Wind, rain and sight cover every hour, whether or not a flight left in it.

Usage: report.py RAW OUT
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(raw: str, out: str) -> None:
    spark = SparkSession.builder.appName("report").getOrCreate()
    month = ["origin", "year", "month"]
    delays = (
        spark.read.parquet(f"{out}/enriched")
        .groupBy(*month)
        .agg(
            F.count("*").alias("flights"),
            F.sum(F.when(F.col("punctuality") == "very late", 1).otherwise(0)).alias("very_late"),
            F.round(F.avg("dep_delay"), 2).alias("mean_delay_min"),
            F.max("dep_delay").alias("max_delay_min"),
        )
    )
    weather = (
        spark.read.parquet(f"{out}/hourly_weather")
        .groupBy(*month)
        .agg(
            F.count("*").alias("hours"),
            F.max("wind_speed").alias("max_wind_mph"),
            F.round(F.avg("wind_speed"), 2).alias("mean_wind_mph"),
            F.round(F.sum("precip"), 2).alias("rain_in"),
            F.min("visib").alias("min_visibility_mi"),
        )
    )
    report = weather.join(delays, month, "left").orderBy(*month)
    report.coalesce(1).write.mode("overwrite").csv(f"{out}/report", header=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
