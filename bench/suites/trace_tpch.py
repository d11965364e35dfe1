"""How long tracing one row of an answer of TPC-H takes at a warm service, at scale factor 1 (`--scale`): for growth, run it at two scales.

The 22 queries are run once, captured in mode `active` and in mode `auto`; every round asks for one row of one of the answers, another
in each round and the same in every arm. Queries that are refused have no rows to ask for.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from bench.data.dialect import for_spark
from bench.data.tpc import benchmark
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite
from bench.suites.trace import Service

_SCALE = 1.0
_MODES = ("active", "auto")
_CASES = {"influence": "INFLUENCE", "witness": "WITNESS"}
_TARGETS_MS = {Statistic.P50: 100, Statistic.P99: 1000}
_QUESTION = """
query ($dataset: String!, $rows: [RowRef!], $semantics: Semantics!) {
  trace(dataset: $dataset, rows: $rows, semantics: $semantics, limit: 100) {
    exact total records { dataset file row values } incomplete { what reason } } }"""


class TraceTpchSuite:
    """Percentiles over rows of all queries together; a control that asks what `active` asks."""

    def __init__(self, scale: float) -> None:
        self._scale = scale
        self.plan = Plan(
            name="trace_tpch" if scale == _SCALE else f"trace_tpch-sf{scale:g}",
            arms=(*_MODES, "control"),
            baseline="active",
            control="control",
            cases=tuple(_CASES),
            measures=tuple(
                Measure(name=f"{arm}, {case}", cases=(case,), arm=arm, statistic=statistic, target=target)
                for arm in _MODES
                for case in _CASES
                for statistic, target in _TARGETS_MS.items()
            ),
            rounds=200,
            warm_up=44,
        )

    def prepare(self, folder: Path) -> None:
        """Run the queries in each mode, and take in what they recorded."""
        made = benchmark("tpch", self._scale)
        texts = {f"q{number}": for_spark(text) for number, text in made.queries.items()}
        for mode in _MODES:
            _capture(folder / mode, mode, made.tables, texts)
        shutil.copytree(folder / "active", folder / "control", symlinks=True)

    def arm(self, name: str, folder: Path) -> Arm:
        """Start a service on the arm's home."""
        return _RowArm(folder / name / "home", folder / ("auto" if name == "auto" else "active") / "out")


class _RowArm:
    def __init__(self, home: Path, out: Path) -> None:
        self._service = Service(home)
        self._answers = {path: _files(path) for path in sorted(out.iterdir()) if any(rows for _, rows in _files(path))}
        self._traced = [path for path, files in self._answers.items() if self._ask(path, files, random.Random(0), "INFLUENCE") is not None]
        if not self._traced:
            raise RuntimeError(f"no answer below {out} can be traced")

    def run(self, case: str, turn: int) -> Sample:
        chosen = random.Random(f"{case}/{turn}")
        path = self._traced[turn % len(self._traced)]
        seconds = self._ask(path, self._answers[path], chosen, _CASES[case])
        if seconds is None:
            raise RuntimeError(f"the trace of a row of {path} found nothing")
        return {SECONDS: seconds}

    def close(self) -> None:
        """Stop the service."""
        self._service.stop()

    def _ask(self, path: Path, files: list[tuple[Path, int]], chosen: random.Random, semantics: str) -> float | None:
        """The seconds that an exact answer took; None where there is none: its query was refused."""
        (file, rows) = chosen.choice([entry for entry in files if entry[1]])
        asked = {"dataset": str(path), "rows": [{"file": str(file), "row": chosen.randrange(rows)}], "semantics": semantics}
        began = time.perf_counter()
        answer = self._service.client.execute(_QUESTION, **asked)["trace"]
        seconds = time.perf_counter() - began
        return seconds if answer["exact"] else None


def _files(folder: Path) -> list[tuple[Path, int]]:
    return [(path, pq.ParquetFile(path).metadata.num_rows) for path in sorted(folder.glob("*.parquet"))]


def _capture(folder: Path, mode: str, tables: Mapping[str, Path], texts: Mapping[str, str]) -> None:
    """In a process of its own: a program has one capture."""
    folder.mkdir()
    stated = {"mode": mode, "tables": {name: str(path) for name, path in tables.items()}, "texts": dict(texts)}
    (folder / "queries.json").write_text(json.dumps(stated), encoding="utf-8")
    print(f"  running the queries in mode {mode}", flush=True)
    subprocess.run([sys.executable, "-m", "bench.spark.program", str(folder)], check=True)


def suite(scale: float | None = None) -> Suite:
    """The suite, at scale factor 1 unless another is asked for."""
    return TraceTpchSuite(scale or _SCALE)
