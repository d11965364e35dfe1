"""Runs trials of registered programs in one process, which stays warm. See `spark_listener/trials`.

A trial writes below the folder of its search only. At the time limit, the process is killed, and the search ends with what it has found.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Self

from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.runner import KEPT_VARIABLES
from headwater.backend.rerun.runners.this_machine import kill_process
from headwater.errors import HeadwaterError
from headwater.graph.culprits.delta_debugging import SearchEndedError
from headwater.graph.culprits.record_set import RecordSet
from headwater.spark_listener.trials.failures import TrialFailure

_POLL = 1.0  # seconds between two looks at the process
_LOG_LINES = 8
Values = Mapping[str, str | None]  # the values of a record by column, as text


class TrialsFailedError(HeadwaterError):
    """The process that runs trials ended, or cannot run this program."""


@dataclass(frozen=True, slots=True)
class TaskReads:
    """The records that one task read of one scan. `rows` maps a file to its first row, last row and number of rows that were read.

    `error` is the error of a failed task, and `last` the last record that it read.
    """

    scan: int
    stage: int
    partition: int
    rows: Mapping[str, tuple[int, int, int]]
    last: tuple[str, int]
    error: str | None


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A failed call of a user function: the `number` of its row among the rows that the function had in its task, from 0."""

    stage: int
    partition: int
    number: int


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of one trial. `scans` are the files of each scan of Spark SQL. `counts` are the records of all other inputs, by file.

    `unwatched` are inputs whose records a trial cannot choose. `values` are the values of the chosen records, by file and row.
    `calls` are failed calls of user functions. `present` are rows of RDDs that tasks were processing at the end.
    """

    failure: TrialFailure | None
    seconds: float
    shadow: Path
    scans: Mapping[int, Sequence[str]] = field(default_factory=dict)
    reads: Sequence[TaskReads] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[tuple[str, int], Values] = field(default_factory=dict)
    unwatched: Sequence[str] = ()
    calls: Sequence[FailedCall] = ()
    present: Sequence[tuple[str, int]] = ()

    def records_read(self) -> RecordSet:
        """Return all records that the trial read of its sources, and the next one of a failed task, which its reader may have failed at.

        Files that the programs wrote themselves are no sources.
        """
        read = [
            (file, first, last + (1 if task.error is None else 2))
            for task in self.reads
            for file, (first, last, _) in task.rows.items()
            if not file.startswith(f"file:{self.shadow}/")
        ]
        return RecordSet.of_ranges([*read, *((file, 0, count) for file, count in self.counts.items())])


class Trials:
    """The process of one search: `with Trials(folder, invocations, seconds) as trials: trials.run(records, restrict)`.

    `cancel` ends the search early, as the time limit does.
    """

    def __init__(self, folder: Path, invocations: Sequence[Invocation], seconds: float, cancel: Event | None = None) -> None:
        self._folder = folder
        self._invocations = invocations
        self._deadline = time.monotonic() + seconds
        self._cancel = cancel or Event()
        self._log = folder / "trials.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: Any = None
        self._results = -1
        self._rest = b""
        self._names = itertools.count(1)
        self.number = 0

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True)
        orders_out, orders_in = os.pipe()
        results_out, results_in = os.pipe()
        first = self._invocations[0]
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        environment |= dict(first.environment) | {"PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "headwater.spark_listener.trials.server", str(orders_out), str(results_in)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=first.working_directory, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                pass_fds=(orders_out, results_in),
            )  # fmt: skip
        os.close(orders_out)
        os.close(results_in)
        self._orders = os.fdopen(orders_in, "w", encoding="utf-8")
        self._results = results_out
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):
            self._orders.close()
        if self._process is not None:
            kill_process(self._process.pid)  # the JVM ends too, because it reads a pipe from the process
            self._process.wait()
        os.close(self._results)
        shutil.rmtree(self._folder, ignore_errors=True)

    def take(self, invocations: Sequence[Invocation]) -> None:
        """Run other programs from now on, in the same process."""
        self._invocations = invocations
        self.number = 0

    def run(self, records: RecordSet, restrict: Sequence[str], *, files: Sequence[str] = (), shows: bool = False) -> TrialResult:
        """Run the programs on `records` of the files in `restrict`, and on all records of other files.

        With `files`, they run on all records of these files, and on no others of `restrict`.

        Without any record, tasks still run on the files in `restrict`, because a function may fail before it gets a record. The output
        stays until `forget`. With `shows`, the result has the values of the records.

        Raises:
            SearchEndedError: the time limit is over.
            TrialsFailedError: the programs cannot run in trials.
        """
        self.number += 1
        shadow = self._folder / f"{next(self._names)}"
        steps = [
            {
                "script": one.script, "arguments": list(one.argv[1:]), "script_sha256": one.script_sha256,
                "working_directory": one.working_directory, "environment": dict(one.environment), "modules": one.modules,
            }
            for one in self._invocations
        ]  # fmt: skip
        keep = records.by_file() or {file: [] for file in restrict if not files}
        order = {"shadow": str(shadow), "keep": keep, "files": list(files), "restrict": list(restrict), "steps": steps, "shows": shows}
        try:
            self._orders.write(json.dumps(order) + "\n")
            self._orders.flush()
        except OSError as error:
            raise self._ended() from error
        result = self._read()
        if "error" in result:
            raise TrialsFailedError(f"The program cannot run in trials: {result['error']}")
        return _result(result, shadow)

    def forget(self, result: TrialResult) -> None:
        """Delete the output of a trial, and its notes."""
        shutil.rmtree(result.shadow, ignore_errors=True)
        for suffix in (".watch", ".inputs"):
            shutil.rmtree(f"{result.shadow}{suffix}", ignore_errors=True)
        for suffix in (".scans", ".met", ".written", ".unwatched", ".partials"):
            Path(f"{result.shadow}{suffix}").unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            left = self._deadline - time.monotonic()
            if left <= 0 or self._cancel.is_set():
                raise SearchEndedError
            if not select.select([self._results], [], [], min(left, _POLL))[0]:
                continue
            read = os.read(self._results, 1 << 20)
            if not read:
                raise self._ended()
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        result: dict[str, Any] = json.loads(line)
        return result

    def _ended(self) -> TrialsFailedError:
        tail = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_LOG_LINES:]
        return TrialsFailedError("The process of the trials ended by itself. The end of its output:\n  " + "\n  ".join(tail))


def _result(result: Mapping[str, Any], shadow: Path) -> TrialResult:
    files: dict[int, dict[int, str]] = defaultdict(dict)
    for scan, ordinal, path in _json_lines(Path(f"{shadow}.scans")):
        files[scan][ordinal] = path
    reads = []
    calls = [FailedCall(**json.loads(note.read_bytes())) for note in sorted(Path(f"{shadow}.watch").glob("call-*.json"))]
    for note in Path(f"{shadow}.watch").glob("[0-9]*.json"):
        with suppress(OSError, ValueError):  # a task of an ended job may still be writing
            task = _reads(json.loads(note.read_bytes()), files)
            if task is not None:
                reads.append(task)
    reads.sort(key=lambda task: (task.stage, task.partition, task.scan))
    values: dict[tuple[str, int], Values] = {
        (file, int(row)): {"value": text} for file, rows in result["rows"].items() for row, text in rows.items()
    }
    for shown in Path(f"{shadow}.watch").glob("values-*"):
        for scan, ordinal, row, record in _json_lines(shown):
            values[files[scan][ordinal], row] = record
    return TrialResult(
        TrialFailure(**result["failure"]) if result["failure"] else None, result["seconds"], shadow,
        {scan: list(names.values()) for scan, names in files.items()}, reads, result["counts"], values,
        [str(line) for line in _json_lines(Path(f"{shadow}.unwatched"))], calls, [(file, row) for file, row in result["present"]],
    )  # fmt: skip


def _reads(note: Mapping[str, Any], files: Mapping[int, Mapping[int, str]]) -> TaskReads | None:
    names = files.get(note["scan"], {})
    rows = {names[ordinal]: (first, last, count) for ordinal, first, last, count in note["rows"] if ordinal in names}
    last_file = names.get(note["last"])
    if last_file is None:
        return None
    return TaskReads(note["scan"], note["stage"], note["partition"], rows, (last_file, int(note["lastRow"])), note["error"])


def _json_lines(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
