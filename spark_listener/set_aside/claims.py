"""Claims of failing records, in one file that all tasks of an application share. Shipped by value to workers: standard library only.

A task claims a record before it sets the record aside. The file is locked meanwhile, so that all tasks together stay within the limit.
If two attempts of a task meet the same record, their claims have the same key, and count once. A claim counts in reports only if its task
succeeded, which the driver learns through an accumulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SAVE = "headwater.save"  # the local property that marks the jobs of a save
_EXECUTION = "spark.sql.execution.id"


class Attempts:
    """The parameter of the accumulator with the task attempts that set records aside and succeeded."""

    def zero(self, value: set[int]) -> set[int]:  # noqa: ARG002  # as PySpark calls it
        return set()

    def addInPlace(self, value: set[int], more: set[int]) -> set[int]:  # noqa: N802  # as PySpark names it
        value |= more
        return value


class Claims:
    """The claims of all tasks. `attempts` is the accumulator."""

    def __init__(self, path: str, limit: int, attempts: Any) -> None:
        self.limit = limit
        self._path = path
        self._attempts = attempts
        self._keys: set[str] = set()
        self._end = 0

    def claim(self, key: str, facts: Mapping[str, Any]) -> bool:
        """Return whether a record may be set aside. If the file cannot be used, it may not, and the task fails as without Headwater."""
        import fcntl
        import json

        from pyspark import TaskContext

        task = TaskContext.get()
        if task is None:
            return False
        attempt = int(task.taskAttemptId())
        place = {"stage": task.stageId(), "partition": task.partitionId(), "attempt": attempt}
        marks = {"execution": task.getLocalProperty(_EXECUTION), "save": task.getLocalProperty(SAVE)}
        try:
            with open(self._path, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._read(file)
                allowed = key in self._keys or len(self._keys) < self.limit
                line = {"key": key, **facts, **place, **marks} if allowed else {"refused": True, **facts, **place, **marks}
                file.write(b"\n" + json.dumps(line).encode())
        except OSError:
            return False
        if allowed:
            self._keys.add(key)
            self._attempts.add({attempt})
        return allowed

    def _read(self, file: Any) -> None:
        """Read the claims since the last time. The file is then at its end. A line that a killed worker left unfinished is no claim."""
        import json

        file.seek(self._end)
        for line in file.read().split(b"\n"):
            try:
                claim = json.loads(line)
            except ValueError:
                continue
            if "key" in claim:
                self._keys.add(claim["key"])
        self._end = file.tell()


def function_place(error: BaseException) -> str:
    """Return the innermost line of the program in the traceback of an error, or of a library without the program."""
    own = library = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}"
        if not any(part in code.co_filename for part in ("/pyspark/", "pyspark.zip", "/spark_listener/set_aside/")):
            library = place
            own = own if "-packages/" in code.co_filename else place
        trace = trace.tb_next
    return own or library


def error_facts(error: BaseException) -> dict[str, str]:
    """Return the kind of an error and its place. The message may have values of the record, and is left out."""
    return {"error": type(error).__name__, "function": function_place(error)}
