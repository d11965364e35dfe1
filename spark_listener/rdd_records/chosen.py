"""Answers a question about an RDD in workers: which records come from given records, and from which records they come.

Shipped by value to workers, like taps. The stage's own functions run again over the chosen records of its input, each time an answer is
computed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from headwater.spark_listener.rdd_records.starts import Start
from headwater.spark_listener.rdd_records.taps import Function, Tap

Wanted: TypeAlias = "Mapping[int, array[int]]"  # ascending references, by the place in a record's references


class Chosen(Tap):
    """The records at a stage's end that come from a `wanted` record (None: all), and that every function of `keep` accepts."""

    def __init__(
        self, start: Start, inner: Function | None, *, reads: bool, wanted: Wanted | None, keep: Sequence[Callable[[Any], Any]]
    ) -> None:
        super().__init__(start, inner, reads=reads)
        self._wanted, self._keep = wanted, tuple(keep)

    def __call__(self, split: int, iterator: Iterable[Any]) -> Iterable[Any]:
        wanted = None if self._wanted is None else {place: self._start.within(split, found) for place, found in self._wanted.items()}
        if wanted is not None and not any(wanted.values()):
            return
        self._start.arm(split, None, wanted=wanted)
        entered = self._start(split, iterator) if self._reads else iterator
        records = entered if self._inner is None else self._inner(split, entered)
        try:
            yield from self._kept(records)
            self._start.finish()
        finally:
            self._start.abandon()

    def _kept(self, records: Iterable[Any]) -> Iterator[Any]:
        return (record for record in records if all(keep(record) for keep in self._keep))


class MadeOf(Chosen):
    """The sources of the chosen records: for each partition the distinct references, one list for each place in a record's references."""

    def _kept(self, records: Iterable[Any]) -> Iterator[Any]:
        start = self._start
        found: list[set[int]] = [set() for _ in range(start.width)]
        for _ in super()._kept(records):
            for references, reference in zip(found, start.current, strict=True):
                references.add(reference)
        yield [array("q", sorted(references)) for references in found]
