"""Taps at the end of a Python stage: they record, or attach, the sources of each record. Shipped by value to workers.

A tap wraps the stage's own function. It passes on the same results in the same order, and exceptions pass through. A fault in the recording
ends the recording, is reported with the task, and never reaches the program.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from headwater.spark_listener.rdd_records.blocks import SegmentWriter
from headwater.spark_listener.rdd_records.keys import Hashed, KeyHashes, is_small
from headwater.spark_listener.rdd_records.starts import NONE, Start

_MOST_NOTED = 1024  # records with sources computed together
_MOST_COUNTED = 65_536  # rows that the compiled loops collect: a block of a segment

_LF, _CR = b"\n\r"  # as numbers: a search for a number in bytes takes a fraction of the time

Function = Callable[[int, Iterable[Any]], Iterable[Any]]


class Report:
    """The segment of one boundary in one task. It is reported to the driver through an accumulator, with the task's success."""

    def __init__(self, capture: str, folder: str, boundary: int, roles: Sequence[Any], reports: Any) -> None:
        self._spec = (capture, folder, boundary, roles)
        self._reports = reports
        self.boundary = boundary
        self._writer: SegmentWriter | None = None
        self._fault: str | None = None
        self._superset: str | None = None

    def begin(self, split: int) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        self._superset = None
        if context is not None:  # otherwise there is no report for this partition, and it counts as missing
            self._writer = SegmentWriter(*self._spec, (int(context.stageId()), split, int(context.taskAttemptId())))

    def called(self, split: int) -> None:
        """Note that a function may read records of a partition. Without another report, it has read none."""
        self.begin(split)
        self.finish(partly=True)

    def add(self, columns: Sequence[array[int]]) -> None:
        if self._writer is not None and self._fault is None:
            self._writer.add(columns)

    def restart(self) -> None:
        if self._writer is not None:
            self._writer.restart()

    def say_superset(self, reason: str) -> None:
        """State the reason why rows of this pass may name too many sources."""
        self._superset = reason

    def fail(self, fault: BaseException) -> None:
        if self._fault is None:
            self._fault = f"{type(fault).__name__}: {fault}"
        if self._writer is not None:
            self._writer.abandon()

    def finish(self, *, partly: bool = False) -> None:
        """Publish the segment at the end of the pass, and report it to the driver. With `partly`, the pass ended early."""
        writer = self._writer
        if writer is None:
            return
        rows, size, digest = 0, 0, ""
        try:
            if self._fault is None:
                rows, size, digest = writer.finish()
        except Exception as fault:  # noqa: BLE001  # see the module's docstring
            self.fail(fault)
        place = (self.boundary, writer.split, *writer.place)
        self._reports.add(((*place, rows, size, digest, writer.name, self._fault, partly, writer.content, self._superset),))
        self._writer = None

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None


class Tap:
    """Wraps `inner`, the functions of a stage (None: there are none). `reads`: the stage's input passes `start` first.

    It calls the functions when PySpark would: a function over a partition may do its work before its records are requested.
    """

    def __init__(self, start: Start, inner: Function | None, *, reads: bool) -> None:
        self._start, self._inner, self._reads = start, inner, reads

    def __call__(self, split: int, iterator: Iterable[Any]) -> Iterable[Any]:
        raise NotImplementedError

    def _armed(self, split: int, iterator: Iterable[Any], out: list[Any] | None, counter: Any = None) -> Iterator[Any]:
        self._start.arm(split, out, counter)
        entered = self._start(split, iterator) if self._reads else iterator
        return iter(entered if self._inner is None else self._inner(split, entered))


