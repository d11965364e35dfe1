"""Sets of records as ranges of rows in files, small even if a file has millions of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class RecordSet:
    """A set of records: sorted ranges (file, first row, row after the last), which never touch each other."""

    ranges: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, rows: Mapping[str, Iterable[int]]) -> RecordSet:
        return cls.of_ranges((file, row, row + 1) for file, numbers in rows.items() for row in numbers)

    @classmethod
    def of_ranges(cls, ranges: Iterable[tuple[str, int, int]]) -> RecordSet:
        joined: list[tuple[str, int, int]] = []
        for file, first, end in sorted(ranges):
            if first >= end:
                continue
            if joined and joined[-1][0] == file and first <= joined[-1][2]:
                joined[-1] = (file, joined[-1][1], max(end, joined[-1][2]))
            else:
                joined.append((file, first, end))
        return cls(tuple(joined))

    def __len__(self) -> int:
        return sum(end - first for _, first, end in self.ranges)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return ((file, row) for file, first, end in self.ranges for row in range(first, end))

    def __or__(self, other: RecordSet) -> RecordSet:
        return RecordSet.of_ranges((*self.ranges, *other.ranges))

    def slice(self, start: int, end: int) -> RecordSet:
        """Return the records from one position in the order of the set to another."""
        found: list[tuple[str, int, int]] = []
        position = 0
        for file, first, after in self.ranges:
            begin, stop = max(start - position, 0), min(end - position, after - first)
            if begin < stop:
                found.append((file, first + begin, first + stop))
            position += after - first
            if position >= end:
                break
        return RecordSet(tuple(found))

    def split(self, parts: int) -> list[RecordSet]:
        """Return the set in parts of nearly the same size, in its order."""
        size = len(self)
        edges = [size * part // parts for part in range(parts + 1)]
        return [self.slice(begin, end) for begin, end in pairwise(edges) if begin < end]

    def without_slice(self, start: int, end: int) -> RecordSet:
        return self.slice(0, start) | self.slice(end, len(self))

    def by_file(self) -> dict[str, list[tuple[int, int]]]:
        found: dict[str, list[tuple[int, int]]] = {}
        for file, first, end in self.ranges:
            found.setdefault(file, []).append((first, end))
        return found

    def of_files(self, files: Iterable[str]) -> RecordSet:
        wanted: Sequence[str] | set[str] = set(files)
        return RecordSet(tuple(each for each in self.ranges if each[0] in wanted))
