"""DataFrames of Parquet files with the file and row number of each record, for `headwater.lineage`.

Files, row groups and columns that are not needed are not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headwater.spark_listener.capture.bridge import java_object
from headwater.spark_listener.capture.read_again import states_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ENTRY = "headwater.shell.PlacedFrames"


class PlacedFrames:
    """Makes DataFrames with file and row numbers in one session.

    Its tasks must have Headwater's classes, so a capture must have run in it.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        java = spark._jsparkSession  # noqa: SLF001  # PySpark has no public way to the JVM's session
        self._java = java_object(spark.sparkContext, _ENTRY, java, in_executors=False)

    def of(
        self,
        frame: DataFrame,
        labels: Mapping[str, str],
        wanted: Mapping[str, bytes] | None = None,
        *,
        states: Mapping[str, tuple[int, int]],
        file: str,
        row: str,
        together: bool,
    ) -> DataFrame:
        """Return a DataFrame with two columns in front: `file`, the label of the record's file, and `row`, its number there.

        `labels`, `wanted` and `states` are by path. Files without a label are left out. If `wanted` is stated, the DataFrame has only these
        rows (WantedRows.java has their form). A state is the length and modification time (ms) that the run found. A task that finds
        another state fails. With `together`, one task reads all files.
        """
        from pyspark.sql import DataFrame

        chosen = None if wanted is None else dict(wanted)
        java = self._java.of(frame._jdf, file, row, dict(labels), chosen, states_of(states), together)  # noqa: SLF001  # PySpark has no public way to the JVM's frame
        return DataFrame(java, self._spark)

    def changed(self, states: Mapping[str, tuple[int, int]]) -> list[str]:
        """Return a message for each file that has another length or modification time (ms)."""
        found: list[str] = json.loads(self._java.changed(states_of(states)))
        return found

    def pairs(self, frame: DataFrame) -> bytes:
        """Compute a DataFrame with two columns of integers. Return them row after row, in eight bytes each, the highest byte first."""
        found: bytes = self._java.pairs(frame._jdf)  # noqa: SLF001  # likewise
        return found
