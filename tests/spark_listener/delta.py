"""A session with Delta and capture, for tests: what a table of Delta is made of, as its own log says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lake import table_jars
from tests.oracle.laboratory import Laboratory, laboratory_in

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # or VACUUM has 10,000 tasks
}


@contextmanager
def delta_in(folder: Path, *, budget: float = 0.0) -> Iterator[Laboratory]:
    """A laboratory whose session reads and writes tables of Delta."""
    jars = ",".join(map(str, sorted(table_jars().glob("*.jar"))))
    conf = {**SETTINGS, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    with laboratory_in(folder, budget=budget, submitted=f"--jars {jars}", conf=conf) as laboratory:
        yield laboratory
