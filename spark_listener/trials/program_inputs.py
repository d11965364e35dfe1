"""Restricts what a trial reads outside of Spark SQL's scans: lines of text that RDD programs read, and rows of the program itself.

A scan of Spark SQL is restricted in the JVM. Lines are copied instead: the program reads a folder with the chosen lines of each file. The
program's own rows have no file. They are named by the call that made them: `program:parallelize#1` is the first call.
"""

from __future__ import annotations

import bz2
import functools
import glob
import gzip
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.errors import UnsupportedError
from headwater.spark_listener.replay import Range
from headwater.spark_listener.trials.worker_calls import LONGEST, watch_rows

OWN_ROWS = "program:"
_OPENERS: Mapping[str, Callable[[str], Any]] = {".gz": gzip.open, ".bz2": bz2.open}
_MOST_OWN_ROWS = 10_000_000
_SHOWN = 200  # characters of a shown row


class ProgramInputs:
    """The inputs of one trial. `counts` are the numbers of records that were read, by file or by call."""

    def __init__(self, keep: Mapping[str, Sequence[Range]], restrict: Sequence[str], folder: Path, watch: str = "") -> None:
        self._keep = keep
        self._restrict = restrict
        self._folder = folder
        self._calls: dict[str, int] = {}
        self._sources: dict[str, Callable[[str], tuple[str, int] | None]] = {}
        self.watch = watch
        self.counts: dict[str, int] = {}
        self.rows: dict[str, dict[int, str]] = {}
        self.keeps_no_record = bool(restrict) and not any(keep.values())

    def is_restricted(self, file: str) -> bool:
        return any(file == place or file.startswith(f"{place}/") for place in self._restrict)

    def watched(self, rdd: Any, source: str) -> Any:
        """Return an RDD of the program's input whose tasks note their present row."""
        return rdd.mapPartitions(watch_rows(self.watch, source), preservesPartitioning=True) if self.watch else rdd

    def present_rows(self) -> list[tuple[str, int]]:
        """Return the rows that tasks were processing at the end. Of equal rows, the first one counts."""
        found = []
        for note in sorted(Path(self.watch).glob("row-*")):
            content = note.read_bytes()
            text = content[4 : 4 + int.from_bytes(content[:4], "big")].decode(errors="replace")
            find = self._sources.get(note.name.split("-")[1])
            place = find(text) if find is not None and content else None
            if place is not None:
                found.append(place)
        return found

    def own_rows(self, call: str, rows: Any) -> Any:
        """Return the rows of a call that this trial keeps, as a list. `rows` without a known length pass unchanged."""
        number = self._calls[call] = self._calls.get(call, 0) + 1
        name = f"{OWN_ROWS}{call}#{number}"
        if isinstance(rows, range) and len(rows) > _MOST_OWN_ROWS:
            return rows
        listed = list(rows)
        self._sources[call + str(number)] = lambda text: next(((name, row) for row, each in enumerate(listed) if _text(each) == text), None)
        self.counts[name] = len(listed)
        if not self.is_restricted(name):
            return listed if not isinstance(rows, (list, range)) else rows
        kept = [row for first, end in self._keep.get(name, ()) for row in range(first, min(end, len(listed)))]
        if len(kept) <= _SHOWN:
            self.rows[name] = {row: repr(listed[row])[:_SHOWN] for row in kept}
        return [listed[row] for row in kept]

    def lines(self, path: str) -> str:
        """Return the path from which an RDD program reads lines: a copy with the kept lines, if the trial restricts them."""
        files = [file for part in path.split(",") for file in _files(part)]
        restricted = [file for file in files if self.is_restricted(f"file:{file}")]
        for file in files:
            if file not in restricted:
                self.counts[f"file:{file}"] = sum(1 for _ in _lines(file))
        number = self._calls["lines"] = self._calls.get("lines", 0) + 1
        self._sources[f"lines{number}"] = functools.partial(_find_line, files)
        if not restricted:
            return path
        copy = self._folder / f"lines-{number}"
        copy.mkdir(parents=True)
        for index, file in enumerate(files):
            ranges = self._keep.get(f"file:{file}", ()) if file in restricted else [(0, 1 << 60)]
            self._copy(file, ranges, copy / f"{index:06}.txt")
        return f"file:{copy}"

    def last_source(self, call: str) -> str:
        """Return the name of the last source that a call has made."""
        return f"{call}{self._calls.get(call, 0)}"

    def whole_files(self, path: str) -> str:
        """Return the paths of the files that a trial keeps of those that an RDD program reads whole. A record is then a file."""
        files = [file for part in path.split(",") for file in _files(part)]
        for file in files:
            self.counts[f"file:{file}"] = 1
        kept = [file for file in files if not self.is_restricted(f"file:{file}") or self._keep.get(f"file:{file}")]
        if len(kept) == len(files):
            return path
        if not kept:
            empty = self._folder / "no-files"
            empty.mkdir(parents=True, exist_ok=True)
            return f"file:{empty}"
        return ",".join(kept)

    def _copy(self, file: str, ranges: Sequence[Range], target: Path) -> None:
        kept = iter(ranges)
        first, end = next(kept, (0, 0))
        shown = self.rows.setdefault(f"file:{file}", {}) if sum(b - a for a, b in ranges) <= _SHOWN else {}
        with target.open("wb") as output:
            for number, line in enumerate(_lines(file)):
                while number >= end > 0:
                    first, end = next(kept, (0, 0))
                if end == 0:
                    return
                if number >= first:
                    output.write(line)
                    shown[number] = line.decode(errors="replace").rstrip("\r\n")[:_SHOWN]


