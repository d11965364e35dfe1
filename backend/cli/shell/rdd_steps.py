"""Follows the recorded associations of an RDD program by one step, backward or forward.

Records have references at the *points* of a program: its sources, the groups of its shuffles, and persisted RDDs. A step reads the
segments of one point. References are ascending and unique. This module starts no Spark job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.associations.segment import Segment
from headwater.graph.records.decode import Longs, decode
from headwater.spark_listener.rdd_records.known import KNOWN, PERSISTED, SIDES, TrackedRdd
from headwater.spark_listener.rdd_records.program import Program

References = Mapping[int, Longs]  # by operator
_NONE = np.iinfo(np.int64).min
_PLACES = 1 << 40


class Point:
    """A point of the program: its `operator`, its `rdd`, and in `known` the way in which its records get references."""

    def __init__(self, program: Program, rdd: Any, known: TrackedRdd) -> None:
        self._recording = program.recording
        self.rdd, self.known, self.operator = rdd, known, known.top
        self.name = program.recording.text(known.top)

    @cached_property
    def below(self) -> tuple[int, ...]:
        """Return the operators whose records are the inputs, one for each input. A source has none."""
        return tuple(int(column["operator"]) for column in self._roles if column["role"] == "ref")

    def backward(self, references: Longs) -> list[Longs]:
        """Return the inputs of some records, one list for each input operator."""
        found = [rows[np.isin(keys, references)] for keys, rows in self._rows()]
        return _columns(found, len(self.below))

    def forward(self, given: References) -> Longs:
        """Return the records that depend on one of the given records."""
        found = [
            keys[np.any([np.isin(column, given.get(operator, ())) for operator, column in zip(self.below, rows.T, strict=True)], axis=0)]
            for keys, rows in self._rows()
        ]
        return np.unique(np.concatenate([*found, np.empty(0, np.int64)]))

    def collides(self, references: Longs) -> bool:
        """Whether one of the records may combine two keys with the same hash."""
        _, segments = self._recording.recorded(self.operator, "check")
        found = [np.stack(decode(Segment.open(path.name, path.read_bytes())), axis=1) for _, path in segments]
        checks = np.unique(np.concatenate([*found, np.empty((0, 2), np.int64)]), axis=0)
        keys, times = np.unique(checks[:, 0], return_counts=True)
        return bool(np.isin(keys[times > 1], references).any())

    @cached_property
    def _roles(self) -> Sequence[Mapping[str, Any]]:
        return self._recorded("group")[0] or self._recorded("rows")[0]

    def _recorded(self, kind: str) -> tuple[Sequence[Mapping[str, Any]], Sequence[tuple[int, Path]]]:
        return self._recording.recorded(self.operator, kind)

    def _rows(self) -> Iterator[tuple[Longs, Any]]:
        by_key = self._roles and self._roles[0]["role"] == "key"
        for partition, path in self._recorded("group" if by_key else "rows")[1]:
            columns = decode(Segment.open(path.name, path.read_bytes()))
            keys = columns.pop(0) if by_key else np.arange(len(columns[0]), dtype=np.int64) + partition * _PLACES
            yield keys, np.stack(columns, axis=1)


class Points:
    """The points on which an RDD depends, by operator."""

    def __init__(self, program: Program, rdd: Any) -> None:
        self._program = program
        self._by_operator: dict[int, Point] = {}
        for one in _below(rdd):
            for known in (getattr(one, PERSISTED, None), getattr(one, KNOWN, None)):
                if isinstance(known, TrackedRdd) and known.operators == (known.top,):
                    self._by_operator.setdefault(known.top, Point(program, one, known))

    def at(self, operator: int) -> Point:
        """Return the point of an operator.

        Raises:
            UnsupportedError: the operator's RDD no longer exists.
        """
        if operator not in self._by_operator:
            raise UnsupportedError(f"The records of {self._program.recording.text(operator)} are not there any more.")
        return self._by_operator[operator]

    def between(self, top: Iterable[int], bottom: int) -> list[Point]:
        """Return the points from some operators back to `bottom`, in descending order of their numbers.

        An operator has a higher number than the operators that it depends on.
        """
        return [self.at(one) for one in sorted(self._leading_to(top, bottom), reverse=True)]

    def sources(self, top: Iterable[int]) -> list[Point]:
        """Return the sources of some operators, in the order in which the program made them."""
        return [point for one in sorted(self._all(top)) if not (point := self.at(one)).below]

    def consumers(self, top: Iterable[int], operator: int) -> list[Point]:
        """Return the points on the way to some operators that depend directly on `operator`."""
        return [point for one in sorted(self._all(top)) if operator in (point := self.at(one)).below]

    def problems(self, operators: Iterable[int]) -> list[Mapping[str, str]]:
        return self._program.recording.problems_of(operators)

    def _all(self, top: Iterable[int]) -> set[int]:
        found: set[int] = set()
        waiting = list(top)
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.at(one).below
        return found

    def _leading_to(self, top: Iterable[int], bottom: int) -> set[int]:
        return {one for one in self._all(top) if one == bottom or bottom in self._all([one])}


def outputs_of(program: Program, rdd: Any) -> list[Any]:
    """Return the RDDs that depend on this RDD alone, and that the program still holds."""
    top = getattr(rdd, KNOWN).top
    made: dict[int, Any] = {}  # the last RDD of each operator
    inner: set[int] = set()
    for one in program.marked():
        below = {known.top for each in _below(one) if isinstance(known := getattr(each, KNOWN, None), TrackedRdd)}
        own = getattr(one, KNOWN).top
        if top in below and own != top:
            made[own] = one
            inner |= below - {own}
    return [one for own, one in made.items() if own not in inner]


def united(some: Iterable[tuple[int, Longs]]) -> dict[int, Longs]:
    found: dict[int, list[Longs]] = {}
    for operator, references in some:
        found.setdefault(operator, []).append(references)
    return {operator: np.unique(np.concatenate(lists)) for operator, lists in found.items()}


def _columns(rows: Sequence[Any], count: int) -> list[Longs]:
    table = np.concatenate([*rows, np.empty((0, count), np.int64)])
    return [(found := np.unique(table[:, place]))[found != _NONE] for place in range(count)]


def _below(rdd: Any) -> Iterator[Any]:
    waiting, seen = [rdd], set()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [*getattr(one, SIDES, ()), *([one.prev] if hasattr(one, "prev") else [])]
