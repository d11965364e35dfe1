"""A query run again on chosen records of its tables alone."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from bench.spark.session import with_distinct_names
from bench.truth.values import Values, comparable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

Record = tuple[str, int]  # file (as `file:/a/b`) and row


class Replay:
    """In a session of its own. `folder` is scratch; `tables` are those that the records are of."""

    def __init__(self, session: SparkSession, tables: Mapping[str, Path], folder: Path) -> None:
        self._session = session.newSession()
        self._tables = tables
        self._folder = folder
        self._schemas: dict[str, StructType] = {name: session.table(name).schema for name in tables}

    def answer(self, text: str, records: Collection[Record]) -> list[Values]:
        """The rows of the query, were there no other records.

        Raises:
            ValueError: a record is of none of the tables.
        """
        rows: dict[Path, list[int]] = defaultdict(list)
        for file, row in records:
            rows[Path(file.removeprefix("file:"))].append(row)
        known = {path for table in self._tables.values() for path in table.iterdir()}
        if strange := sorted(set(rows) - known):
            raise ValueError(f"{strange[0]} is no file of the tables")
        for name, table in self._tables.items():
            self._restrict(name, {path: sorted(rows[path]) for path in sorted(table.iterdir()) if path in rows})
        return [comparable(row) for row in with_distinct_names(self._session.sql(text)).collect()]

    def _restrict(self, name: str, rows: Mapping[Path, list[int]]) -> None:
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path, chosen in rows.items():
            pq.write_table(_content(path).take(pa.array(chosen, pa.int64())), folder / path.name)
        self._session.read.schema(self._schemas[name]).parquet(str(folder)).createOrReplaceTempView(name)


@lru_cache(maxsize=64)
def _content(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()
