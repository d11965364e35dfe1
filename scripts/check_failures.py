"""Names the failed tests of a step of check.py, for the last lines of its output, which are all that some build machines keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

_NAMED = 6  # number of failures to name for each step
_LAST_LINES = 4  # number of lines of a log without results
_WIDTH = 240
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def read_failures(junit: Path) -> list[str]:
    """Return the name of each failed test with the first line of its message, from a JUnit file."""
    failures = []
    for case in ET.parse(junit).iter("testcase"):  # noqa: S314  our own file
        for problem in (part for part in case if part.tag in {"failure", "error"}):
            text = problem.get("message") or problem.text or ""
            failures.append(_cut(f"{case.get('classname')}::{case.get('name')}: {_first_line(text)}"))
    return failures


def last_lines(log: Path) -> list[str]:
    """Return the end of a log, for a step without results of tests."""
    lines = [line for line in _COLORS.sub("", log.read_text(errors="replace")).splitlines() if line.strip()] if log.exists() else []
    return [_cut(line) for line in lines[-_LAST_LINES:]]


def lines_of(step: str, failures: Sequence[str]) -> Iterable[str]:
    """Yield the lines of the summary about the failures of a step."""
    yield from (f"  {step}: {failure}" for failure in failures[:_NAMED])
    if len(failures) > _NAMED:
        yield f"  {step}: and {len(failures) - _NAMED} more"


def _first_line(text: str) -> str:
    return next((line.strip() for line in _COLORS.sub("", text).splitlines() if line.strip()), "")


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
