"""`headwater.lineage(rdd)`: the lineage of an RDD in the running shell, as RDDs (the names are those of Titian's LineageRDD).

A person who looks at a wrong record of an RDD program can use it. A LineageRDD is a position in the program, and some of the
records there. Moves return other LineageRDDs, and every other operation of an RDD works on the raw records. Nothing runs until
records are requested. The inputs of the records were recorded when the program's own jobs ran, or are recorded when
the first answer needs them.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any

import numpy as np

from headwater.backend.cli.shell.lineage_warning import LineageWarning
from headwater.backend.cli.shell.rdd_sources import RddSources
from headwater.backend.cli.shell.rdd_steps import Point, Points, References, outputs_of, united
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.records.decode import Longs
from headwater.spark_listener.attach import program_of
from headwater.spark_listener.capture.read_again import changes_named
from headwater.spark_listener.rdd_records.chosen import MadeOf
from headwater.spark_listener.rdd_records.known import KNOWN, TrackedRdd
from headwater.spark_listener.rdd_records.program import Program

Wanted = dict[int, Longs]  # by the position of an input among a record's inputs
# PySpark's operations read these attributes of an RDD argument. They then use the raw records of a LineageRDD.
_OF_RDDS = frozenset({"_id", "_is_barrier", "_is_pipelinable", "_jrdd", "_jrdd_deserializer", "_jrdd_val", "_prev_jrdd"})
_HINT = "Call headwater.attach(spark, mode='active') before the program makes its first RDD, or start it by headwater run --mode active."


class LineageRDD:
    """Some records of an RDD, and their lineage in both directions. Made by `headwater.lineage`; immutable.

    All other operations of an RDD (`map`, `reduceByKey`, `collect`, …) apply to `rdd`, the raw records.
    """

    _headwater_raw = True  # see RAW: PySpark's operations use `rdd` of such an argument

    def __init__(
        self, program: Program, points: Points, root: Any, rdd: Any, known: TrackedRdd, wanted: Callable[[], Wanted] | None,
        keep: Sequence[Callable[[Any], Any]] = (),
    ) -> None:  # fmt: skip
        self._program, self._points, self._root, self._at, self._known = program, points, root, rdd, known
        self._wanted_of, self._keep = wanted, tuple(keep)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (name.startswith("_") and name not in _OF_RDDS and not hasattr(type(self._at), name)):
            raise AttributeError(name)
        value = getattr(self.rdd, name)
        return self._compared(value) if callable(value) else value

    def _compared(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method of the raw records. The source files are checked again after each call."""

        @wraps(method)
        def compared(*args: Any, **named: Any) -> Any:
            with changes_named():
                result = method(*args, **named)
            self._sources.check(_warn)
            return result

        return compared

    def __repr__(self) -> str:
        return f"LineageRDD at {self._program.recording.text(self._known.top)}"

    @property
    def rdd(self) -> Any:
        """Return the raw records as an RDD of the same kind as the program's RDD.

        The records are computed again from the input records of the stage.

        Raises:
            SourceChangedError: a file that the stage reads changed.
        """
        records = self._records
        self._sources.check(_warn)
        return records

    @cached_property
    def _records(self) -> Any:
        return self._guarded(self._program.chosen(self._at, self._known, self._shipped(), self._keep))

    @cached_property
    def _sources(self) -> RddSources:
        return RddSources(self._program, self._at.ctx, self._known, self._wanted)

    def _guarded(self, rdd: Any) -> Any:
        self._sources.guard(rdd)
        return rdd

    def getLineage(self) -> LineageRDD:  # noqa: N802  # Titian's name
        """Return this object, for compatibility with Titian's RDDs."""
        return self

    def filter(self, f: Callable[[Any], Any]) -> LineageRDD:
        """Return the records for which `f` is true, with their lineage."""
        return self._moved(self._at, self._known, self._wanted_of, (*self._keep, f))

    def goBack(self, branch: int | None = None) -> LineageRDD:  # noqa: N802  # Titian's name
        """Return the inputs of the records at the previous point: the groups of a shuffle, a persisted RDD, or the source.

        `branch` selects one of several inputs (a join, a union), from 0.

        Raises:
            InvalidQueryError: this is already a source, or a branch must be named or does not exist.
        """
        point = self._point
        if point is None:
            place = _chosen(branch, [self._program.recording.text(one) for one in self._known.operators])
            return self._to(self._points.at(self._known.operators[place]), lambda: self._references[place])
        if not point.below:
            raise InvalidQueryError(f"{point.name} is a source.", field="goBack", hint="There is nothing behind it.")
        place = _chosen(branch, [self._program.recording.text(one) for one in point.below])
        return self._to(self._points.at(point.below[place]), lambda: self._backward(point, self._references[0])[place])

    def goBackAll(self, branch: int | None = None) -> LineageRDD:  # noqa: N802  # Titian's name
        """Return the records of a source from which these records derive.

        If there are several sources, `branch` is the index of one, from 0.
        """
        sources = self._points.sources(self._known.operators)
        source = sources[_chosen(branch, [one.name for one in sources])]
        return self._to(source, lambda: self._down_to(source))

    def goNext(self, branch: int | None = None) -> LineageRDD:  # noqa: N802  # Titian's name
        """Return the records that depend on these at the next point, towards the RDD given to `headwater.lineage`.

        Raises:
            InvalidQueryError: this is already that RDD, or a branch must be named or does not exist.
        """
        root = self._root_known
        if self._at is self._root:
            raise InvalidQueryError("This is the RDD whose lineage was asked for.", field="goNext", hint="There is nothing after it.")
        ways: list[tuple[str, Callable[[], LineageRDD]]] = []
        for place, operator in enumerate(self._known.operators):
            ways += [(point.name, self._way_on(point, operator, place)) for point in self._points.consumers(root.operators, operator)]
            if operator in root.operators and self._program.recording.text(root.top) not in [name for name, _ in ways]:
                ways.append((self._program.recording.text(root.top), self._way_to_root(operator, place)))
        return ways[_chosen(branch, [name for name, _ in ways])][1]()

    def goNextAll(self, branch: int | None = None) -> LineageRDD:  # noqa: N802  # Titian's name
        """Return all records that depend on these, at the RDD given to `headwater.lineage`.

        At that RDD itself, return the records of the last RDD that the program made of it. `branch` selects one of several, from 0.
        """
        if self._at is not self._root or not (outputs := outputs_of(self._program, self._root)):
            return self._moved(self._root, self._root_known, self._up_to_root, ())
        names = [self._program.recording.text(getattr(one, KNOWN).top) for one in outputs]
        output = outputs[_chosen(branch, names)]
        points = Points(self._program, output)
        here = LineageRDD(self._program, points, output, self._at, self._known, self._wanted_of, self._keep)
        return here._moved(output, here._root_known, here._up_to_computed_root, ())

    def goTo(self, rdd: Any) -> LineageRDD:  # noqa: N802  # as its neighbours
        """Return the records of `rdd` that depend on these records.

        `rdd` is a later RDD of the same stage, which runs again on these records.

        Raises:
            InvalidQueryError: the RDD is not of this stage, or does not come after this position.
        """
        known = getattr(rdd, KNOWN, None)
        if self._point is None or not isinstance(known, TrackedRdd) or known.start is not self._known.start:
            reason = "An RDD of the same stage can be gone to, from the point where its records come in."
            raise InvalidQueryError(reason, field="rdd", hint="goBack leads to that point.")
        return self._moved(rdd, known, lambda: {0: self._references[0]}, ())

    # position, and records

    @property
    def _root_known(self) -> TrackedRdd:
        known = self._program.of(self._root)
        assert isinstance(known, TrackedRdd)  # noqa: S101  # `lineage` has seen to it
        return known

    @property
    def _point(self) -> Point | None:
        return self._points.at(self._known.top) if self._known.top in self._known.operators else None

    @cached_property
    def _wanted(self) -> Wanted | None:
        return None if self._wanted_of is None else self._wanted_of()

    def _shipped(self) -> dict[int, array[int]] | None:
        return None if self._wanted is None else {place: array("q", found.tobytes()) for place, found in self._wanted.items()}

    @cached_property
    def _references(self) -> list[Longs]:
        """Return the references of the records or of their inputs, as a list for each operator."""
        if self._point is not None and self._wanted is not None and not self._keep:
            return [self._wanted[0]]
        made_of = self._guarded(self._program.chosen(self._at, self._known, self._shipped(), self._keep, MadeOf))
        self._sources.check(_warn)
        with changes_named():
            of_partitions = made_of.collect()
        self._sources.check(_warn)
        columns = [[np.frombuffer(one, np.int64) for one in column] for column in zip(*of_partitions, strict=True)]
        none = np.iinfo(np.int64).min
        merged = [np.unique(np.concatenate(column)) for column in columns] or [np.empty(0, np.int64)] * self._known.width
        return [column[column != none] for column in merged]

    # moves

    def _to(self, point: Point, references: Callable[[], Longs]) -> LineageRDD:
        return self._moved(point.rdd, point.known, lambda: {0: references()}, ())

    def _moved(self, rdd: Any, known: TrackedRdd, wanted: Callable[[], Wanted] | None, keep: Sequence[Callable[[Any], Any]]) -> LineageRDD:
        return LineageRDD(self._program, self._points, self._root, rdd, known, wanted, keep)

    def _way_on(self, point: Point, operator: int, place: int) -> Callable[[], LineageRDD]:
        def forward() -> Longs:
            return self._forward(point, {operator: self._references[place]})

        return lambda: self._to(point, forward)

    def _way_to_root(self, operator: int, place: int) -> Callable[[], LineageRDD]:
        root = self._root_known
        places = [number for number, one in enumerate(root.operators) if one == operator]
        return lambda: self._moved(self._root, root, lambda: dict.fromkeys(places, self._references[place]), ())

    def _backward(self, point: Point, references: Longs) -> list[Longs]:
        self._say([point.operator])
        self._say_collisions(point, references)
        return point.backward(references)

    def _forward(self, point: Point, given: References) -> Longs:
        self._say([point.operator])
        found = point.forward(given)
        self._say_collisions(point, found)
        return found

    @staticmethod
    def _say_collisions(point: Point, references: Longs) -> None:
        if point.collides(references):
            _warn(f"{point.name}: two groups have one hash, so that what one was made of may be of the other (superset)")

    def _down_to(self, source: Point) -> Longs:
        if self._point is not None:
            found = {self._point.operator: self._references[0]}
        else:
            found = united(zip(self._known.operators, self._references, strict=True))
        for point in self._points.between(found, source.operator):
            if point.below and point.operator in found:
                made_of = self._backward(point, found[point.operator])
                found = united([*found.items(), *zip(point.below, made_of, strict=True)])
        return found.get(source.operator, np.empty(0, np.int64))

    def _up_to_root(self) -> Wanted:
        root = self._root_known
        found = united(zip(self._known.operators, self._references, strict=True))
        passed = {point for operator in list(found) for point in self._points.between(root.operators, operator)}
        for point in sorted(passed, key=lambda point: point.operator):
            if any(operator in found for operator in point.below):
                found = united([*found.items(), (point.operator, self._forward(point, found))])
        return {place: found.get(operator, np.empty(0, np.int64)) for place, operator in enumerate(root.operators)}

    def _up_to_computed_root(self) -> Wanted:
        """Like `_up_to_root`, but a part of the program that has not run yet runs first, and is recorded."""
        passed = {point.operator for one in self._known.operators for point in self._points.between(self._root_known.operators, one)}
        if any(problem["kind"] in ("refused", "fault", "missing") for problem in self._points.problems(passed)):
            self._guarded(self._program.chosen(self._root, self._root_known, None, (), MadeOf)).count()
        return self._up_to_root()

    def _say(self, operators: Sequence[int]) -> None:
        for problem in self._points.problems(operators):
            if problem["kind"] in ("refused", "fault"):
                raise UnsupportedError(f"The records of {problem['operator']} cannot be followed: {problem['reason']}.")
            _warn(f"{problem['operator']}: {problem['reason']} ({problem['kind']})")


def lineage_of(rdd: Any) -> LineageRDD:
    """Return the lineage of an RDD of the running program.

    Raises:
        UnsupportedError: the records of the RDD were not captured. The message states the reason.
    """
    program = program_of(rdd.ctx)
    if program is None:
        raise UnsupportedError("The records of this program's RDDs are not captured.", hint=_HINT)
    known = program.of(rdd)
    if not isinstance(known, TrackedRdd):
        raise UnsupportedError(f"The records of this RDD cannot be followed. {known.operator}: {known.reason}.", hint=_HINT)
    return LineageRDD(program, Points(program, rdd), rdd, rdd, known, None)


def _chosen(branch: int | None, there: Sequence[str]) -> int:
    if branch is None and len(there) == 1:
        return 0
    if branch is None or not 0 <= branch < len(there):
        ways = ", ".join(f"{number}: {name}" for number, name in enumerate(there)) or "none"
        wrong = "A branch has to be chosen." if branch is None else f"There is no branch {branch}."
        raise InvalidQueryError(wrong, field="branch", hint=f"There are {ways}.")
    return branch


def _warn(text: str) -> None:
    warnings.warn(text, LineageWarning, stacklevel=5)
