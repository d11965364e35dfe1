"""Measures a trace of one row at the service: HTTP, GraphQL, the trace itself and reading the source records' values.

The demo's pipeline is run once under `headwater run`. Each arm serves a copy of its home. A round traces one row of the report (or,
forward, one record of the raw weather), another in each round and the same in every arm.
"""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any

from bench.service import Service
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite

_TARGET_MS = 300
_QUESTION = """
query ($dataset: String!, $where: String, $rows: [RowRef!], $column: String, $semantics: Semantics!, $forward: Boolean!, $to: String) {
  trace(dataset: $dataset, where: $where, rows: $rows, column: $column, semantics: $semantics, forward: $forward, to: $to) {
    exact total records { dataset file row line grain values } path { job operations records } incomplete { what reason } } }"""
_SEMANTICS = {"witness of a cell": "WITNESS", "influence on a row": "INFLUENCE", "forward from a record": "INFLUENCE"}


class TraceSuite:
    """Percentiles of three kinds of traces."""

    plan = Plan(
        name="trace",
        arms=("service", "control"),
        baseline="service",
        control="control",
        cases=tuple(_SEMANTICS),
        measures=tuple(
            Measure(name=case, cases=(case,), arm="service", statistic=statistic, target=_TARGET_MS)
            for case in _SEMANTICS
            for statistic in (Statistic.P50, Statistic.P99)
        ),
        rounds=200,
        warm_up=20,
    )

    def prepare(self, folder: Path) -> None:
        from headwater.backend.cli.demo.data import prepare
        from headwater.backend.cli.demo.pipeline import run_pipeline

        prepare(folder / "raw")
        run_pipeline(
            folder, home=folder / "home", started=lambda name: print(f"  running {name}", flush=True), ended=lambda _name, _said: None
        )
        for arm in self.plan.arms:
            shutil.copytree(folder / "home", folder / f"{arm}-home", symlinks=True)

    def arm(self, name: str, folder: Path) -> Arm:
        return _ServiceArm(folder, folder / f"{name}-home")


class _ServiceArm:
    def __init__(self, folder: Path, home: Path) -> None:
        self._raw, self._report = folder / "raw" / "weather.csv", folder / "out" / "report"
        self._service = Service(home)

    def run(self, case: str, turn: int) -> Sample:
        variables = self._question(case, random.Random(f"{case}/{turn}"))
        began = time.perf_counter()
        answer = self._service.client.execute(_QUESTION, **variables)["trace"]
        seconds = time.perf_counter() - began
        if not answer["records"]:
            raise RuntimeError(f"the trace found nothing: {variables} gave {answer}")
        return {SECONDS: seconds}

    def close(self) -> None:
        self._service.stop()

    def _question(self, case: str, chosen: random.Random) -> dict[str, Any]:
        asked: dict[str, Any] = {"where": None, "rows": None, "column": None, "to": None, "forward": False, "semantics": _SEMANTICS[case]}
        if case == "forward from a record":
            return asked | {"dataset": str(self._raw), "rows": [{"file": str(self._raw), "row": chosen.randrange(26_000)}], "forward": True}
        cell = f"origin = '{chosen.choice(['EWR', 'JFK', 'LGA'])}' AND month = {chosen.randint(1, 12)} AND year = 2013"
        return asked | {
            "dataset": str(self._report),
            "where": cell,
            "column": "max_wind_mph" if case == "witness of a cell" else None,
            "to": str(self._raw),
        }


def suite(scale: float | None = None) -> Suite:
    if scale is not None:
        raise ValueError("the suite trace has one size only")
    return TraceSuite()
