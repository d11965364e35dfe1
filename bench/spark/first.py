"""Measures the first trace of an answer, for which the service computes records that the queries did not write.

The queries are run once in mode `auto` and once in mode `lazy`. The service is warm except for the answer: it has read the captures, and
stored the tables that it stores without queries. Tables that it stores because of a query are dropped before the next one. The warm-up
round runs each query once, so that no background work runs later.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from functools import partial
from pathlib import Path

from bench.rest import rest
from bench.service import Service
from bench.spark.answers import Queries, answers_of, ask, captured
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic
from headwater.graph.records.layout import unpack_manifest

_MODES = ("auto", "lazy")
_BUDGET_MS = 1000
_SEMANTICS = ("influence", "witness")
_PAUSE = 3.0  # seconds after which a service has begun waiting work
_MOST_REST = 60.0  # limit of seconds for tables that the service stores after the warm-up


class FirstTracesSuite:
    """The longest first trace, and the number of traces beyond the budget. A case is the answer of a query."""

    def __init__(self, name: str, scale: float, queries: Queries, answers: tuple[str, ...]) -> None:
        self._scale = scale
        self._queries = queries
        measures: list[Measure] = []
        for mode in _MODES:
            budget, none = (_BUDGET_MS, 0) if mode == "auto" else (None, None)
            of_mode = partial(Measure, cases=answers, arm=mode)
            measures += [
                of_mode(name=f"{mode}, all answers together", statistic=Statistic.P50),
                of_mode(name=f"{mode}, longest", statistic=Statistic.MOST, quantity="ms", unit="ms", target=budget),
                of_mode(name=f"{mode}, beyond {_BUDGET_MS} ms", statistic=Statistic.SHARE, quantity="late", per="asked", target=none),
            ]
        self.plan = Plan(
            name=name,
            arms=(*_MODES, "control"),
            baseline="auto",
            control="control",
            cases=answers,
            measures=measures,
            rounds=5,
            warm_up=1,
        )

    def prepare(self, folder: Path) -> None:
        """Run the queries in each mode, and deliver their captures."""
        for mode in _MODES:
            captured(folder / mode, mode, *self._queries(self._scale))
        shutil.copytree(folder / "auto", folder / "control", symlinks=True)

    def arm(self, name: str, folder: Path) -> Arm:
        return _FirstArm(folder / name / "home", folder / ("auto" if name == "control" else name))


class _FirstArm:
    def __init__(self, home: Path, folder: Path) -> None:
        self._service = Service(home)
        self._answers = {path.name: (path, files) for path, files in answers_of(folder).items()}
        derived = _derived_tables(home / "associations")
        unasked = _settled(derived)
        self._asked = [table for table in derived if table not in unasked]

    def run(self, case: str, turn: int) -> Sample:
        """Trace one row of an answer, once for its influence and once for a witness. The longer time counts."""
        if case not in self._answers:
            raise RuntimeError(f"the answer of {case} has no rows: there is nothing to ask for")
        chosen = random.Random(f"{case}/{turn}")
        path, files = self._answers[case]
        file, rows = chosen.choice(files)
        asked = {"dataset": str(path), "rows": [{"file": str(file), "row": chosen.randrange(rows)}], "forward": False, "to": None}
        times = []
        for semantics in _SEMANTICS:
            if turn == 0:
                rest(_MOST_REST)
            for table in self._asked:
                table.unlink(missing_ok=True)
            # with little data, an aggregate over nothing is an answer, too
            times.append(ask(self._service.client, asked, semantics, empty=True)[0])
        longest = max(times) * 1000
        return {SECONDS: sum(times), "ms": longest, "late": float(longest > _BUDGET_MS), "asked": 1.0}

    def close(self) -> None:
        self._service.stop()


def _settled(tables: list[Path]) -> frozenset[Path]:
    """Return the tables that a service stores without queries, once it has read everything."""
    before: frozenset[Path] | None = None
    while (now := frozenset(table for table in tables if table.exists())) != before:
        before = now
        time.sleep(_PAUSE)
        rest(_MOST_REST)
    return now


def _derived_tables(associations: Path) -> list[Path]:
    """Return the paths of tables that the service may compute later."""
    return [
        manifest.parent / f"b{boundary['boundary']}.parquet"
        for manifest in sorted(associations.glob("*/*/manifest.json"))
        for boundary in json.loads(unpack_manifest(manifest.read_bytes()))["boundaries"]
        if boundary.get("derived")
    ]
