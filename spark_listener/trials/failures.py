"""The failure of a program, in a form in which two runs can be compared.

Two failures of the same kind differ in numbers of tasks, in values and in addresses. `kind` is the innermost error, `shape` its message
without values, and `exact` its message without numbers of tasks. `place` is the line of the script that called Spark.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SPARK = ("/pyspark/", "/py4j/", "/pyspark.zip/")
_LONGEST = 20_000  # characters of a text that is searched
_LONGEST_MESSAGE = 2_000
_MOST_CAUSES = 20
_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_ERROR = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$", re.MULTILINE)
_FRAME = re.compile(r'^ +File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>.+)$', re.MULTILINE)
_CONDITION = re.compile(r"\[(?P<kind>[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] *(?P<message>[^\n]*)")
_JAVA_ERROR = re.compile(r"(?:^|Caused by: |: )(?P<kind>(?:[a-z_][\w]*\.)+[A-Z][\w$]*)(?:: (?P<message>[^\n]*))?", re.MULTILINE)
_WRAPPERS = ("TASK_WRITE_FAILED", "FAILED_READ_FILE", "FAILED_EXECUTE_UDF")  # conditions around the error of a function or a reader
_TASK_NUMBERS = re.compile(r"(?i)\b(task|stage|TID|attempt|executor|job|port|pid)[ =#]+[\d.]+|0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}")
_VALUES = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\d[\d.,:eE+-]*")


@dataclass(frozen=True, slots=True)
class TrialFailure:
    """The failure of one run. `function` is the innermost line of the user's function that failed, if a traceback names it."""

    kind: str
    message: str
    place: str = ""
    function: str = ""

    @property
    def exact(self) -> str:
        return _TASK_NUMBERS.sub("#", self.message)

    @property
    def shape(self) -> str:
        return _VALUES.sub("#", self.exact)

    def is_same_kind(self, other: TrialFailure) -> bool:
        return (self.kind, self.shape, self.place, self.function) == (other.kind, other.shape, other.place, other.function)

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def failure_of_text(text: str) -> TrialFailure:
    """Return the innermost error that a message and its stack trace name."""
    text = text[:_LONGEST]
    start = text.rfind(_TRACEBACK)
    if start >= 0:
        after = text[start + len(_TRACEBACK) :]
        frames = list(_FRAME.finditer(after))
        error = _PYTHON_ERROR.search(after, frames[-1].end() if frames else 0)
        if error is not None and not error["kind"].endswith(("Py4JJavaError", "PythonException")) and "captured" not in error["kind"]:
            return TrialFailure(_simple(error["kind"]), _short(error["message"]), function=_function(frames))
        if error is not None:
            text = after[error.start() :]
    conditions = list(_CONDITION.finditer(text))
    inner = [found for found in conditions if found["kind"].partition(".")[0] not in _WRAPPERS] or conditions
    if inner:
        return TrialFailure(inner[-1]["kind"], _short(inner[-1]["message"]))
    if found := list(_JAVA_ERROR.finditer(text)):
        return TrialFailure(_simple(found[-1]["kind"]), _short(found[-1]["message"]))
    first = _PYTHON_ERROR.search(text)
    return TrialFailure(_simple(first["kind"]), _short(first["message"])) if first else TrialFailure("error", _short(text.strip()))


def failure_of_error(error: BaseException, script: str) -> TrialFailure:
    """Return the failure that ended a program. Causes in the JVM count, and so do tracebacks of Python workers."""
    found = failure_of_text("\n".join(_texts(error)))
    return TrialFailure(found.kind, found.message, _place(error.__traceback__, script), found.function)


def _texts(error: BaseException) -> Iterator[str]:
    """Yield the messages of an error, the innermost last. A JVM error counts with its causes, as far as they can be read."""
    yield "".join(traceback.format_exception_only(error)) if not _java(error) else f"{type(error).__name__}: {error}"[:_LONGEST]
    cause = _java(error)
    for _ in range(_MOST_CAUSES):
        try:
            cause = cause.getCause() if cause is not None else None
            if cause is None:
                return
            yield str(cause.toString())[:_LONGEST]
        except Exception:  # noqa: BLE001  # the JVM may be gone
            return


def _java(error: BaseException) -> Any:
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)


def _place(trace: TracebackType | None, script: str) -> str:
    """Return the line of the script, or of a module next to it, that called Spark."""
    place = ""
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        if any(part in file for part in _SPARK):
            break
        if file == script or ("site-packages" not in file and not file.startswith(_OURS)):
            place = f"{file}:{line}"
    return place


def _function(frames: list[re.Match[str]]) -> str:
    own = [frame for frame in frames if not frame["file"].startswith(_OURS) and not any(part in frame["file"] for part in _SPARK)]
    return f"{own[-1]['file']}:{own[-1]['line']} in {own[-1]['name']}" if own else ""


def _simple(kind: str) -> str:
    return kind.rpartition(".")[2]


def _short(message: str | None) -> str:
    return (message or "").strip()[:_LONGEST_MESSAGE]
