"""The driver of `bench.events`: runs each case in one session, and records its begin and end."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from bench.events.cases import CASES, At

_QUIET = 1.5  # seconds between two cases, so that late events arrive before the next case


def main(folder: str, only: str) -> None:
    """Run the cases whose names contain `only`."""
    spark = SparkSession.builder.appName("cases").config("spark.sql.warehouse.dir", f"{folder}/warehouse").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = [("EWR", 1, 3.5), ("EWR", 2, 9.0), ("JFK", 1, 2.0), ("JFK", 3, 5.0), ("LGA", 1, 7.0), ("LGA", 2, 1.0)]
    weather = spark.createDataFrame(rows, "origin string, hour int, wind double")
    weather.coalesce(1).write.parquet(f"{folder}/weather")
    weather.coalesce(1).write.parquet(f"{folder}/more")
    airports = spark.createDataFrame(
        [("EWR", "Newark Liberty", 40.7), ("JFK", "John F Kennedy", 40.6)], "code string, name string, lat double"
    )
    airports.coalesce(1).write.parquet(f"{folder}/airports")
    Path(f"{folder}/log.csv").write_text("1,2\n3,4\n")
    for name in ("weather", "airports"):
        spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
    people = spark.sql("SELECT named_struct('street', 'a', 'at', named_struct('lat', 2.0)) address, array(named_struct('hour', 1)) visits")
    people.write.parquet(f"{folder}/people")
    spark.read.parquet(f"{folder}/people").createOrReplaceTempView("people")
    for name in ("insert", "over", "alter", "truncate", "rename", "drop", "there", "again", "behind", "gone"):
        spark.sql(f"CREATE TABLE t_{name} USING parquet AS SELECT * FROM weather")
    times = {}
    for number, case in enumerate(CASES):
        if only not in case.name:
            continue
        time.sleep(_QUIET)
        began, fault = time.time(), None
        try:
            case.run(At(spark, f"{folder}/{number}"))
        except Exception as error:  # noqa: BLE001  # told with the results; the other cases still run
            fault = f"{type(error).__name__}: {error}"[:500]
        times[case.name] = {"began": began, "ended": time.time(), "fault": fault}
    time.sleep(_QUIET)
    Path(f"{folder}/times.json").write_text(json.dumps(times))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
