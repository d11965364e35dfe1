"""Verifies a function that was declared row-wise, for some records. Shipped by value to workers that may lack Headwater."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headwater.spark_listener.rdd_records.taps import Report


class NotRowWiseError(Exception):
    """A function contradicts the program's declaration that it is row-wise."""


class Checked:
    """Calls `function` like PySpark, and calls it again with every `every`-th record alone. Differences go into `report`."""

    def __init__(self, function: Callable[..., Any], report: Report, every: int) -> None:
        self._function, self._report, self._every = function, report, every

    def __call__(self, *given: Any) -> Iterator[Any]:
        from pyspark import TaskContext

        *index, records = given
        context = TaskContext.get()
        self._report.begin(0 if context is None else context.partitionId())
        self._ended = False
        self._sample: bytes | None = None  # the last pulled record, if it is to be verified
        self._seen: list[bytes] | None = None  # its results; None: no record was pulled yet
        try:
            for result in self._function(*index, self._pulled(index, records)):
                self._note(result)
                yield result
            self._report.finish()
        finally:
            self._report.abandon()  # does nothing after a complete pass

    def _pulled(self, index: list[Any], records: Iterable[Any]) -> Iterator[Any]:
        for number, record in enumerate(records):
            self._verify(index)
            self._seen = []
            self._sample = None if number % self._every else self._copied(record)
            yield record
        self._verify(index)
        self._ended = True

    def _note(self, result: Any) -> None:
        if self._seen is None or self._ended:
            when = "after the last record" if self._ended else "before it pulled a record"
            self._report.fail(NotRowWiseError(f"a function that is declared row-wise gave a result {when}"))
        elif self._sample is not None:
            self._seen.append(self._copied(result))

    def _copied(self, value: Any) -> bytes:
        try:
            return pickle.dumps(value)
        except Exception as fault:  # noqa: BLE001  # the program goes on
            self._report.fail(fault)
            return b""

    def _verify(self, index: list[Any]) -> None:
        """Call the function with the last record alone, if that record is to be verified. Never raises."""
        if not self._sample or self._seen is None:
            return
        try:
            alone = [pickle.dumps(result) for result in self._function(*index, iter([pickle.loads(self._sample)]))]  # noqa: S301  # our own
            if alone != self._seen and list(map(pickle.loads, alone)) != list(map(pickle.loads, self._seen)):
                self._report.fail(NotRowWiseError("a function that is declared row-wise gives something else for a record alone"))
        except Exception as fault:  # noqa: BLE001  # the program's own function, which it did not call so
            self._report.fail(fault)
