"""Give the raw CSV files types, turn their NA into nulls, and keep them as Parquet.

Usage: clean.py RAW OUT
"""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SCHEMAS = {
    "weather": "origin string, year int, month int, day int, hour int, temp double, dewp double, humid double, wind_dir int, "
    "wind_speed double, wind_gust double, precip double, pressure double, visib double, time_hour timestamp",
    "flights": "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int, "
    "arr_delay int, carrier string, flight int, tailnum string, origin string, dest string, air_time int, distance int, "
    "hour int, minute int, time_hour timestamp",
    "planes": "tailnum string, year int, type string, manufacturer string, model string, engines int, seats int, speed int, engine string",
    "airlines": "carrier string, name string",
    "airports": "faa string, name string, lat double, lon double, alt int, tz int, dst string, tzone string",
}


def read(spark: SparkSession, raw: str, name: str) -> DataFrame:
    return spark.read.csv(f"{raw}/{name}.csv", schema=SCHEMAS[name], header=True, nullValue="NA")


def main(raw: str, out: str) -> None:
    spark = SparkSession.builder.appName("clean").getOrCreate()
    for name in SCHEMAS:
        frame = read(spark, raw, name)
        if name == "flights":
            frame = frame.withColumn("cancelled", F.col("dep_time").isNull())
        if name == "weather":
            frame = frame.filter(F.col("origin").isNotNull())
        frame.write.mode("overwrite").parquet(f"{out}/clean/{name}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
