"""Records the durations of a run of check.py: a JSON file, and lines about the slowest tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

_SLOWEST = 10  # number of printed tests


def read_tests(junit: Path) -> dict[str, float]:
    """Return the duration of each test with its fixtures in seconds, from a JUnit file."""
    cases = ET.parse(junit).iter("testcase")  # noqa: S314  our own file
    return {f"{case.get('classname')}::{case.get('name')}": float(case.get("time", 0)) for case in cases}


def write(path: Path, steps: Mapping[str, Mapping[str, float]], tests: Mapping[str, float]) -> None:
    slowest_first = dict(sorted(tests.items(), key=lambda entry: -entry[1]))
    path.write_text(json.dumps({"steps": steps, "tests": slowest_first}, indent=1), encoding="utf-8")


def slowest(tests: Mapping[str, float]) -> list[str]:
    """Return a line for each of the slowest tests."""
    entries = sorted(tests.items(), key=lambda entry: -entry[1])[:_SLOWEST]
    return [f"{seconds:7.1f} s  {name}" for name, seconds in entries]
