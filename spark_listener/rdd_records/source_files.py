"""The files that the sources of RDDs read.

They are listed when a job is about to read them, as in Spark: files that arrive before that are read, and an early listing would change
what the program reads. Before that, a source is known by its RDD only.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, chain
from typing import Any

from headwater.paths import path_of_pattern
from headwater.spark_listener.rdd_records.known import KNOWN, LISTED, SIDES, NotListedError, TrackedRdd
from headwater.spark_listener.rdd_records.sources import FileSource
from headwater.spark_listener.rdd_records.sparing import LITTLE, Sparing
from headwater.spark_listener.rdd_records.starts import Numbered
from headwater.spark_listener.rdd_records.whole_files import WholeFiles
from headwater.spark_listener.recording import Recording


class SourceFiles:
    """The files of the sources of one application.

    `files_read` returns the files of a JVM RDD, as lines or not; `bytes_read` their size, up to a limit.
    """

    def __init__(
        self, recording: Recording, files_read: Callable[[Any, bool], dict[str, Any]], bytes_read: Callable[[Any, int], int | None],
        sparing: Sparing | None,
    ) -> None:  # fmt: skip
        self._recording = recording
        self._files_read, self._bytes_read = files_read, bytes_read
        self._sparing = sparing
        self._unlisted: dict[int, tuple[weakref.ref[Any], FileSource, Numbered | WholeFiles]] = {}
        # Threads of the program and the listener list files: the second one waits for the first one's result.
        self._listing = threading.RLock()

    def add(self, scan: int, rdd: Any, source: FileSource, start: Numbered | WholeFiles) -> None:
        """Add a source with files to be listed later. `start` gives references to its records."""
        self._unlisted[scan] = (weakref.ref(rdd), source, start)

    def reads(self, rdd: Any) -> None:
        """List the files of an RDD's sources, because a job is about to compute its records. Spark would not list them earlier.

        Raises:
            NotListedError: Spark cannot list a source now. The next call tries again.
        """
        with self._listing:
            if self._unlisted:
                self._list_below(rdd)

    def _list_below(self, rdd: Any) -> None:
        waiting = [rdd]
        seen = []
        while waiting:
            one = waiting.pop()
            if getattr(one, LISTED, False):
                continue
            setattr(one, LISTED, True)
            seen.append(one)
            known = getattr(one, KNOWN, None)
            try:
                self.list_of(known.operators if isinstance(known, TrackedRdd) else ())
            except BaseException:
                for listed in seen:
                    setattr(listed, LISTED, False)
                raise
            waiting += [*getattr(one, SIDES, ()), *([one.prev] if hasattr(one, "prev") else [])]

    def list_of(self, scans: Iterable[int]) -> None:
        """List the files of some sources, if they are not listed yet. Raises like `reads`."""
        with self._listing:
            self._list(scans)

    def _list(self, scans: Iterable[int]) -> None:
        from py4j.protocol import Py4JJavaError  # comes with PySpark

        for scan in dict.fromkeys(scans):
            entry = self._unlisted.get(scan)
            if entry is None:
                continue
            made, source, start = entry
            rdd = made()
            try:
                found = {"problem": "it is gone"} if rdd is None else self._files_read(_jvm(rdd), source.lines)
            except Py4JJavaError as error:
                raise NotListedError(str(error.java_exception)) from error
            self._unlisted.pop(scan, None)
            if "parts" in found and not source.whole:
                found = {"problem": "its partitions have parts of several files"}
            if "problem" in found:
                self._recording.problem(scan, str(found["problem"]), "refused")
            files, splits = _files_and_splits(found) if isinstance(start, Numbered) else _whole_files(found, start)
            if self._sparing is not None:
                self._sparing.reads(scan, sum(int(file["length"]) for file in files))
            if len({file["path"] for file in files}) < len(files):
                self._recording.problem(scan, "the parts of a file are not partitions that follow one another", "refused")
            # Lines have no columns. Readers of the file's records use the columns of another reader, if there is one.
            self._recording.source(
                scan, path=path_of_pattern(found.get("path") or ""), format=source.format, options=dict(source.options),
                columns=list(source.columns),
                partition_columns=[], files=files, splits=splits,
            )  # fmt: skip

    def weigh(self, sparing: Sparing, scans: Iterable[int]) -> None:
        """Report the size of sources to `sparing`, without listing the files that Spark will read."""
        for scan in scans:
            entry = self._unlisted.get(scan)
            if entry is not None and not sparing.knows(scan):
                rdd = entry[0]()
                sparing.reads(scan, None if rdd is None else self._bytes_read(_jvm(rdd), LITTLE))


def _jvm(rdd: Any) -> Any:
    return rdd._jrdd.rdd()  # noqa: SLF001  # there is no public way to the JVM's RDD


def _files_and_splits(found: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    files: list[dict[str, Any]] = []
    splits = []
    last = -1
    for ordinal, (number, start, length) in enumerate(found.get("splits", ())):
        path, size, modified = found["files"][number]
        if number != last:
            files.append({"ordinal": ordinal, "ordinals": 0, "path": path, "length": size, "modified": modified, "partition": {}})
            last = number
        files[-1]["ordinals"] += 1
        splits.append({"ordinal": ordinal, "path": path, "start": start, "length": length})
    return files, splits


def _whole_files(found: Mapping[str, Any], start: WholeFiles) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the files of a source whose records are files, with one ordinal each. `start` receives the files of each partition."""
    parts = found.get("parts", ())
    start.firsts = [0, *accumulate(map(len, parts))]
    files = []
    for ordinal, number in enumerate(chain.from_iterable(parts)):
        path, size, modified = found["files"][number]
        files.append({"ordinal": ordinal, "ordinals": 1, "path": path, "length": size, "modified": modified, "partition": {}})
    return files, []
