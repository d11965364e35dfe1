"""The source files of an RDD's records, with their state when the program read them.

Each query that computes records again compares the files with this state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headwater.graph.records.decode import Longs
from headwater.spark_listener.capture.read_again import ReadAgain
from headwater.spark_listener.rdd_records.known import TrackedRdd
from headwater.spark_listener.rdd_records.program import Program

_ORDINAL = 40  # number of bits of a reference for the row; the higher bits are the split
Wanted = Mapping[int, Longs]  # by the position of an input among a record's inputs


class RddSources:
    """The sources of an RDD: those that its own stage reads, and those before a shuffle, a cache or a checkpoint.

    A changed source of the stage is an error. A changed earlier source is a warning, because Spark may still have its records.
    """

    def __init__(self, program: Program, context: Any, known: TrackedRdd, wanted: Wanted | None) -> None:
        self._program, self._context, self._known, self._wanted = program, context, known, wanted
        self._own: ReadAgain | None = None
        self._below: ReadAgain | None = None
        self._listed = False

    def check(self, warn: Callable[[str], None]) -> None:
        """Compare the sources with their recorded states. Warn about changed sources before a shuffle or cache.

        Raises:
            SourceChangedError: a source that the stage reads changed.
        """
        self._list()
        if self._own is not None:
            self._own.check()
        for changed in self._below.changed()[:1] if self._below is not None else ():
            warn(f"{changed} Records that Spark no longer keeps are computed from what it holds now, and are not those that the run read")

    def guard(self, rdd: Any) -> None:
        """Make the tasks of an RDD check the files that they read."""
        self._list()
        if self._own is not None and self._reads_files:
            self._own.guard(rdd)

    @property
    def _reads_files(self) -> bool:
        """Whether the stage reads files through Hadoop RDDs, and not through a plan of Spark SQL."""
        return self._known.reads and bool(self._program.recording.scans_below(self._known.operators))

    def _list(self) -> None:
        """Record the states of the files. The list is empty until a job has read them."""
        if self._listed:
            return
        own: dict[str, tuple[int, int]] = {}
        below: dict[str, tuple[int, int]] = {}
        direct = self._known.operators if self._known.reads else ()
        for root, source in self._program.recording.sources_below(self._known.operators):
            (own if root in direct else below).update(_states(source, self._references() if root in direct else None))
        self._own = ReadAgain(self._context, own) if own else None
        self._below = ReadAgain(self._context, below) if below else None
        self._listed = bool(own or below)

    def _references(self) -> Longs | None:
        if self._wanted is None:
            return None
        return np.concatenate([np.empty(0, np.int64), *self._wanted.values()]) if self._known.width == 1 else None


def _states(source: Mapping[str, Any], references: Longs | None) -> dict[str, tuple[int, int]]:
    """Return the length and time of a source's files that contain some of the references. None means all files."""
    if source["format"] == "local":
        return {}
    ordinals = None if references is None else np.unique(references >> _ORDINAL)
    return {file["path"]: (file["length"], file["modified"]) for file in source["files"] if _holds(file, ordinals)}


def _holds(file: Mapping[str, Any], ordinals: Longs | None) -> bool:
    if ordinals is None:
        return True
    first, last = np.searchsorted(ordinals, (file["ordinal"], file["ordinal"] + max(1, file["ordinals"])))
    return bool(last > first)
