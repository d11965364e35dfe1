"""Finds captures that no trace from present data needs, by the indexes of the catalog.

A capture may be pruned if all its output was replaced, and every capture that read its output is pruned. The catalog stores for a needed
capture one capture that needs it (`held`), and does not check it again before that one is pruned. So the cost does not grow with the kept
captures.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

_READER = (
    "SELECT t.capture FROM written w CROSS JOIN consumed t ON t.path = w.path AND t.length = w.length AND t.modified = w.modified "
    "CROSS JOIN capture c ON c.number = t.capture WHERE w.capture = ? AND t.capture <> w.capture AND c.pruned = 0"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A capture whose output was replaced at the time `replaced`. `bytes` is the size of its tables."""

    number: int
    capture: str
    run: str
    job: str
    ended: str
    replaced: str
    namespace: str
    name: str
    bytes: int


class Prunable:
    """Queries and marks in the catalog for pruning. `rows` runs an SQL statement, `transaction` opens a transaction."""

    def __init__(
        self,
        rows: Callable[[str, Sequence[object]], list[tuple[Any, ...]]],
        transaction: Callable[[], AbstractContextManager[sqlite3.Connection]],
    ) -> None:
        self._rows = rows
        self._transaction = transaction

    def candidates(self, tenant: str, before: str, after: tuple[str, int], most: int) -> list[Candidate]:
        """Return captures whose output was replaced before an instant, and that no capture is known to need.

        The page begins after the position `after` (`replaced`, `number`).
        """
        return self._chosen("c.tenant = ? AND c.replaced < ? AND (c.replaced, c.number) > (?, ?) AND c.replaced <> '' AND c.held = 0 "
                            "AND c.pruned = 0 ORDER BY c.replaced, c.number LIMIT ?", [tenant, before, *after, most])  # fmt: skip

    def held_by(self, number: int) -> list[Candidate]:
        """Return the captures that are marked as needed by a capture, and whose output was replaced."""
        return self._chosen("c.held = ? AND c.held <> 0 AND c.replaced <> '' AND c.pruned = 0 ORDER BY c.number", [number])

    def holder(self, number: int, without: Collection[int] = ()) -> int | None:
        """Return a capture that read the output of this capture, except those in `without`. None if there is none."""
        return self._holder(self._rows, number, without)

    def hold(self, number: int, holder: int) -> None:
        with self._transaction() as database:
            database.execute("UPDATE capture SET held = ? WHERE number = ?", [holder, number])

    def mark(self, number: int) -> bool:
        """Mark the tables of a capture for deletion, and release the captures that it needs. Return false if a capture needs it now."""
        with self._transaction() as database:
            if self._holder(lambda statement, values: database.execute(statement, values).fetchall(), number, ()) is not None:
                return False
            database.execute("UPDATE capture SET pruned = 1, held = 0 WHERE number = ? AND pruned = 0", [number])
            database.execute("UPDATE capture SET held = 0 WHERE held = ? AND held <> 0", [number])
            database.execute(
                "DELETE FROM unkept WHERE (tenant, capture) = (SELECT tenant, capture FROM capture WHERE number = ?)", [number]
            )
            return True

    def pruned_elsewhere(self, tenant: str, capture: str) -> None:
        for (number,) in self._rows("SELECT number FROM capture WHERE tenant = ? AND capture = ? AND pruned <> 2", [tenant, capture]):
            self.gone(number)
            with self._transaction() as database:
                database.execute("UPDATE capture SET held = 0 WHERE held = ? AND held <> 0", [number])

    def going(self, tenant: str, most: int) -> list[tuple[int, str]]:
        """Return captures that are marked and whose tables may still exist."""
        selection = "SELECT number, capture FROM capture WHERE tenant = ? AND pruned = 1 ORDER BY number LIMIT ?"
        return [(number, capture) for number, capture in self._rows(selection, [tenant, most])]

    def gone(self, number: int) -> None:
        with self._transaction() as database:
            ((tenant, size),) = database.execute("SELECT tenant, bytes FROM capture WHERE number = ?", [number])
            database.execute("UPDATE capture SET pruned = 2, bytes = 0 WHERE number = ?", [number])
            database.execute("UPDATE tally SET bytes = bytes - ? WHERE tenant = ?", [size, tenant])

    def bytes_kept(self, tenant: str) -> int:
        return sum(row[0] for row in self._rows("SELECT bytes FROM tally WHERE tenant = ?", [tenant]))

    def pruned_among(self, tenant: str, captures: Collection[str]) -> set[str]:
        selection = "SELECT 1 FROM capture WHERE tenant = ? AND capture = ? AND pruned > 0"
        return {capture for capture in captures if self._rows(selection, [tenant, capture])}

    def _chosen(self, condition: str, values: list[object]) -> list[Candidate]:
        rows = self._rows(
            "SELECT c.number, c.capture, c.run, j.name, c.at, c.replaced, d.namespace, d.name, c.bytes FROM capture c "
            f"CROSS JOIN job j ON j.number = c.job CROSS JOIN dataset d ON d.number = c.output WHERE {condition}",
            values,
        )
        return [Candidate(*row) for row in rows]

    @staticmethod
    def _holder(rows: Callable[[str, Sequence[object]], list[tuple[Any, ...]]], number: int, without: Collection[int]) -> int | None:
        readers = rows(_READER, [number]) if without else rows(f"{_READER} LIMIT 1", [number])
        return next((int(reader) for (reader,) in readers if reader not in without), None)
