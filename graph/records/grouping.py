"""Rows of groups, sorted by the group's number, for rows that come in the order of their records.

A task reads its records in order, so nothing is left to sort by but the group. Some rows at a time are sorted by the digits of small
numbers (radix), in what the processor keeps near; such runs are merged by counting, a range of groups at a time, without a further
comparison. Runs that do not fit in memory are on the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headwater.graph.records.decode import Longs
from headwater.graph.records.ordering import in_order

Numbers = npt.NDArray[np.uint32]
_DIGIT = 1 << 16
_AT_ONCE = 1 << 20  # rows of a part that is given


class GroupedRows:
    """Takes the rows of a boundary, part after part, and gives them sorted. What is beyond `most_rows` goes to files in a folder."""

    def __init__(self, folder: Path, *, most_rows: int) -> None:
        self._folder = folder
        self._most_rows = most_rows
        self._rows = 0
        self._last: list[int] | None = None
        self._runs: list[_Run] = []

    def add(self, numbers: Numbers, columns: Sequence[Longs]) -> bool:
        """Take the rows of groups by number, with the columns that they have besides.

        False where rows do not come in the order of these columns: then none of them can be sorted here.
        """
        if not len(numbers):
            return True
        if not in_order(columns) or (self._last is not None and [int(column[0]) for column in columns] < self._last):
            return False
        self._last = [int(column[-1]) for column in columns]
        run = _sorted_run(numbers, columns)
        self._rows += len(numbers)
        if self._rows > self._most_rows:
            run = run.on_disk(self._folder / str(len(self._runs)))
        self._runs.append(run)
        return True

    def sorted(self) -> Iterator[tuple[Longs, list[Longs]]]:
        """All rows, ascending by group and then by the columns, in parts."""
        if not self._runs:
            return
        totals = np.zeros(max(int(run.groups[-1]) for run in self._runs) + 1, np.int64)
        for run in self._runs:
            totals[run.groups] += run.counts
        for first, after in _ranges(totals):
            pieces = [piece for run in self._runs if len((piece := run.of(first, after)).groups)]
            if after - first == 1:  # perhaps more rows than fit in memory
                yield from ((piece.repeated(), list(piece.columns)) for piece in pieces)
            elif pieces:
                yield _merged(pieces, totals[first:after], first)


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows ascending by group: the groups that there are, how many rows each has, and the columns."""

    groups: Numbers
    counts: Longs
    columns: Sequence[Longs]

    def of(self, first: int, after: int) -> _Run:
        """The rows of a range of groups."""
        begin, end = (int(place) for place in np.searchsorted(self.groups, np.array([first, after], np.uint32)))
        before, rows = int(self.counts[:begin].sum()), int(self.counts[begin:end].sum())
        return _Run(self.groups[begin:end], self.counts[begin:end], [column[before : before + rows] for column in self.columns])

    def repeated(self) -> Longs:
        """The group of each row."""
        return np.repeat(self.groups, self.counts).astype(np.int64)

    def on_disk(self, folder: Path) -> _Run:
        """The same rows, in files that are mapped into memory as they are read."""
        folder.mkdir(parents=True)
        mapped: list[Longs] = []
        for place, column in enumerate(self.columns):
            column.tofile(folder / str(place))
            mapped.append(np.memmap(folder / str(place), np.int64, "r"))
        return _Run(self.groups, self.counts, mapped)


def _sorted_run(numbers: Numbers, columns: Sequence[Longs]) -> _Run:
    digits = numbers.view(np.uint16)  # the lower one of each number first: little-endian, as every machine that Spark is built for
    places = np.argsort(digits[0::2], kind="stable")  # of 16 bits, this is a radix sort
    if int(numbers.max()) >= _DIGIT:
        places = places[np.argsort(digits[1::2][places], kind="stable")]
    ascending = numbers[places]
    starts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
    return _Run(ascending[starts], np.diff(starts, append=len(numbers)), [column[places] for column in columns])


def _ranges(totals: Longs) -> Iterator[tuple[int, int]]:
    """Ranges of groups that have so many rows together; a group that has more is one of its own."""
    ends = np.cumsum(totals)
    first = before = 0
    while first < len(totals):
        after = max(first + 1, int(np.searchsorted(ends, before + _AT_ONCE, "right")))
        yield first, after
        first, before = after, int(ends[after - 1])


def _merged(pieces: Sequence[_Run], totals: Longs, first: int) -> tuple[Longs, list[Longs]]:
    """The rows of all pieces: of each group those of the first piece, then those of the second, and so on."""
    free = np.cumsum(totals) - totals  # where the next row of each group goes
    columns = [np.empty(int(totals.sum()), np.int64) for _ in pieces[0].columns]
    for piece in pieces:
        groups, starts = piece.groups - np.uint32(first), np.cumsum(piece.counts) - piece.counts
        places = np.repeat(free[groups] - starts, piece.counts) + np.arange(len(piece.columns[0]))
        for whole, column in zip(columns, piece.columns, strict=True):
            whole[places] = column
        free[groups] += piece.counts
    return np.repeat(np.arange(first, first + len(totals)), totals), columns
