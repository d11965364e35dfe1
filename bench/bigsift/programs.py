"""The programs: `programs.py NAME FOLDER`. Each reads FOLDER/input and writes FOLDER/out. They know nothing of Headwater."""

from __future__ import annotations

import sys
from collections.abc import Callable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the usual name in programs

Program = Callable[[SparkSession, str], DataFrame]


def word_count(spark: SparkSession, folder: str) -> DataFrame:
    """Count the occurrences of each word of a text."""
    words = spark.read.text(f"{folder}/input").select(F.explode(F.split("value", " ")).alias("word"))
    return words.groupBy("word").count()


def movie_ratings(spark: SparkSession, folder: str) -> DataFrame:
    """Average the ratings of each movie."""
    ratings = spark.read.csv(f"{folder}/input", schema="person long, movie long, rating int, day string")
    return ratings.groupBy("movie").agg(F.avg("rating").alias("rating"))


def airport_transit(spark: SparkSession, folder: str) -> DataFrame:
    """Sum the minutes that passengers with less than 45 minutes spend at each airport, by the hour of arrival."""
    log = spark.read.csv(f"{folder}/input", schema="day string, passenger long, arrival string, departure string, airport string")

    def minutes(column: str) -> Column:
        return F.substring(column, 1, 2).cast("int") * 60 + F.substring(column, 4, 2).cast("int")

    transit = log.withColumn("minutes", minutes("departure") - minutes("arrival")).where("minutes < 45")
    return transit.groupBy("airport", F.substring("arrival", 1, 2).alias("hour")).agg(F.sum("minutes").alias("minutes"))


def weather(spark: SparkSession, folder: str) -> DataFrame:
    """Return the difference between the highest and the lowest snowfall of each state and day, in millimetres. Some stations send feet."""
    reports = spark.read.csv(f"{folder}/input", schema="zip string, day string, snow string")
    number = F.regexp_extract("snow", "[0-9.]+", 0).cast("double")
    snow = F.when(F.col("snow").endswith("ft"), number * 304.8).otherwise(number)
    states = reports.select(F.substring("zip", 1, 2).alias("state"), "day", snow.alias("snow"))
    return states.groupBy("state", "day").agg((F.max("snow") - F.min("snow")).alias("delta"))


PROGRAMS: dict[str, Program] = {each.__name__: each for each in (word_count, movie_ratings, airport_transit, weather)}

if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    PROGRAMS[sys.argv[1]](session, sys.argv[2]).write.mode("overwrite").parquet(f"{sys.argv[2]}/out")
