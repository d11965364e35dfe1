"""Traces one row of the answers of a suite's queries: arms, cases and measures.

The queries are run once in mode `active` and once in mode `auto`, and in mode `active` over a tenth of the data. In every round, each
service traces one row of one of the answers. The row changes with the round, and is the same in every arm with the same data. The round
also traces forward from a record behind such a row. Caches (opened files, stored groups) are warm, as in a running service.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from bench.service import Service
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic

if TYPE_CHECKING:
    from headwater.transport import GraphQLClient

_MODES = ("active", "auto")
_TENTH = "a tenth"
_CASES = {"influence": "INFLUENCE", "witness": "WITNESS", "forward": "INFLUENCE"}
_BACKWARD = ("influence", "witness")
_TARGETS_MS = {Statistic.P50: 100, Statistic.P99: 1000}
_GROWTH = 2
_QUESTION = """
query ($dataset: String!, $rows: [RowRef!], $semantics: Semantics!, $forward: Boolean!, $to: String) {
  trace(dataset: $dataset, rows: $rows, semantics: $semantics, forward: $forward, to: $to, limit: 100) {
    exact total records { dataset file row values } incomplete { what reason } } }"""

# The tables of a scale by name, and the arguments of bench.spark.program for them.
Queries = Callable[[float], tuple[Mapping[str, Path], Mapping[str, object]]]


class TracedAnswersSuite:
    """Percentiles over rows of all answers, and their growth from a tenth of the data. The control is a second tenth."""

    def __init__(self, name: str, scale: float, queries: Queries) -> None:
        self._scale = scale
        self._queries = queries
        times = [
            Measure(name=f"{mode}, {case}", cases=(case,), arm=mode, statistic=statistic, target=target if case in _BACKWARD else None)
            for mode in _MODES
            for case in _CASES
            for statistic, target in _TARGETS_MS.items()
        ]
        growth = [
            Measure(name=f"growth at ten times the data, {case}", cases=(case,), arm="active", statistic=Statistic.RATIO, target=_GROWTH)
            for case in _BACKWARD
        ]
        self.plan = Plan(
            name=name,
            arms=(*_MODES, _TENTH, "control"),
            baseline=_TENTH,
            control="control",
            cases=tuple(_CASES),
            measures=(*times, *growth),
            rounds=200,
            warm_up=44,
        )

    def prepare(self, folder: Path) -> None:
        """Run the queries in each mode, and deliver their captures."""
        for mode in _MODES:
            captured(folder / mode, mode, *self._queries(self._scale))
        captured(folder / _TENTH, "active", *self._queries(self._scale / 10))
        shutil.copytree(folder / _TENTH, folder / "control", symlinks=True)

    def arm(self, name: str, folder: Path) -> Arm:
        answers = [{path.name for path in answers_of(folder / arm)} for arm in (*_MODES, _TENTH)]
        return _RowArm(folder / name / "home", folder / (_TENTH if name == "control" else name), set.intersection(*answers))


class _RowArm:
    def __init__(self, home: Path, folder: Path, names: set[str]) -> None:
        self._service = Service(home)
        self._answers = [(path, files) for path, files in answers_of(folder).items() if path.name in names]

    def run(self, case: str, turn: int) -> Sample:
        chosen = random.Random(f"{case}/{turn}")
        path, files = self._answers[turn % len(self._answers)]
        file, rows = chosen.choice(files)
        asked = {"dataset": str(path), "rows": [{"file": str(file), "row": chosen.randrange(rows)}], "forward": False, "to": None}
        if case == "forward":
            record = chosen.choice(ask(self._service.client, asked, case)[1]["records"])
            asked = {
                "dataset": record["dataset"], "rows": [{"file": record["file"], "row": record["row"]}], "forward": True, "to": str(path),
            }  # fmt: skip
        return {SECONDS: ask(self._service.client, asked, case)[0]}

    def close(self) -> None:
        self._service.stop()


def ask(client: GraphQLClient, asked: Mapping[str, Any], case: str, *, empty: bool = False) -> tuple[float, dict[str, Any]]:
    """Return the seconds of an answer, and the answer. It must be exact and nonempty; `empty` allows an empty one."""
    began = time.perf_counter()
    answer: dict[str, Any] = client.execute(_QUESTION, **asked, semantics=_CASES[case])["trace"]
    seconds = time.perf_counter() - began
    if not answer["exact"] or not (answer["records"] or empty):
        raise RuntimeError(f"the trace of {asked} gave {answer['total']} records: {answer['incomplete']}")
    return seconds, answer


def answers_of(folder: Path) -> dict[Path, list[tuple[Path, int]]]:
    """Return the nonempty answers: the files of each with their numbers of rows."""
    found = {
        path: [(file, rows) for file in sorted(path.glob("*.parquet")) if (rows := pq.ParquetFile(file).metadata.num_rows)]
        for path in sorted((folder / "out").iterdir())
    }
    return {path: files for path, files in found.items() if files}


def captured(folder: Path, mode: str, tables: Mapping[str, Path], queries: Mapping[str, object]) -> None:
    """Run queries with capture, in a separate process because a program has one capture."""
    folder.mkdir()
    stated = {"mode": mode, "tables": {name: str(path) for name, path in tables.items()}, **queries}
    (folder / "queries.json").write_text(json.dumps(stated), encoding="utf-8")
    print(f"  running the queries in mode {mode} ({folder.name})", flush=True)
    subprocess.run([sys.executable, "-m", "bench.spark.program", str(folder)], check=True)
