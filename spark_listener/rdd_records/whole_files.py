"""Identifies records that are whole files. Shipped by value to workers that may lack Headwater: standard library only."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from headwater.spark_listener.rdd_records.starts import Start


class WholeFiles(Start):
    """Identifies records by their file. A reference has the file's number, and no position in it."""

    def __init__(self) -> None:
        super().__init__()
        self.firsts: Sequence[int] = ()  # number of each partition's first file, and one more; known after the listing

    def within(self, split: int, references: array[int]) -> frozenset[int]:
        begin, end = (bisect_left(references, self.firsts[one] << 40) for one in (split, split + 1))
        return frozenset(references[begin:end])

    def one_by_one(self, iterator: Iterator[Any]) -> Iterator[Any]:
        for number, record in enumerate(iterator, self.firsts[self._split]):
            self.current = (number << 40,)
            yield record

    def references(self, noted: Sequence[Any], first: int, count: int) -> list[Sequence[int]]:  # noqa: ARG002  # for others
        begin = self.firsts[self._split] + first
        return [range(begin << 40, begin + count << 40, 1 << 40)]
