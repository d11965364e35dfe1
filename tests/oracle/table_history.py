"""A table of some format with a random history, and a model of it in Python, which knows the source records of each row.

A history appends to the table, changes it by UPDATE, DELETE and MERGE, overwrites it, and uses other commands of its format. After each
step the table's rows must be the model's. The lineage of each row, asked by data file and position, must be exactly the
model's. A row that is carried over into a new file, by a command or by compaction, keeps the lineage of its former self.

If a table numbers its rows, some steps are done without capture, as by another program. Rows that it only moved keep their lineage. For
rows that it changed, the answer must have the former self's and say that more is missing. Rows that it added are records of their own.
Once files are gone that nobody captured, answers may be smaller, and must say so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import pyarrow.parquet as pq

from headwater.graph.trace import Semantics
from tests.oracle.laboratory import Laboratory, Place

RECORDS = 60


class Row(NamedTuple):
    """A row of the table: `id` is unique in it."""

    id: int
    k: int
    s: str


Rows = dict[Row, frozenset[int]]  # the `id`s of records of `raw` behind each row
_OWN = -1  # in their place for a row that a program which nobody captured added: it is a record of the table itself
_FEW = 4  # rows that are asked for one by one


def raw(laboratory: Laboratory) -> dict[Place, int]:
    """Make a view `raw` of records in files that no capture wrote; the `id` of each by its place."""
    folder = laboratory.folder / "raw"
    with laboratory.without_capture():
        rows = [(i, i % 3, f"r{i % 5}") for i in range(RECORDS)]
        laboratory.spark.createDataFrame(rows, "id int, k int, s string").repartition(3).write.parquet(str(folder))
    laboratory.forget()
    laboratory.spark.read.parquet(str(folder)).createOrReplaceTempView("raw")
    return records(laboratory)


def records(laboratory: Laboratory) -> dict[Place, int]:
    """The `id` of each record of `raw`, by its place."""
    files = sorted((laboratory.folder / "raw").glob("*.parquet"))
    return {
        (f"file:{path}", row): record for path in files for row, record in enumerate(pq.read_table(path, columns=["id"])["id"].to_pylist())
    }


@dataclass
class History:
    """A table and the model of it. A format gives the table's name and DDL, finds its rows, and adds its own commands."""

    laboratory: Laboratory
    name: str
    choose: random.Random
    raw: Mapping[Place, int]
    rows: Rows = field(default_factory=dict)
    told: list[str] = field(default_factory=list)  # the statements so far
    shift: int = 0  # what is added to ids of `raw`, so that those of a batch are new
    numbered: bool = False  # the table numbers its rows
    changed: set[int] = field(default_factory=set)  # ids of rows that others changed
    has_others: bool = False  # others did something
    forgets: bool = False  # files are gone since
    clauses_for_all: ClassVar[bool] = True  # MERGE has a clause for every row that matches

    @property
    def table(self) -> str:
        """The table's name in statements."""
        raise NotImplementedError

    @property
    def path(self) -> Path:
        """Where it lies."""
        raise NotImplementedError

    def create(self) -> None:
        """Make the table, with rows of `raw` whose id is below 20."""
        raise NotImplementedError

    def found(self) -> dict[Row, Place]:
        """The rows that Spark reads, and where each lies."""
        raise NotImplementedError

    def steps(self) -> Sequence[Callable[[], None]]:
        """The possible next steps. A step that is listed twice happens twice as often."""
        return [
            *[self.append] * 2, *[self.update] * 2, self.update_some, self.delete, self.delete_some, *[self.merge] * 4, self.overwrite,
        ]  # fmt: skip

    @classmethod
    def play(cls, laboratory: Laboratory, raw: Mapping[Place, int], seed: int, rounds: int) -> Self:
        """A whole history; raises where the table or its lineage is not the model's."""
        made = cls(laboratory, f"t{seed}", random.Random(seed), raw)
        made.create()
        made.rows = _made(range(20))
        made.check()
        for _ in range(rounds):
            made.choose.choice(made.steps())()
            made.check()
        return made

    def check(self) -> None:
        """See that the table is the model, rows and lineage."""
        with self.laboratory.without_capture():
            found = self.found()
        self.laboratory.forget()
        assert sorted(found) == sorted(self.rows), self.told
        if not found:
            return
        self.changed &= {row.id for row in self.rows}
        for changed in (False, True):
            self._check({row: place for row, place in found.items() if (row.id in self.changed) is changed}, changed=changed)

    def _check(self, found: Mapping[Row, Place], *, changed: bool) -> None:
        """See that the lineage of some rows is the model's; `changed`: others changed each of them."""
        if not found:
            return
        said, exact = self._said(found)
        assert not (changed and exact), (self.told, found)
        if not self.forgets:
            assert exact is not changed, (self.told, said)
        if not self.forgets or exact:
            assert said == {row: self.rows[row] for row in said}, (
                self.told, {row: (said[row], self.rows[row]) for row in said if said[row] != self.rows[row]},
            )  # fmt: skip
            return
        assert all(said[row] <= self.rows[row] | {_OWN} for row in said), (self.told, said)
        for row in self.choose.sample(sorted(found), min(_FEW, len(found))):
            alone, exact = self._said({row: found[row]})
            assert alone == {row: self.rows[row]} or not exact, (self.told, row, alone, self.rows[row])
            assert not (changed and exact), (self.told, row)

    def _said(self, found: Mapping[Row, Place]) -> tuple[Rows, bool]:
        behind, exact = self.laboratory.ask_each(self.path, list(found.values()), Semantics.INFLUENCE)
        said = {row: frozenset(self.raw.get(record, _OWN) for record in behind[place]) for row, place in found.items()}
        # A record in the file of another program is its own source; the answer does not list it.
        return {row: sources or self.rows[row] & {_OWN} for row, sources in said.items()}, exact

    def run_elsewhere(self, statement: str) -> None:
        """Run a statement as another program does, without capture."""
        self.told.append(f"elsewhere: {statement}")
        with self.laboratory.without_capture():
            self.laboratory.spark.sql(statement)
        self.laboratory.forget()
        self.has_others = True

    def run(self, statement: str) -> None:
        """Run a statement, whose captures must be whole."""
        self.told.append(statement)
        self.laboratory.spark.sql(statement)
        for capture in self.laboratory.take():
            assert capture["status"] == "complete", (self.told, capture["problems"])

    def append(self) -> None:
        self.shift += 1000
        modulus, rest, _ = self._batch()
        self.run(f"INSERT INTO {self.table} SELECT id + {self.shift}, k, s FROM raw WHERE id % {modulus} = {rest}")
        self.rows |= _made((i for i in range(RECORDS) if i % modulus == rest), self.shift)

    def update(self) -> None:
        modulus, rest, _ = self._batch()
        self.run(f"UPDATE {self.table} SET s = concat(s, 'u'), k = (k + 1) % 3 WHERE id % {modulus} = {rest}")
        changed = {row: Row(row.id, (row.k + 1) % 3, f"{row.s}u") for row in self.rows if row.id % modulus == rest}
        self.rows = {changed.get(row, row): behind for row, behind in self.rows.items()}

    def update_some(self) -> None:
        modulus, rest, shift = self._batch()
        met = {i + shift: i for i in range(RECORDS) if i % modulus == rest}
        self.run(f"UPDATE {self.table} SET s = 'x' WHERE id IN (SELECT id + {shift} FROM raw WHERE id % {modulus} = {rest})")
        self.rows = {
            (row._replace(s="x") if row.id in met else row): behind | ({met[row.id]} if row.id in met else set())
            for row, behind in self.rows.items()
        }

    def delete(self) -> None:
        modulus, rest, _ = self._batch()
        self.run(f"DELETE FROM {self.table} WHERE id % {modulus} = {rest} AND k <> 1")
        self.rows = {row: behind for row, behind in self.rows.items() if not (row.id % modulus == rest and row.k != 1)}

    def delete_some(self) -> None:
        modulus, rest, shift = self._batch()
        gone = {i + shift for i in range(RECORDS) if i % modulus == rest and i % 2}
        self.run(f"DELETE FROM {self.table} WHERE id IN (SELECT id + {shift} FROM raw WHERE id % {modulus} = {rest} AND id % 2 = 1)")
        self.rows = {row: behind for row, behind in self.rows.items() if row.id not in gone}

    def merge(self) -> None:
        modulus, rest, shift = self._batch()
        of = f"(SELECT id + {shift} AS id, k, s FROM raw WHERE id % {modulus} = {rest})"
        updated = {0, 2} if self.clauses_for_all else {0}
        last = self.choose.random() < 0.5
        by_source = " WHEN NOT MATCHED BY SOURCE AND t.k = 2 THEN UPDATE SET s = concat(t.s, 'o')" if last else ""
        self.run(
            f"MERGE INTO {self.table} t USING {of} m ON t.id = m.id WHEN MATCHED AND t.k = 1 THEN DELETE "
            f"WHEN MATCHED{'' if self.clauses_for_all else ' AND t.k = 0'} THEN UPDATE SET s = concat(t.s, m.s) "
            f"WHEN NOT MATCHED THEN INSERT *{by_source}"
        )
        batch = {i + shift: i for i in range(RECORDS) if i % modulus == rest}
        known = {row.id for row in self.rows}
        result: Rows = {}
        for row, behind in self.rows.items():
            if row.id not in batch:
                result[row._replace(s=f"{row.s}o") if last and row.k == 2 else row] = behind
            elif row.k in updated:
                result[row._replace(s=f"{row.s}r{batch[row.id] % 5}")] = behind | {batch[row.id]}
            elif row.k != 1:
                result[row] = behind  # carried over, though it matched: no clause took it
        self.rows = result | _made((i for number, i in batch.items() if number not in known), shift)

    def overwrite(self) -> None:
        self.shift += 1000
        self.run(f"INSERT OVERWRITE {self.table} SELECT id + {self.shift}, k, s FROM raw WHERE id < 30")
        self.rows = _made(range(30), self.shift)

    def elsewhere(self) -> Sequence[Callable[[], None]]:
        """The steps that others may take on a table that numbers its rows."""
        return [self.update_elsewhere, self.append_elsewhere, self.delete_elsewhere] if self.numbered else []

    def update_elsewhere(self) -> None:
        modulus, rest, _ = self._batch()
        self.run_elsewhere(f"UPDATE {self.table} SET s = concat(s, 'e') WHERE id % {modulus} = {rest}")
        changed = {row: row._replace(s=f"{row.s}e") for row in self.rows if row.id % modulus == rest}
        self.changed |= {row.id for row in changed}
        self.rows = {changed.get(row, row): behind for row, behind in self.rows.items()}

    def append_elsewhere(self) -> None:
        self.shift += 1000
        modulus, rest, _ = self._batch()
        self.run_elsewhere(f"INSERT INTO {self.table} SELECT id + {self.shift}, k, s FROM raw WHERE id % {modulus} = {rest} AND id < 20")
        self.rows |= dict.fromkeys(_made((i for i in range(20) if i % modulus == rest), self.shift), frozenset({_OWN}))

    def delete_elsewhere(self) -> None:
        modulus, rest, _ = self._batch()
        self.run_elsewhere(f"DELETE FROM {self.table} WHERE id % {modulus} = {rest} AND k = 1")
        self.rows = {row: behind for row, behind in self.rows.items() if not (row.id % modulus == rest and row.k == 1)}

    def _batch(self) -> tuple[int, int, int]:
        """Some records: `id` modulo a number, and what is added to their ids."""
        modulus = self.choose.choice([2, 3, 5, 7])
        return modulus, self.choose.randrange(modulus), self.choose.choice([0, self.shift])


def _made(of: Iterable[int], shift: int = 0) -> Rows:
    return {Row(i + shift, i % 3, f"r{i % 5}"): frozenset({i}) for i in of}