def hook_own_rows(current: Callable[[], ProgramInputs]) -> None:
    """Restrict the rows that programs give to PySpark: `parallelize`, `createDataFrame` and `range`. Call it once in a process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    depth = [0]  # createDataFrame calls parallelize

    def hook(owner: type, method: str, change: Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
        original = getattr(owner, method)

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            if depth[0] == 0:
                args, kwargs = change(args, kwargs)
            depth[0] += 1
            try:
                made = original(self, *args, **kwargs)
            finally:
                depth[0] -= 1
            watched = depth[0] == 0 and method == "parallelize"
            return current().watched(made, current().last_source(method)) if watched else made

        setattr(owner, method, hooked)

    def first_argument(call: str, name: str) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]:
        def change(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            data = args[0] if args else kwargs.get(name)
            if not isinstance(data, (list, tuple, range, set)) and not _is_frame(data):
                return args, kwargs
            kept = _rows_of_frame(current(), call, data) if _is_frame(data) else current().own_rows(call, data)
            return ((kept, *args[1:]), kwargs) if args else (args, {**kwargs, name: kept})

        return change

    hook(SparkContext, "parallelize", first_argument("parallelize", "c"))
    hook(SparkSession, "createDataFrame", first_argument("createDataFrame", "data"))
    make_range = SparkSession.range

    @functools.wraps(make_range)
    def kept_range(self: Any, *args: Any, **kwargs: Any) -> Any:
        frame = make_range(self, *args, **kwargs)
        names = dict(zip(("start", "end", "step"), args, strict=False)) | kwargs
        begin, end, step = names.get("start", 0), names.get("end"), names.get("step") or 1
        numbers = range(begin, end, step) if end is not None else range(0, begin, step)
        kept = current().own_rows("range", numbers)
        if kept is numbers:
            return frame
        if not kept:
            return frame.where("false")
        return frame.where(frame["id"].isin(kept) if len(kept) <= _SHOWN else _between(frame["id"], kept))

    setattr(SparkSession, "range", kept_range)  # noqa: B010  # mypy refuses an assignment to a method


def _text(row: Any) -> str:
    return repr(row).encode(errors="replace")[:LONGEST].decode(errors="replace")


def _find_line(files: Sequence[str], text: str) -> tuple[str, int] | None:
    for file in files:
        for number, line in enumerate(_lines(file)):
            bare = line.rstrip(b"\r\n")
            if text in (_text(bare.decode(errors="replace")), _text(bare)):
                return f"file:{file}", number
    return None


def _between(column: Any, numbers: Sequence[int]) -> Any:
    """Return the condition that a column has one of some numbers, as ranges."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][1] + step:
            groups[-1][1] = number
        else:
            groups.append([number, number])
    conditions = [column.between(min(pair), max(pair)) for pair in groups]
    return functools.reduce(lambda one, other: one | other, conditions)


def _is_frame(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "iloc")


def _rows_of_frame(inputs: ProgramInputs, call: str, frame: Any) -> Any:
    kept = inputs.own_rows(call, range(len(frame)))
    return frame if isinstance(kept, range) else frame.iloc[list(kept)]


def _lines(file: str) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends, as Hadoop's text format splits them."""
    with _OPENERS.get(os.path.splitext(file)[1], functools.partial(open, mode="rb"))(file) as text:
        for line in text:
            yield from line.splitlines(keepends=True)


def _files(path: str) -> list[str]:
    """Return the local files that a path or a pattern names, in Hadoop's order.

    Raises:
        UnsupportedError: the path is not local.
    """
    local = path.removeprefix("file://").removeprefix("file:")
    if "://" in local:
        raise UnsupportedError(f"An RDD program reads {path}; its records can be chosen on a local file system only.")
    found = sorted(glob.glob(local)) if any(sign in local for sign in "*?[") else [os.path.abspath(local)]
    return [file for place in found for file in ([place] if os.path.isfile(place) else _entries(place))]


def _entries(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        return []
    entries = sorted(os.path.join(folder, name) for name in os.listdir(folder) if not name.startswith(("_", ".")))
    return [entry for entry in entries if os.path.isfile(entry)]
