"""Random histories of an Iceberg table against a model of it in Python, which knows of each row the source records behind it.

A history is a table, of some version, partitioned or not, that is appended to, changed by UPDATE, DELETE and MERGE, overwritten, compacted
and expired. After each step the table's rows must be the model's, and the lineage of each row, asked of the service by data file and
position, exactly the model's. A row that is carried over, by a command or by compaction, keeps the lineage of its former self.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from headwater.graph.trace import Semantics
from tests.lake import table_jars
from tests.oracle.laboratory import Laboratory, laboratory_in

RECORDS = 60
CATALOG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
}
_DAY = "TIMESTAMP '2100-01-01 00:00:00'"


class Row(NamedTuple):
    """A row of the table: `id` is unique in it."""

    id: int
    k: int
    s: str


Source = frozenset[int]  # `id`s of records of the files that the table is made from
Rows = dict[Row, Source]


@contextmanager
def lake_in(folder: Path) -> Iterator[Laboratory]:
    """A laboratory with a catalog `lake` of Iceberg and a view `raw` of records, in files that no capture wrote."""
    jars = ",".join(map(str, sorted(table_jars().glob("*.jar"))))
    options = {**CATALOG, "spark.sql.catalog.lake.warehouse": f"{folder}/lake", "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    with laboratory_in(folder, budget=0.0, submitted=f"--jars {jars}", conf=options) as laboratory:
        spark = laboratory.spark
        with laboratory.without_capture():
            rows = [(i, i % 3, f"r{i}") for i in range(RECORDS)]
            spark.createDataFrame(rows, "id int, k int, s string").repartition(3).write.parquet(f"{folder}/raw")
        laboratory.forget()
        spark.read.parquet(f"{folder}/raw").createOrReplaceTempView("raw")
        yield laboratory


def raw_ids(folder: Path) -> dict[tuple[str, int], int]:
    """The `id` of each record of `raw`, by its place."""
    return {
        (f"file:{path}", row): record
        for path in sorted((folder / "raw").glob("*.parquet"))
        for row, record in enumerate(pq.read_table(path, columns=["id"])["id"].to_pylist())
    }


@dataclass
class History:
    """A table `lake.db.<name>` and the model of it."""

    laboratory: Laboratory
    name: str
    choose: random.Random
    raw: Mapping[tuple[str, int], int]
    rows: Rows = field(default_factory=dict)
    told: list[str] = field(default_factory=list)  # the statements so far
    shift: int = 0  # what is added to ids of `raw`, so that those of a batch are new

    def begin(self, *, version: int, mode: str, partitioned: str, ordered: bool) -> None:
        """Make the table from some of the records."""
        fanout = self.choose.choice(["true", "false"])
        properties = [f"'format-version' = '{version}'", f"'write.spark.fanout.enabled' = '{fanout}'"]
        properties += [f"'write.{command}.mode' = '{mode}'" for command in ("delete", "update", "merge")]
        made = f"CREATE TABLE {self.table} USING iceberg {partitioned} TBLPROPERTIES ({', '.join(properties)})"
        self._run(f"{made} AS SELECT * FROM raw WHERE id < 20")
        self.rows = {Row(i, i % 3, f"r{i}"): frozenset({i}) for i in range(20)}
        if ordered:
            self._run(f"ALTER TABLE {self.table} WRITE ORDERED BY s DESC")

    @property
    def table(self) -> str:
        return f"lake.db.{self.name}"

    def step(self) -> None:
        """Do one thing at random to the table and to the model, and compare them."""
        self.choose.choice(_STEPS)(self)
        self.check()

    def check(self) -> None:
        """See that the table is the model, rows and lineage."""
        table = self.laboratory.spark.table(self.table)
        with self.laboratory.without_capture():
            found = [
                (Row(row.id, row.k, row.s), (_uri(row._file), row._pos)) for row in table.select("id", "k", "s", "_file", "_pos").collect()
            ]
        self.laboratory.forget()
        assert sorted(row for row, _ in found) == sorted(self.rows), self.told
        if not found:
            return
        folder = self.laboratory.folder / "lake" / "db" / self.name
        behind, exact = self.laboratory.ask_each(folder, [place for _, place in found], Semantics.INFLUENCE)
        wrong = {row: (_shown(behind[place], self.raw), self.rows[row]) for row, place in found
                 if _shown(behind[place], self.raw) != self.rows[row]}  # fmt: skip
        assert not wrong, (self.told, wrong)
        assert exact, self.told

    def _run(self, statement: str) -> None:
        self.told.append(statement)
        self.laboratory.spark.sql(statement)
        for capture in self.laboratory.take():
            assert capture["status"] == "complete", (self.told, capture["problems"])

    def _batch(self) -> tuple[int, int, int]:
        """Some records: `id` modulo a number, and what is added to their ids."""
        modulus = self.choose.choice([2, 3, 5, 7])
        return modulus, self.choose.randrange(modulus), self.choose.choice([0, self.shift])

    def append(self) -> None:
        self.shift += 1000
        modulus, rest, _ = self._batch()
        self._run(f"INSERT INTO {self.table} SELECT id + {self.shift}, k, s FROM raw WHERE id % {modulus} = {rest}")
        self.rows |= {Row(i + self.shift, i % 3, f"r{i}"): frozenset({i}) for i in range(RECORDS) if i % modulus == rest}

    def update(self) -> None:
        modulus, rest, _ = self._batch()
        self._run(f"UPDATE {self.table} SET s = concat(s, 'u'), k = (k + 1) % 3 WHERE id % {modulus} = {rest}")
        self.rows = {
            (Row(row.id, (row.k + 1) % 3, f"{row.s}u") if row.id % modulus == rest else row): source for row, source in self.rows.items()
        }

    def update_some(self) -> None:
        modulus, rest, shift = self._batch()
        met = {i + shift: i for i in range(RECORDS) if i % modulus == rest}
        self._run(f"UPDATE {self.table} SET s = 'x' WHERE id IN (SELECT id + {shift} FROM raw WHERE id % {modulus} = {rest})")
        self.rows = {
            (row._replace(s="x") if row.id in met else row): source | ({met[row.id]} if row.id in met else set())
            for row, source in self.rows.items()
        }

    def delete(self) -> None:
        modulus, rest, _ = self._batch()
        self._run(f"DELETE FROM {self.table} WHERE id % {modulus} = {rest} AND k <> 1")
        self.rows = {row: source for row, source in self.rows.items() if not (row.id % modulus == rest and row.k != 1)}

    def delete_some(self) -> None:
        modulus, rest, shift = self._batch()
        gone = {i + shift for i in range(RECORDS) if i % modulus == rest and i % 2}
        self._run(f"DELETE FROM {self.table} WHERE id IN (SELECT id + {shift} FROM raw WHERE id % {modulus} = {rest} AND id % 2 = 1)")
        self.rows = {row: source for row, source in self.rows.items() if row.id not in gone}

    def merge(self) -> None:
        modulus, rest, shift = self._batch()
        source = f"(SELECT id + {shift} AS id, k, s FROM raw WHERE id % {modulus} = {rest})"
        last = self.choose.random() < 0.5
        by_source = " WHEN NOT MATCHED BY SOURCE AND t.k = 2 THEN UPDATE SET s = concat(t.s, 'o')" if last else ""
        self._run(
            f"MERGE INTO {self.table} t USING {source} m ON t.id = m.id WHEN MATCHED AND t.k = 0 THEN UPDATE SET s = concat(t.s, m.s) "
            f"WHEN MATCHED AND t.k = 1 THEN DELETE WHEN NOT MATCHED THEN INSERT *{by_source}"
        )
        batch = {i + shift: i for i in range(RECORDS) if i % modulus == rest}
        known = {row.id for row in self.rows}
        result: Rows = {}
        for row, behind in self.rows.items():
            if row.id in batch and row.k == 0:
                result[row._replace(s=f"{row.s}r{batch[row.id]}")] = behind | {batch[row.id]}
            elif row.id not in batch and last and row.k == 2:
                result[row._replace(s=f"{row.s}o")] = behind
            elif row.id not in batch or row.k == 2:
                result[row] = behind  # carried over: also where it matched, and no clause took it
        result |= {Row(number, i % 3, f"r{i}"): frozenset({i}) for number, i in batch.items() if number not in known}
        self.rows = result

    def overwrite(self) -> None:
        self.shift += 1000
        self._run(f"INSERT OVERWRITE {self.table} SELECT id + {self.shift}, k, s FROM raw WHERE id < 30")
        self.rows = {Row(i + self.shift, i % 3, f"r{i}"): frozenset({i}) for i in range(30)}

    def compact(self) -> None:
        self._run(f"CALL lake.system.rewrite_data_files(table => 'db.{self.name}', options => map('rewrite-all', 'true'))")

    def expire(self) -> None:
        self._run(f"CALL lake.system.expire_snapshots(table => 'db.{self.name}', older_than => {_DAY}, retain_last => 1)")


_STEPS: list[Callable[[History], None]] = [
    *[History.append] * 2, *[History.update] * 2, History.update_some, History.delete, History.delete_some, *[History.merge] * 4,
    History.overwrite, *[History.compact] * 2, History.expire,
]  # fmt: skip
PARTITIONS = ("", "PARTITIONED BY (k)", "PARTITIONED BY (bucket(3, id))", "PARTITIONED BY (truncate(1, s), k)")


def history(laboratory: Laboratory, raw: Mapping[tuple[str, int], int], seed: int, steps: int) -> History:
    """A whole history; raises where the table or its lineage is not the model's."""
    choose = random.Random(seed)
    made = History(laboratory, f"t{seed}", choose, raw)
    version = choose.choice([2, 3])
    mode = choose.choice(["copy-on-write", "merge-on-read"])
    made.begin(version=version, mode=mode, partitioned=choose.choice(PARTITIONS), ordered=choose.random() < 0.3)
    made.check()
    for _ in range(steps):
        made.step()
    return made


def _uri(path: str) -> str:
    return path if path.startswith("file:") else f"file:{path}"


def _shown(places: frozenset[tuple[str, int]], raw: Mapping[tuple[str, int], int]) -> frozenset[int]:
    return frozenset(raw.get(place, -1) for place in places)
