"""Add its plane, its airline and its destination to each flight, and name how late it left.

Usage: enrich.py RAW OUT
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType


@F.udf(StringType())
def punctuality(delay: int | None) -> str:
    """Classify a delay. The airline industry counts a departure as on time up to a quarter of an hour late."""
    if delay is None:
        return "cancelled"
    if delay < 15:
        return "on time"
    return "late" if delay < 60 else "very late"


def main(raw: str, out: str) -> None:
    spark = SparkSession.builder.appName("enrich").getOrCreate()
    clean = f"{out}/clean"
    flights = spark.read.parquet(f"{clean}/flights")
    airlines = spark.read.parquet(f"{clean}/airlines").withColumnRenamed("name", "airline")
    planes = spark.read.parquet(f"{clean}/planes").select("tailnum", "manufacturer", "model", "seats", F.col("year").alias("built"))
    airports = spark.read.parquet(f"{clean}/airports").select(F.col("faa").alias("dest"), F.col("name").alias("destination"))
    enriched = (
        flights.join(airlines, "carrier")
        .join(planes, "tailnum", "left")
        .join(airports, "dest", "left")
        .withColumn("punctuality", punctuality("dep_delay"))
    )
    enriched.write.mode("overwrite").partitionBy("origin").parquet(f"{out}/enriched")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
