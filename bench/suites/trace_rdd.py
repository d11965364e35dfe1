"""Measures a trace of one record of an RDD program at a warm service, over 0.5 GB of text, and the growth from a tenth of it.

Grep and word count are run once over the text in mode `active`, and once over a tenth of it. Every round traces another line of their
results, with equal probability. *raw record* requests a line of the text itself by its number.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.data.text import text
from bench.service import Service
from bench.suite import PROCESSOR, SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite
from bench.suites.rdd import TERMS, TEXT_PROGRAMS

_SIZE = 0.5
_WHOLE, _TENTH = "whole", "a tenth"
_TARGETS_MS = {"grep": 70, "word count": 80, "raw record": 50}
_GROWTH = 1.5
_TRACE = """
query ($dataset: String!, $rows: [RowRef!]) { trace(dataset: $dataset, rows: $rows, limit: 100) {
  exact total records { dataset file row values } incomplete { what reason } } }"""


class TraceRddSuite:
    """Medians, and their growth. The control is a second tenth. `programs` are the programs that read the text."""

    def __init__(self, name: str, size: float, cases: Sequence[str] = tuple(_TARGETS_MS), programs: Sequence[str] = ()) -> None:
        self._programs = programs
        self._sizes = {_WHOLE: size, _TENTH: size / 10}
        times = [
            Measure(name=case, cases=(case,), arm=_WHOLE, statistic=statistic, target=target if statistic is Statistic.P50 else None)
            for case, target in _TARGETS_MS.items()
            for statistic in (Statistic.P50, Statistic.P99)
            if case in cases
        ]
        growth = [
            Measure(name=f"growth at ten times the data, {case}", cases=(case,), arm=_WHOLE, statistic=Statistic.RATIO, target=_GROWTH)
            for case in TEXT_PROGRAMS
            if case in cases
        ]
        processor = [
            Measure(name=f"{name}, processor", cases=(case,), arm=_WHOLE, statistic=statistic, quantity=PROCESSOR, target=target)
            for case in cases
            for name, statistic, target in (
                (case, Statistic.P50, None),
                (f"growth at ten times the data, {case}", Statistic.RATIO, _GROWTH),
            )
        ]
        self.plan = Plan(
            name=name,
            arms=(_WHOLE, _TENTH, "control"),
            baseline=_TENTH,
            control="control",
            cases=tuple(cases),
            measures=(*times, *growth, *processor),
            rounds=100,
            warm_up=20,
        )

    def prepare(self, folder: Path) -> None:
        """Run the programs, and deliver their captures."""
        for arm, size in self._sizes.items():
            print(f"  running the programs over {size:g} GB", flush=True)
            (folder / arm).mkdir()
            path = str(text(size, terms=TERMS))
            subprocess.run([sys.executable, "-m", "bench.spark.rdd_program", str(folder / arm), path, *self._programs], check=True)
        shutil.copytree(folder / _TENTH, folder / "control", symlinks=True)

    def arm(self, name: str, folder: Path) -> Arm:
        data = _TENTH if name == "control" else name
        return _LineArm(folder / name / "home", folder / data / "out", text(self._sizes[data], terms=TERMS))


class _LineArm:
    def __init__(self, home: Path, results: Path, source: Path) -> None:
        self._service = Service(home)
        self._processes = self._service.processes()
        self._datasets = {name: results / name for name in TEXT_PROGRAMS} | {"raw record": source}
        self._lines = {name: _lines_of(folder) for name, folder in self._datasets.items() if folder.exists()}

    def run(self, case: str, turn: int) -> Sample:
        chosen = random.Random(f"{case}/{turn}")
        files = self._lines[case]
        (file,) = chosen.choices(list(files), weights=list(files.values()))
        rows = [{"file": str(file), "row": chosen.randrange(files[file])}]
        before, began = self._processes.cpu_seconds(), time.perf_counter()
        answer: dict[str, Any] = self._service.client.execute(_TRACE, dataset=str(self._datasets[case]), rows=rows)["trace"]
        seconds = time.perf_counter() - began
        processor = self._processes.cpu_seconds() - before
        if not (answer["exact"] and answer["records"] and answer["records"][0]["values"]):
            raise RuntimeError(f"the trace of {rows} gave {answer['total']} records: {answer['incomplete']} {answer['records'][:1]}")
        return {SECONDS: seconds, PROCESSOR: processor}

    def close(self) -> None:
        self._service.stop()


def _lines_of(folder: Path) -> dict[Path, int]:
    """Return the nonempty files of a folder of text, with their numbers of lines."""
    found = {}
    for path in sorted(folder.glob("part-*")):
        lines = 0
        with path.open("rb") as file:
            while chunk := file.read(1 << 24):
                lines += chunk.count(b"\n")
        found[path] = lines
    return {path: lines for path, lines in found.items() if lines}


def suite(scale: float | None = None) -> Suite:
    return TraceRddSuite("trace_rdd" if scale in (None, 1) else f"trace_rdd-{scale:g}", _SIZE * (scale or 1.0))
