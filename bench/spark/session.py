"""The Spark session of an arm, with two threads, because the figures are for a machine with two cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Options of a JVM that runs each query a few times. The second compiler and parallel collectors would cost more than they save.
# Without that compiler Java keeps too little room for code.
BRIEFLY = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.log.level": "ERROR",
}


def start(
    folder: Path, *, memory: str = "3g", tables: Mapping[str, Path] | None = None, java: str = "", conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a session with the tables as views. `folder` is scratch space, `java` and `conf` are options of the JVM and of Spark."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The heap has a fixed size, because growth would slow the first arm.
    # The number of compiling threads is fixed, too, so that their processor time can be read.
    options = f"-Xms{memory} -XX:-UseDynamicNumberOfCompilerThreads {java}"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {memory} --driver-java-options '{options}' pyspark-shell"
    builder = SparkSession.builder.master("local[2]").appName("bench").config("spark.local.dir", str(folder / "local"))
    for key, value in (_CONF | {"spark.sql.warehouse.dir": str(folder / "warehouse")} | dict(conf or {})).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark, tables or {})
    return spark


def register(spark: SparkSession, tables: Mapping[str, Path]) -> None:
    """Register each table, a folder of Parquet files, as a view of the session."""
    for name, path in tables.items():
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


def with_distinct_names(frame: DataFrame) -> DataFrame:
    """Rename the columns to c0, c1, … if two have the same name, because a file cannot have such columns."""
    names = [name.lower() for name in frame.columns]
    return frame if len(set(names)) == len(names) else frame.toDF(*(f"c{number}" for number in range(len(names))))
