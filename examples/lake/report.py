"""The weather by airport and month, as CSV.

Usage: report.py OUT
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(out: str) -> None:
    spark = SparkSession.builder.appName("report").getOrCreate()
    report = (
        spark.table("lake.nyc.weather")
        .groupBy("origin", "year", "month")
        .agg(
            F.count("*").alias("hours"),
            F.max("wind_speed").alias("max_wind_mph"),
            F.round(F.avg("wind_speed"), 2).alias("mean_wind_mph"),
        )
        .orderBy("origin", "year", "month")
    )
    report.coalesce(1).write.mode("overwrite").csv(f"{out}/report", header=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
