"""Random histories of a Delta table against a model of it in Python, which knows of each row the source records behind it.

A history is a table, partitioned or not, with or without deletion vectors and mapped columns, that is appended to, changed by UPDATE,
DELETE and MERGE, overwritten and vacuumed. After each step the table's rows must be the model's, and the lineage of each row, asked of the
service by data file and position, exactly the model's. A row that is carried over into a new file keeps the lineage of its former self.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq

from headwater.graph.trace import Semantics
from tests.jvm import PATIENTLY
from tests.oracle.laboratory import Laboratory, Place

RECORDS = 60
PARTITIONS = ("", "PARTITIONED BY (k)", "PARTITIONED BY (s, k)")


class Row(NamedTuple):
    """A row of the table: `id` is unique in it."""

    id: int
    k: int
    s: str


Rows = dict[Row, frozenset[int]]  # the `id`s of records of `raw` behind each row


def raw(laboratory: Laboratory) -> dict[Place, int]:
    """Make a view `raw` of records in files that no capture wrote; the `id` of each by its place."""
    folder = laboratory.folder / "raw"
    with laboratory.without_capture():
        rows = [(i, i % 3, f"r{i % 5}") for i in range(RECORDS)]
        laboratory.spark.createDataFrame(rows, "id int, k int, s string").repartition(3).write.parquet(str(folder))
    laboratory.spark.read.parquet(str(folder)).createOrReplaceTempView("raw")
    return {(f"file:{path}", row): record for path in sorted(folder.glob("*.parquet")) for row, record in enumerate(_column(path, "id"))}


@dataclass
class History:
    """A table at a path and the model of it."""

    laboratory: Laboratory
    path: Path
    choose: random.Random
    raw: Mapping[Place, int]
    rows: Rows = field(default_factory=dict)
    told: list[str] = field(default_factory=list)  # the statements so far
    shift: int = 0  # what is added to ids of `raw`, so that those of a batch are new

    def begin(self) -> None:
        """Make the table from some of the records."""
        flag = self.choose.choice
        properties = f"'delta.enableDeletionVectors' = '{flag(['true', 'false'])}', 'delta.columnMapping.mode' = '{flag(['none', 'name'])}'"
        self._run(f"CREATE TABLE {self.table} (id int, k int, s string) USING delta {flag(PARTITIONS)} TBLPROPERTIES ({properties})")
        self._run(f"INSERT INTO {self.table} SELECT * FROM raw WHERE id < 20")
        self.rows = {Row(i, i % 3, f"r{i % 5}"): frozenset({i}) for i in range(20)}
        self.check()

    @property
    def table(self) -> str:
        return f"delta.`{self.path}`"

    def step(self) -> None:
        """Do one thing at random to the table and to the model, and compare them."""
        self.choose.choice(_STEPS)(self)
        self.check()

    def check(self) -> None:
        """See that the table is the model, rows and lineage."""
        with self.laboratory.without_capture():
            read = self.laboratory.spark.read.format("delta").load(str(self.path)).selectExpr("id", "k", "s", "_metadata.file_path AS file")
            found = {Row(row.id, row.k, row.s): row.file for row in read.collect()}
        assert sorted(found) == sorted(self.rows), self.told
        if not found:
            return
        places = _places(found)
        behind, exact = self.laboratory.ask_each(self.path, list(places.values()), Semantics.INFLUENCE)
        said = {row: frozenset(self.raw.get(record, -1) for record in behind[place]) for row, place in places.items()}
        assert said == self.rows, (self.told, {row: (said[row], self.rows[row]) for row in said if said[row] != self.rows[row]})
        assert exact, self.told

    def _run(self, statement: str) -> None:
        self.told.append(statement)
        self.laboratory.spark.sql(statement)
        assert self.laboratory.bridge.flush(PATIENTLY)
        for event in self.laboratory.bridge.drain(5_000):
            assert event["event"] not in ("fault", "off", "dropped"), event
            if event["event"] == "query_end" and event.get("capture"):
                assert event["capture"]["status"] == "complete", (self.told, event["capture"]["problems"])
                self.laboratory.publish(event["capture"])

    def _batch(self) -> tuple[int, int, int]:
        """Some records: `id` modulo a number, and what is added to their ids."""
        modulus = self.choose.choice([2, 3, 5, 7])
        return modulus, self.choose.randrange(modulus), self.choose.choice([0, self.shift])

    def append(self) -> None:
        self.shift += 1000
        modulus, rest, _ = self._batch()
        self._run(f"INSERT INTO {self.table} SELECT id + {self.shift}, k, s FROM raw WHERE id % {modulus} = {rest}")
        self.rows |= {Row(i + self.shift, i % 3, f"r{i % 5}"): frozenset({i}) for i in range(RECORDS) if i % modulus == rest}

    def update(self) -> None:
        modulus, rest, _ = self._batch()
        self._run(f"UPDATE {self.table} SET s = concat(s, 'u'), k = (k + 1) % 3 WHERE id % {modulus} = {rest}")
        changed = {row: Row(row.id, (row.k + 1) % 3, f"{row.s}u") for row in self.rows if row.id % modulus == rest}
        self.rows = {changed.get(row, row): source for row, source in self.rows.items()}

    def delete(self) -> None:
        modulus, rest, _ = self._batch()
        self._run(f"DELETE FROM {self.table} WHERE id % {modulus} = {rest} AND k <> 1")
        self.rows = {row: source for row, source in self.rows.items() if not (row.id % modulus == rest and row.k != 1)}

    def merge(self) -> None:
        modulus, rest, shift = self._batch()
        of = f"(SELECT id + {shift} AS id, k, s FROM raw WHERE id % {modulus} = {rest})"
        last = self.choose.random() < 0.5
        by_source = " WHEN NOT MATCHED BY SOURCE AND t.k = 2 THEN UPDATE SET s = concat(t.s, 'o')" if last else ""
        self._run(
            f"MERGE INTO {self.table} t USING {of} m ON t.id = m.id WHEN MATCHED AND t.k = 1 THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET s = concat(t.s, m.s) WHEN NOT MATCHED THEN INSERT *{by_source}"
        )
        batch = {i + shift: i for i in range(RECORDS) if i % modulus == rest}
        known = {row.id for row in self.rows}
        result: Rows = {}
        for row, behind in self.rows.items():
            if row.id not in batch:
                result[row._replace(s=f"{row.s}o") if last and row.k == 2 else row] = behind
            elif row.k != 1:
                result[row._replace(s=f"{row.s}r{batch[row.id] % 5}")] = behind | {batch[row.id]}
        self.rows = result | {Row(number, i % 3, f"r{i % 5}"): frozenset({i}) for number, i in batch.items() if number not in known}

    def overwrite(self) -> None:
        self.shift += 1000
        self._run(f"INSERT OVERWRITE {self.table} SELECT id + {self.shift}, k, s FROM raw WHERE id < 30")
        self.rows = {Row(i + self.shift, i % 3, f"r{i % 5}"): frozenset({i}) for i in range(30)}

    def vacuum(self) -> None:
        self._run("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
        self._run(f"VACUUM {self.table} RETAIN 0 HOURS")


_STEPS: list[Callable[[History], None]] = [
    *[History.append] * 2, *[History.update] * 2, *[History.delete] * 2, *[History.merge] * 4, History.overwrite, History.vacuum,
]  # fmt: skip


def history(laboratory: Laboratory, records: Mapping[Place, int], seed: int, steps: int) -> None:
    """A whole history; raises where the table or its lineage is not the model's."""
    made = History(laboratory, laboratory.folder / f"t{seed}", random.Random(seed), records)
    made.begin()
    for _ in range(steps):
        made.step()


def _places(found: Mapping[Row, str]) -> dict[Row, Place]:
    """Where each row lies, by its id in the file that Spark says: a file may hold rows that the table does not any more, of other ids."""
    ids: dict[str, list[int]] = {}
    result = {}
    for row, file in found.items():
        path = unquote(urlparse(file).path)
        if path not in ids:
            parquet = pq.ParquetFile(path)
            ids[path] = parquet.read(columns=[parquet.schema_arrow.names[0]]).column(0).to_pylist()  # `id`, however it is called
        result[row] = (f"file:{path}", ids[path].index(row.id))
    return result


def _column(path: Path, name: str) -> list[int]:
    values: list[int] = pq.read_table(path, columns=[name])[name].to_pylist()
    return values
