"""Take out hours whose wind no instrument can have measured.

Usage: repair.py
"""

from pyspark.sql import SparkSession


def main() -> None:
    spark = SparkSession.builder.appName("repair").getOrCreate()
    spark.sql("DELETE FROM lake.nyc.weather WHERE wind_speed > 230")
    spark.stop()


if __name__ == "__main__":
    main()
