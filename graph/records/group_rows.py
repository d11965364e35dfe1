"""Sorts rows by the number of their group, for rows that come in the order of their records.

A task reads its records in order, so only the group is left to sort by. Blocks of rows are sorted by the digits of small numbers (radix),
within the cache of the processor. These runs are merged by counting, a range of groups at a time, without further comparisons. Runs that do
not fit in memory are files, which are read as the merge reaches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from headwater.graph.records.decode import Longs
from headwater.graph.records.row_order import in_order

Numbers = npt.NDArray[np.uint32]
_DIGIT = 1 << 16


class GroupedRows:
    """Collects the rows of a boundary, part after part, and yields them sorted, about `at_once` rows at a time.

    Rows beyond `most_rows` go to files in a folder.
    """

    def __init__(self, folder: Path, *, most_rows: int, at_once: int) -> None:
        self._folder = folder
        self._most_rows = most_rows
        self._at_once = at_once
        self._rows = 0
        self._last: list[int] | None = None
        self._totals = np.zeros(0, np.int64)  # rows of each group
        self._runs: list[_Reader] = []

    def add(self, numbers: Numbers, columns: Sequence[Longs]) -> bool:
        """Add rows: the number of each row's group, and its other columns. Return false if the rows are not in order.

        The rows must ascend by the other columns. Otherwise this class cannot sort any of them.
        """
        if not len(numbers):
            return True
        if not in_order(columns) or (self._last is not None and [int(column[0]) for column in columns] < self._last):
            return False
        self._last = [int(column[-1]) for column in columns]
        run = _sorted_run(numbers, columns)
        self._count(run)
        self._rows += len(numbers)
        is_stored = self._rows > self._most_rows
        self._runs.append(_StoredRun(self._folder / str(len(self._runs)), run) if is_stored else _RunInMemory(run))
        return True

    def sorted(self) -> Iterator[tuple[Longs, list[Longs]]]:
        """Yield all rows, ascending by group and then by the other columns, in parts. Can be called once."""
        for first, after in _ranges(self._totals, self._at_once):
            pieces = (piece for run in self._runs if len((piece := run.until(after)).groups))
            if after - first == 1:  # one group may have more rows than fit in memory
                yield from ((piece.repeated(), list(piece.columns)) for piece in pieces)
            elif merged_pieces := list(pieces):
                yield _merge_runs(merged_pieces, self._totals[first:after], first)

    def _count(self, run: _Run) -> None:
        most = int(run.groups[-1]) + 1
        if most > len(self._totals):
            self._totals = np.concatenate((self._totals, np.zeros(max(most, 2 * len(self._totals)) - len(self._totals), np.int64)))
        self._totals[run.groups] += run.counts


class _Run(NamedTuple):
    """Rows in ascending order of groups: the distinct groups, the number of rows of each group, and the columns."""

    groups: Numbers
    counts: Longs
    columns: Sequence[Longs]

    def repeated(self) -> Longs:
        return np.repeat(self.groups, self.counts).astype(np.int64)


class _Reader(Protocol):
    """Reads the rows of a run, from the start."""

    def until(self, after: int) -> _Run:
        """Return the next rows, up to the group with the number `after` (excluded)."""


class _RunInMemory:
    def __init__(self, run: _Run) -> None:
        self._run = run
        self._group = self._row = 0

    def until(self, after: int) -> _Run:
        begin, row, run = self._group, self._row, self._run
        self._group = begin + int(np.searchsorted(run.groups[begin:], np.uint32(after)))
        counts = run.counts[begin : self._group]
        self._row = row + int(counts.sum())
        return _Run(run.groups[begin : self._group], counts, [column[row : self._row] for column in run.columns])


class _StoredRun:
    """A run in a file: its groups, the number of rows of each, then a column after the other."""

    def __init__(self, path: Path, run: _Run) -> None:
        self._path = path
        self._groups, self._rows, self._columns = len(run.groups), len(run.columns[0]) if run.columns else 0, len(run.columns)
        self._group = self._row = self._before = 0
        with path.open("wb") as file:
            for array in run:
                for part in [array] if isinstance(array, np.ndarray) else array:
                    np.ascontiguousarray(part).tofile(file)

    def until(self, after: int) -> _Run:
        most = min(self._groups - self._group, after - self._before)  # a run has each group once
        self._before = after
        if not most:
            return _Run(np.empty(0, np.uint32), np.empty(0, np.int64), [])
        groups = self._read(np.uint32, 4 * self._group, most)
        groups = groups[: int(np.searchsorted(groups, np.uint32(after)))]
        counts = self._read(np.int64, 4 * self._groups + 8 * self._group, len(groups))
        rows, begin = int(counts.sum()), 12 * self._groups + 8 * self._row
        columns = [self._read(np.int64, begin + 8 * self._rows * place, rows) for place in range(self._columns)]
        self._group, self._row = self._group + len(groups), self._row + rows
        return _Run(groups, counts, columns)

    def _read(self, kind: Any, at: int, count: int) -> npt.NDArray[Any]:
        return np.fromfile(self._path, kind, count, offset=at)


def _sorted_run(numbers: Numbers, columns: Sequence[Longs]) -> _Run:
    digits = numbers.view(np.uint16)  # the lower one of each number first: little-endian, as every machine that Spark is built for
    places = np.argsort(digits[0::2], kind="stable")  # of 16 bits, this is a radix sort
    if int(numbers.max()) >= _DIGIT:
        places = places[np.argsort(digits[1::2][places], kind="stable")]
    ascending = numbers[places]
    starts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
    return _Run(ascending[starts], np.diff(starts, append=len(numbers)), [column[places] for column in columns])


def _ranges(totals: Longs, at_once: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups with at most `at_once` rows together. A larger group is a range of its own."""
    ends = np.cumsum(totals)
    first = rows_before = 0
    while first < len(totals):
        after = max(first + 1, int(np.searchsorted(ends, rows_before + at_once, "right")))
        yield first, after
        first, rows_before = after, int(ends[after - 1])


def _merge_runs(pieces: Sequence[_Run], totals: Longs, first: int) -> tuple[Longs, list[Longs]]:
    """Merge the rows of all pieces by group. Within a group, rows keep the order of the pieces."""
    next_places = np.cumsum(totals) - totals  # where the next row of each group goes
    columns = [np.empty(int(totals.sum()), np.int64) for _ in pieces[0].columns]
    for piece in pieces:
        groups, starts = piece.groups - np.uint32(first), np.cumsum(piece.counts) - piece.counts
        places = np.repeat(next_places[groups] - starts, piece.counts) + np.arange(int(piece.counts.sum()))
        for target, column in zip(columns, piece.columns, strict=True):
            target[places] = column
        next_places[groups] += piece.counts
    return np.repeat(np.arange(first, first + len(totals)), totals), columns
