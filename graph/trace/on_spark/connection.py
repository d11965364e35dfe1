"""Spark as the database of a walk: statements that the steps of a trace write for DuckDB, run as Spark SQL.

For `walking`. The statements of a walk are about columns of longs alone, and mean the same to both once sqlglot has put them into Spark's
words. What Spark does not take is refused by name, never answered otherwise.
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
# What a cluster's own settings must not change: a table that is missing or damaged, and a number that is too large, are faults.
_OURS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Else a table of a walk has as many parts as a shuffle (200), and each statement about it a task for each, however few its rows are.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # Spark goes by the bytes of a table as it is packed, of which a few may be millions of rows; `_known` goes by rows.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}
_SMALL = 200_000  # rows of a table that the driver, and each executor, hold in memory beside another that they join it with
_HINT = "Ask for this trace without --on-spark."


class NotOnSparkError(UnsupportedError):
    """Something that a trace does, and that is not done on Spark; the message names it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not done on Spark.", hint=_HINT)


class Result:
    """What a query gives, as far as a step of a walk asks a connection of DuckDB for it."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows: few, as a step asks."""
        with failing():
            return [tuple(row) for row in self._frame.collect()]

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row, if there is one."""
        with failing():
            rows = self._frame.take(1)
        return tuple(rows[0]) if rows else None

    def fetchnumpy(self) -> dict[str, Any]:
        """All rows, by columns of longs; a column that holds nulls is masked."""
        with failing():
            table = self._frame.toArrow()
        return {name: _longs(table.column(name)) for name in table.column_names}


class SparkConnection:
    """A Spark session in the place of a connection of DuckDB. `shares_files`: its executors read kept tables where this process does."""

    def __init__(self, spark: SparkSession, *, shares_files: bool = False) -> None:
        self._spark = spark.newSession()  # whose views and settings are its own
        for name, value in _OURS.items():
            self._spark.conf.set(name, value)
        self._shares_files = shares_files
        self._kept: dict[str, DataFrame] = {}  # tables of which lost parts are made again

    @property
    def reads_here(self) -> bool:
        """Whether its executors read the files of this machine: they are this process's, or share its disk."""
        return self._shares_files or str(self._spark.sparkContext.master).partition("[")[0] == "local"

    def execute(self, query: str, parameters: Sequence[object] | None = None) -> Result:
        """Ask a query."""
        if parameters:
            raise NotOnSparkError("Reading the values of records")
        return Result(self.frame(query))

    def frame(self, query: str) -> DataFrame:
        """A query, not yet run.

        Raises:
            NotOnSparkError: Spark does not take it.
        """
        return self._frame(spark_sql(query))

    def _frame(self, text: str) -> DataFrame:
        try:
            return self._spark.sql(text)
        except (AnalysisException, ParseException) as error:
            raise NotOnSparkError(f"A step of this trace ({str(error).splitlines()[0][:200]})") from error

    def make(self, name: str, query: str) -> int:
        """Make a table of a query, which the executors keep on their disks; the number of its rows.

        A part of it that is lost is made again, where that gives the same rows for sure. Else the walk fails.
        """
        text = spark_sql(query)
        frame = self._frame(text)
        with failing():
            if gives_the_same(text):
                made = self._kept[name] = frame.persist(StorageLevel.DISK_ONLY)  # in columns, which are written and read faster
            else:
                made = frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
            count = made.count()
        _known(made, name, count)
        return count

    def register(self, name: str, columns: Mapping[str, Any]) -> None:
        """Make columns of longs known under a name."""
        table = pa.table({column: pa.array(values, pa.int64()) for column, values in columns.items()})
        _known(self._spark.createDataFrame(table), name, table.num_rows)

    def register_parts(self, name: str, parts: Iterator[pa.Table]) -> int:
        """The same of more than this process is to hold at once; the number of rows."""
        whole: DataFrame | None = None
        count = 0
        with failing():
            for part in parts:
                count += part.num_rows
                made = self._spark.createDataFrame(part).localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
                whole = made if whole is None else whole.unionAll(made)
        if whole is not None:
            _known(whole, name, count)
        return count

    def read(self, name: str, uri: str) -> None:
        """Make a kept table known under a name; pages are compared with their checksums."""
        with failing():
            self._spark.read.option("parquet.page.verify-checksum.enabled", "true").parquet(pattern_of_path(uri)).createOrReplaceTempView(
                name
            )

    def drop(self, name: str) -> None:
        """Forget a table."""
        self._spark.catalog.dropTempView(name)
        if (kept := self._kept.pop(name, None)) is not None:
            kept.unpersist()

    def interrupt(self) -> None:
        """End the jobs at work."""
        self._spark.sparkContext.cancelAllJobs()


def _known(frame: DataFrame, name: str, rows: int) -> None:
    """Make a table of so many rows known under a name."""
    (frame.hint("broadcast") if rows <= _SMALL else frame).createOrReplaceTempView(name)


def spark_sql(query: str) -> str:
    """A statement of a walk in the words of Spark."""
    try:
        (tree,) = sqlglot.parse(query, read="duckdb")
        if tree is None:
            raise NotOnSparkError("An empty statement")
        return tree.transform(_numbered).sql(dialect="spark")
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        raise NotOnSparkError(f"A step of this trace ({str(error).splitlines()[0][:200]})") from error


def gives_the_same(text: str) -> bool:
    """Whether a statement in Spark's words gives the same rows each time: it numbers and picks none in an order that may change."""
    tree = sqlglot.parse_one(text, read="spark")
    return tree.find(*_PICKING) is None


def _numbered(node: exp.Expression) -> exp.Expression:
    """A number that tells rows apart, in any order: in Spark's words, which need not bring all rows to one place."""
    if (
        isinstance(node, exp.Window)
        and isinstance(node.this, exp.RowNumber)
        and not node.args.get("order")
        and not node.args.get("partition_by")
    ):
        return exp.Anonymous(this="monotonically_increasing_id")
    return node


@contextmanager
def failing() -> Iterator[None]:
    """Say of a job that failed what Spark says.

    Raises:
        SparkJobError: it failed.
    """
    from py4j.protocol import Py4JError

    try:
        yield
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if line.startswith("Caused by:")), lines[0] if lines else type(error).__name__)
        raise SparkJobError(f"The Spark job of this trace failed: {reason[:500]}.", hint="Its log says more.") from error


def _longs(column: pa.ChunkedArray) -> Any:
    values = column.cast(pa.int64())
    if values.null_count:
        return np.ma.masked_array(values.fill_null(0).to_numpy(), mask=values.is_null().to_numpy())
    return values.to_numpy()
