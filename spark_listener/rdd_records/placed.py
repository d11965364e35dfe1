"""Follows a function over a partition with declared sources for its results. Shipped by value to workers without Headwater.

The program's `of` returns the positions of records among those that the function has read. Its answer is checked: after an invalid
position, all results of the partition depend on all records read, and the capture is a superset.
"""

from __future__ import annotations

import pickle
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import index
from typing import Any

from headwater.spark_listener.rdd_records.starts import NONE, Numbered, Start
from headwater.spark_listener.rdd_records.taps import Function, Report, Tap

_MOST_PULLED = 1 << 22  # records of a partition whose sources are held in memory
_MOST_WHOLE = 1 << 22  # rows: results times records, if each result depends on all records
_MOST_EACH = 256  # declared positions for each record read
_SPARE = 65_536  # further positions
_COPIED = 4096  # records that are stored to verify a result
_AGAIN = 10_000  # results of the function that are compared to verify one


class NotAsDeclaredError(Exception):
    """A function contradicts the program's declaration of its sources."""


class Placed(Numbered):
    """Numbers the results, and records the sources that `of` returns for each.

    Every `check`-th result is verified by calling `function` with its records alone; 0 verifies none. With `indexed`, the function takes
    the partition's number too.
    """

    def __init__(
        self, of: Callable[[int, Any], Iterable[int]], function: Callable[..., Any], report: Report, width: int, *, check: int = 0,
        indexed: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._of, self._function, self._report, self._check, self._indexed = of, function, report, check, indexed
        self._of_width = width  # number of references of each record read; a result has one
        self._wrong: str | None = None
        self._pass = False

    def counter(self, split: int) -> None:  # noqa: ARG002  # each result is looked at
        return None

    def arm(self, split: int, out: list[Any] | None, counter: Any = None, wanted: Mapping[int, frozenset[int]] | None = None) -> None:
        super().arm(split, out, counter, wanted)
        self._pass = True
        self._made_of = [array("q") for _ in range(self._of_width)]
        self._copies: deque[bytes] = deque(maxlen=_COPIED)
        self._results = self._places = 0
        self._wrong = None
        self._report.begin(split)

    # the records that the function reads

    @property
    def takes(self) -> bool:
        return self._pass

    def pulled(self, record: Any, references: Sequence[int]) -> None:
        """Note the sources of a record before the function receives it. Never raises."""
        if len(self._made_of[0]) < _MOST_PULLED:
            for column, reference in zip(self._made_of, references, strict=True):
                column.append(reference)
        elif self._wrong is None:
            self._fail(f"a function that declares what its results are made of pulls more than {_MOST_PULLED:,} records of a partition")
        if self._check:
            try:
                self._copies.append(pickle.dumps(record))
            except Exception as fault:  # noqa: BLE001  # the program goes on
                self._report.fail(fault)

    # the results of the function

    def one_by_one(self, iterator: Iterator[Any]) -> Iterator[Any]:
        for record in iterator:
            self.current = ((self._split << 40) + self._results,)
            self._note(record)
            yield record

    def note(self, iterator: Iterator[Any], out: list[Any], mark: Callable[[int], None]) -> Iterator[Any]:
        for record in iterator:
            mark(len(out))
            self._note(record)
            yield record

    def called(self, split: int) -> None:
        self._report.called(split)

    def finish(self, *, partly: bool = False) -> None:
        if self._pass:
            self._pass = False
            if self._wrong is not None:
                self._all_of_all()
        self._report.finish(partly=partly)

    def abandon(self) -> None:
        self._pass = False
        self._report.abandon()

    def _note(self, result: Any) -> None:
        """Record the sources of a result. Never raises, because the program's functions run around it."""
        number, self._results = self._results, self._results + 1
        if self._wrong is not None:
            return
        try:
            places = self._declared(number, result)
        except Exception as fault:  # noqa: BLE001  # the program's function, which it did not call here
            self._wrong = f"{type(fault).__name__}: {fault}"
            self._report.restart()
            return
        key = (self._split << 40) + number
        if places:
            columns = [array("q", [column[place] for place in places]) for column in self._made_of]
        else:
            columns = [array("q", [NONE]) for _ in self._made_of]  # the result exists, and has no sources
        self._report.add([array("q", [key]) * len(columns[0]), *columns])
        if self._check and not number % self._check:
            self._verify(result, places)

    def _declared(self, number: int, result: Any) -> list[int]:
        there = len(self._made_of[0])
        places = sorted(set(map(index, islice(self._of(number, result), there + 1))))
        if places and not 0 <= places[0] <= places[-1] < there:
            place = places[0] if places[0] < 0 else places[-1]
            raise NotAsDeclaredError(f"it gives the place {place} for result {number}, when {there} records had been pulled")
        self._places += len(places)
        if self._places > there * _MOST_EACH + _SPARE:
            raise NotAsDeclaredError(f"it gives more than {_MOST_EACH} places for each record")
        return places

    def _all_of_all(self) -> None:
        there = len(self._made_of[0])
        reason = f"what a function declares that its results are made of is not so: {self._wrong}"
        if there * self._results > _MOST_WHOLE:
            self._fail(f"{reason}; to take each of {self._results:,} results for one of {there:,} records is too much")
            return
        self._report.say_superset(f"{reason}; all records that it pulled of such a partition are given")
        for key in range(self._split << 40, (self._split << 40) + self._results):
            self._report.add([array("q", [key]) * there, *self._made_of])

    def _fail(self, reason: str) -> None:
        self._report.fail(NotAsDeclaredError(reason))

    def _verify(self, result: Any, places: Sequence[int]) -> None:
        """Call the function with the records of a result alone, and check that it returns the result. Never raises."""
        before = len(self._made_of[0]) - len(self._copies)  # records that are no longer stored
        if places and places[0] < before:
            return
        try:
            wanted = pickle.dumps(result)
            records = [pickle.loads(self._copies[place - before]) for place in places]  # noqa: S301  # our own
            given = [self._split, iter(records)] if self._indexed else [iter(records)]
            again = [pickle.dumps(one) for one in islice(self._function(*given), _AGAIN)]
            if wanted not in again and pickle.loads(wanted) not in map(pickle.loads, again):  # noqa: S301  # likewise
                self._fail("a function does not give a result again for the records alone that it is declared to be made of")
        except Exception as fault:  # noqa: BLE001  # the program's own function, which it did not call so
            self._report.fail(fault)


class Pulling(Tap):
    """A tap on the input of a function with declared sources. `placed` receives the sources of each record read."""

    def __init__(self, start: Start, inner: Function | None, placed: Placed, *, reads: bool) -> None:
        super().__init__(start, inner, reads=reads)
        self._placed = placed

    def __call__(self, split: int, iterator: Iterable[Any]) -> Iterable[Any]:
        self._start.called(split)
        return self._pulled(self._armed(split, iterator, None))

    def _pulled(self, records: Iterator[Any]) -> Iterator[Any]:
        start, placed = self._start, self._placed
        try:
            for record in records:
                if placed.takes:
                    placed.pulled(record, start.current)
                yield record
            start.finish()
        finally:
            start.finish(partly=True)  # does nothing after a complete pass
