"""Runs the DuckDB statements of a trace as Spark SQL.

The statements use integer columns only, and mean the same in both engines once sqlglot has translated them. If Spark does not accept a
statement, the trace is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import sqlglot
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.storagelevel import StorageLevel
from sqlglot import exp

from headwater.errors import UnsupportedError
from headwater.graph.trace.on_spark.errors import SparkJobError
from headwater.paths import pattern_of_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PICKING = (exp.Window, exp.Limit, exp.Fetch, exp.First, exp.Last, exp.AnyValue, exp.ArrayAgg, exp.Rand, exp.Anonymous, exp.TableSample)
# The cluster's settings must not hide faults: a missing or damaged table, a number that is too large.
_OURS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Otherwise each table of a walk has as many partitions as a shuffle (200), and each statement as many tasks, even for few rows.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # Spark decides by compressed bytes, and a small file may hold millions of rows. `_make_from_entry` decides by rows.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}
_SMALL = 200_000  # rows of a table that the driver and each executor hold in memory for a join
_HINT = "Ask for this trace without --on-spark."


class NotOnSparkError(UnsupportedError):
    """A part of a trace that cannot run on Spark. The message names it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} is not done on Spark.", hint=_HINT)


class SparkResult:
    """The result of a query, with the methods of a DuckDB connection that a trace uses."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows. Callers use this for results of few rows only."""
        with translate_errors():
            return [tuple(row) for row in self._frame.collect()]

    def fetchone(self) -> tuple[Any, ...] | None:
        with translate_errors():
            rows = self._frame.take(1)
        return tuple(rows[0]) if rows else None

    def fetchnumpy(self) -> dict[str, Any]:
        """Return all rows as integer columns. A column with nulls is masked."""
        with translate_errors():
            table = self._frame.toArrow()
        return {name: _convert_to_longs(table.column(name)) for name in table.column_names}


class SparkConnection:
    """A Spark session with the interface of a DuckDB connection.

    `shares_files` states that the executors find kept tables under the same paths as this process.
    """

    def __init__(self, spark: SparkSession, *, shares_files: bool = False) -> None:
        self._spark = spark.newSession()  # a separate session keeps our views and settings apart
        for name, value in _OURS.items():
            self._spark.conf.set(name, value)
        self._shares_files = shares_files
        self._kept: dict[str, DataFrame] = {}  # tables whose lost parts Spark computes again

    @property
    def reads_here(self) -> bool:
        """Return whether the executors can read local files of this machine."""
        return self._shares_files or str(self._spark.sparkContext.master).partition("[")[0] == "local"

    def execute(self, query: str, parameters: Sequence[object] | None = None) -> SparkResult:
        if parameters:
            raise NotOnSparkError("Reading the values of records")
        return SparkResult(self.frame(query))

    def frame(self, query: str) -> DataFrame:
        """Return the DataFrame of a query, without running the query.

        Raises:
            NotOnSparkError: Spark does not accept the query.
        """
        return self._frame(spark_sql(query))

    def _frame(self, text: str) -> DataFrame:
        try:
            return self._spark.sql(text)
        except (AnalysisException, ParseException) as error:
            raise NotOnSparkError(f"A step of this trace ({str(error).splitlines()[0][:200]})") from error

    def make(self, name: str, query: str) -> int:
        """Make a table from a query, and return the number of its rows. The executors store it on their disks.

        Spark computes a lost part again if the query certainly returns the same rows. Otherwise the trace fails.
        """
        text = spark_sql(query)
        frame = self._frame(text)
        with translate_errors():
            if shares_files(text):
                persisted_frame = self._kept[name] = frame.persist(StorageLevel.DISK_ONLY)  # columnar, which is faster to write and read
            else:
                persisted_frame = frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
            count = persisted_frame.count()
        _make_result(persisted_frame, name, count)
        return count

    def register(self, name: str, columns: Mapping[str, Any]) -> None:
        table = pa.table({column: pa.array(values, pa.int64()) for column, values in columns.items()})
        _make_result(self._spark.createDataFrame(table), name, table.num_rows)

    def register_parts(self, name: str, parts: Iterator[pa.Table]) -> int:
        """Register a table that is too large for this process, part by part. Return the number of rows."""
        all_parts: DataFrame | None = None
        count = 0
        with translate_errors():
            for part in parts:
                count += part.num_rows
                part_frame = self._spark.createDataFrame(part).localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
                all_parts = part_frame if all_parts is None else all_parts.unionAll(part_frame)
        if all_parts is not None:
            _make_result(all_parts, name, count)
        return count

    def read(self, name: str, uri: str) -> None:
        """Register a kept Parquet table under a name. Spark verifies the checksums of its pages."""
        with translate_errors():
            self._spark.read.option("parquet.page.verify-checksum.enabled", "true").parquet(pattern_of_path(uri)).createOrReplaceTempView(
                name
            )

    def drop(self, name: str) -> None:
        self._spark.catalog.dropTempView(name)
        if (persisted_frame := self._kept.pop(name, None)) is not None:
            persisted_frame.unpersist()

    def interrupt(self) -> None:
        self._spark.sparkContext.cancelAllJobs()


def _make_result(frame: DataFrame, name: str, rows: int) -> None:
    (frame.hint("broadcast") if rows <= _SMALL else frame).createOrReplaceTempView(name)


def spark_sql(query: str) -> str:
    try:
        (tree,) = sqlglot.parse(query, read="duckdb")
        if tree is None:
            raise NotOnSparkError("An empty statement")
        return tree.transform(_read_spark_version).sql(dialect="spark")
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        raise NotOnSparkError(f"A step of this trace ({str(error).splitlines()[0][:200]})") from error


def shares_files(text: str) -> bool:
    """Return whether a Spark statement returns the same rows at each run: it has no row numbers or picks in an unstable order."""
    tree = sqlglot.parse_one(text, read="spark")
    return tree.find(*_PICKING) is None


def _read_spark_version(node: exp.Expression) -> exp.Expression:
    """Replace a row number without an order by a Spark function that does not move all rows to one task."""
    if (
        isinstance(node, exp.Window)
        and isinstance(node.this, exp.RowNumber)
        and not node.args.get("order")
        and not node.args.get("partition_by")
    ):
        return exp.Anonymous(this="monotonically_increasing_id")
    return node


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise `SparkJobError` for any error of a failed Spark job."""
    from py4j.protocol import Py4JError

    try:
        yield
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if line.startswith("Caused by:")), lines[0] if lines else type(error).__name__)
        raise SparkJobError(f"The Spark job of this trace failed: {reason[:500]}.", hint="Its log says more.") from error


def _convert_to_longs(column: pa.ChunkedArray) -> Any:
    values = column.cast(pa.int64())
    if values.null_count:
        return np.ma.masked_array(values.fill_null(0).to_numpy(), mask=values.is_null().to_numpy())
    return values.to_numpy()