class Carrying(Tap):
    """Attaches references to each record, in the place of `shape` (see `Carried`).

    A record that PySpark could not split fails in the same way: `pair` needs two parts, `loose` takes the first two.
    """

    def __init__(self, start: Start, inner: Function | None, *, reads: bool, shape: str, before: int = 0, after: int = 0) -> None:
        super().__init__(start, inner, reads=reads)
        self._shape = shape
        self._before, self._after = (NONE,) * before, (NONE,) * after

    def __call__(self, split: int, iterator: Iterable[Any]) -> Iterable[Any]:
        return self._passing(self._armed(split, iterator, None))

    def _passing(self, records: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from self._carried(records)
            self._start.finish()
        finally:
            self._start.abandon()  # does nothing after a complete pass

    def _carried(self, records: Iterator[Any]) -> Iterator[Any]:
        start, before, after = self._start, self._before, self._after
        if self._shape == "pair":
            for key, value in records:
                yield key, (value, (*before, *start.current, *after))
        elif self._shape == "loose":
            for record in records:
                yield record[0], (record[1], (*before, *start.current, *after))
        else:
            for record in records:
                yield record, (*before, *start.current, *after)


class Recording(Tap):
    """Records the references of passing records. Subclasses define the columns.

    `offset` is added to the partition's number, if several RDDs write the rows of one boundary.
    """

    partly = False  # whether passed records count if nobody wants the rest
    in_batches = True  # whether sources are computed for many records at once: only if the consumer takes all of them

    def __init__(self, start: Start, inner: Function | None, report: Report, *, reads: bool, offset: int = 0) -> None:
        super().__init__(start, inner, reads=reads)
        self._report, self._offset = report, offset

    def noted(self, record: Any) -> Any:
        """Return the facts that `rows` needs about a record. They are read before the program receives the record and may change it."""
        raise NotImplementedError

    def rows(self, noted: Sequence[Any], references: list[array[int]]) -> list[array[int]]:  # noqa: ARG002  # for subclasses
        """Return the columns of the rows for some records."""
        return references

    def compiled(self, records: Iterator[Any], counter: Any) -> Any:
        """Yield the records through a loop in C that notes their sources; `counter` has the number of the last record read."""
        return counter.loops.References(records, counter.of, _MOST_COUNTED, self._add_references, self._report.fail)

    def __call__(self, split: int, iterator: Iterable[Any]) -> Iterable[Any]:
        self._split = split
        self._report.begin(self._offset + split)
        counter = self._start.counter(split)
        if counter is not None:
            parts = self._counted(self._armed(split, iterator, None, counter.of), counter)
        elif self.in_batches:
            out: list[Any] = []
            parts = self._as_they_come(self._armed(split, iterator, out), out)
        else:
            parts = self._one_by_one(self._armed(split, iterator, None))
        # `chain` requests the next part at the end of one, so that nothing of ours runs between two records of a part.
        return chain.from_iterable(self._parts(parts))

    def _parts(self, parts: Iterator[Iterable[Any]]) -> Iterator[Iterable[Any]]:
        try:
            yield from parts
            self._finish()
        finally:
            self._stop()  # does nothing after a complete pass

    def _counted(self, records: Iterator[Any], counter: Any) -> Iterator[Iterable[Any]]:
        passing = self.compiled(records, counter)
        ended = False
        try:
            yield passing
            ended = True
        finally:
            if ended or self.partly:
                passing.drain()

    def _as_they_come(self, records: Iterator[Any], out: list[Any]) -> Iterator[Iterable[Any]]:
        """Pass on each record before the program's function runs again, which may change it. Only the facts of `noted` are stored."""
        while True:
            yield self._noting(islice(records, _MOST_NOTED), out)
            last = len(out) < _MOST_NOTED
            self._record(out)
            out.clear()
            if last:
                return

    def _noting(self, records: Iterator[Any], out: list[Any]) -> Iterator[Any]:
        note, noted = out.append, self.noted
        for record in records:
            try:
                note(noted(record))
            except Exception as fault:  # noqa: BLE001  # see the module's docstring
                note(None)
                self._report.fail(fault)
            yield record

    def _one_by_one(self, records: Iterator[Any]) -> Iterator[Iterable[Any]]:
        yield self._taking(records)

    def _taking(self, records: Iterator[Any]) -> Iterator[Any]:
        start = self._start
        columns = [array("q") for _ in range(start.width)]
        try:
            for count, record in enumerate(records, 1):
                for column, reference in zip(columns, start.current, strict=True):
                    column.append(reference)
                if not count & 0xFFF:
                    self._add(columns)
                    columns = [array("q") for _ in range(start.width)]
                yield record
        finally:
            self._add(columns)

    def _record(self, noted: list[Any]) -> None:
        try:
            self._report.add(self.rows(noted, self._start.taken()))
        except Exception as fault:  # noqa: BLE001  # see the module's docstring
            self._report.fail(fault)

    def _add_references(self, references: bytes) -> None:
        self._report.add(self.rows((), [array("q", references)]))

    def _add(self, columns: list[array[int]]) -> None:
        try:
            self._report.add(self.rows((), columns))
        except Exception as fault:  # noqa: BLE001  # see the module's docstring
            self._report.fail(fault)

    def _finish(self) -> None:
        self._start.finish()
        self._report.finish()

    def _stop(self) -> None:
        self._start.abandon()
        self._report.abandon()


class PersistedRows(Recording):
    """Records the rows of a persisted or checkpointed RDD, in their order."""

    in_batches = False


class Grouping(Recording):
    """Records pairs that will be grouped: the hash of the key, and references. `before` and `after` belong to records grouped with them."""

    def __init__(
        self, start: Start, inner: Function | None, report: Report, *, reads: bool, before: int = 0, after: int = 0, offset: int = 0
    ) -> None:
        super().__init__(start, inner, report, reads=reads, offset=offset)
        self._before, self._after = before, after
        self._hashes = KeyHashes()

    def noted(self, record: Any) -> Any:
        if not isinstance(record, (tuple, list)):
            raise TypeError(f"a record of the type {type(record).__qualname__} is no pair")
        key = record[0]
        return key if is_small(key) else Hashed(self._hashes.of_one(key))

    def _noting(self, records: Iterator[Any], out: list[Any]) -> Iterator[Any]:
        note, noted = out.append, self.noted
        for record in records:
            try:
                key = record[0] if type(record) is tuple else None
                note(key if is_small(key) else noted(record))
            except Exception as fault:  # noqa: BLE001  # see the module's docstring
                note(None)
                self._report.fail(fault)
            yield record

    def compiled(self, records: Iterator[Any], counter: Any) -> Any:
        odd = self._hashes.of_one
        return counter.loops.Keys(records, counter.of, _MOST_COUNTED, self._add_keys, self._report.fail, odd)

    def _add_keys(self, hashes: bytes, references: bytes) -> None:
        self._report.add(self._row(array("q", hashes), [array("q", references)]))

    def rows(self, noted: Sequence[Any], references: list[array[int]]) -> list[array[int]]:
        return self._row(self._hashes.of(noted) if noted else array("q"), references)

    def _row(self, hashes: array[int], references: list[array[int]]) -> list[array[int]]:
        none = array("q", [NONE]) * len(hashes)
        return [hashes, *[none] * self._before, *references, *[none] * self._after]


class Gathering(Recording):
    """Records the input of a function over the whole partition: the partition's number, and references of the records read.

    With `together`, the number is 0, because functions over several partitions exchange data.
    """

    partly = True
    in_batches = False

    def __init__(self, start: Start, inner: Function | None, report: Report, *, reads: bool, together: bool = False) -> None:
        super().__init__(start, inner, report, reads=reads)
        self._together = together

    def __call__(self, split: int, iterator: Iterable[Any]) -> Iterable[Any]:
        self._start.called(split)
        self._report.called(self._offset + split)
        return super().__call__(split, iterator)

    def _stop(self) -> None:
        self._start.finish(partly=True)
        self._report.finish(partly=True)

    def rows(self, noted: Sequence[Any], references: list[array[int]]) -> list[array[int]]:
        del noted
        return [array("q", [0 if self._together else self._split]) * len(references[0]), *references]


class Written(Recording):
    """Records the output of `saveAsTextFile`: makes the text of each record, and counts a row for each line of it."""

    def _armed(self, split: int, iterator: Iterable[Any], out: list[Any] | None, counter: Any = None) -> Iterator[Any]:
        records = super()._armed(split, iterator, out, counter)
        return records if counter is not None else map(_text, records)  # the loop in C makes the text itself

    def compiled(self, records: Iterator[Any], counter: Any) -> Any:
        add, fail = self._add_references, self._report.fail
        return counter.loops.References(records, counter.of, _MOST_COUNTED, add, fail, _text)

    def noted(self, record: bytes) -> int:
        return _lines(record) if _LF in record or _CR in record else 1

    def rows(self, noted: Sequence[int], references: list[array[int]]) -> list[array[int]]:
        if noted.count(1) == len(noted):
            return references
        return [array("q", (one for one, count in zip(column, noted, strict=True) for _ in range(count))) for column in references]


class KeyFunction:
    """Turns the program's function of a record's key into a function of the record."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, record: Any) -> Any:
        return self._function(record[0])


def _text(record: Any) -> bytes:
    """Return PySpark's text of a record. Bytes stay unchanged."""
    if isinstance(record, bytes):
        return record
    try:
        return record.encode("utf-8") if isinstance(record, str) else str(record).encode("utf-8")
    except StopIteration as stopped:  # would end the partition; in PySpark's generator it is an error
        raise RuntimeError("generator raised StopIteration") from stopped


def _lines(record: bytes) -> int:
    """Return the number of lines that a reader finds in a record and the line end after it."""
    text = record + b"\n"
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
