"""Random histories of a Delta table.

The table may have partitions, deletion vectors, mapped columns and row tracking. Steps compact and vacuum it. Others change it if it tracks
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq

from tests.oracle.laboratory import Place
from tests.oracle.table_history import History, Row

PARTITIONS = ("", "PARTITIONED BY (k)", "PARTITIONED BY (s, k)")


class DeltaHistory(History):
    """The history of a table that is called by its path."""

    @property
    def table(self) -> str:
        return f"delta.`{self.path}`"

    @property
    def path(self) -> Path:
        return self.laboratory.folder / self.name

    def create(self) -> None:
        flag = self.choose.choice
        self.numbered = flag([True, True, False])
        properties = {
            "enableRowTracking": str(self.numbered).lower(), "enableDeletionVectors": flag(["true", "false"]),
            "columnMapping.mode": flag(["none", "name"]),
        }  # fmt: skip
        stated = ", ".join(f"'delta.{name}' = '{value}'" for name, value in properties.items())
        self.run(f"CREATE TABLE {self.table} (id int, k int, s string) USING delta {flag(PARTITIONS)} TBLPROPERTIES ({stated})")
        self.run(f"INSERT INTO {self.table} SELECT * FROM raw WHERE id < 20")

    def found(self) -> dict[Row, Place]:
        """By its id in the file that Spark says: a file may hold rows that the table does not any more, of other ids."""
        read = self.laboratory.spark.read.format("delta").load(str(self.path)).selectExpr("id", "k", "s", "_metadata.file_path AS file")
        ids: dict[str, list[int]] = {}
        result = {}
        for row in read.collect():
            path = unquote(urlparse(row.file).path)
            if path not in ids:
                parquet = pq.ParquetFile(path)
                ids[path] = parquet.read(columns=[parquet.schema_arrow.names[0]]).column(0).to_pylist()  # `id`, however it is called
            result[Row(row.id, row.k, row.s)] = (f"file:{path}", ids[path].index(row.id))
        return result

    def steps(self) -> Sequence[Callable[[], None]]:
        """Delta has no subqueries in UPDATE and DELETE."""
        own = [
            *[self.append] * 2,
            *[self.update] * 2,
            *[self.delete] * 2,
            *[self.merge] * 4,
            *[self.compact] * 2,
            self.overwrite,
            self.vacuum,
        ]
        return [*own, *self.elsewhere(), *([self.compact_elsewhere] * 2 if self.numbered else [])]

    def compact(self) -> None:
        """Put small files together."""
        self.run(f"OPTIMIZE {self.table}")

    def compact_elsewhere(self) -> None:
        self.run_elsewhere(f"OPTIMIZE {self.table}")

    def vacuum(self) -> None:
        """Remove the files that no version holds."""
        self.run("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
        self.run(f"VACUUM {self.table} RETAIN 0 HOURS")
        self.forgets = self.has_others
