"""Checks one query."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.truth.laboratory import Laboratory, Ran
from bench.truth.plans import Executed, differences, executed
from bench.truth.replay import Record, Replay
from bench.truth.scans import Scans
from bench.truth.values import Written
from headwater.graph.trace import Semantics, TraceAnswer

_RUNS = 3  # runs of a query whose plans with and without capture differ
_BOTH = (Semantics.INFLUENCE, Semantics.WITNESS)


@dataclass
class Finding:
    """The findings about a query. `wrong` lists faults; `inexact` has the reasons why lineage is not exact.

    `plan` lists differences between the plans with and without capture. `varies` is true if plans without capture differ from run to run.
    """

    query: str
    status: str = "failed"
    refused: list[str] = field(default_factory=list)
    rows: int = 0
    traced: int = 0
    records: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    inexact: list[str] = field(default_factory=list)
    plan: list[str] = field(default_factory=list)
    varies: bool = False

    @property
    def exact(self) -> bool:
        """Whether the query was captured, and exact records gave every traced row again."""
        return self.status == "complete" and not self.wrong and not self.inexact


class Checker:
    """The checks in one laboratory. `rows` is the number of traced rows of an answer."""

    def __init__(self, laboratory: Laboratory, folder: Path, *, rows: int) -> None:
        self._laboratory = laboratory
        self._replay = Replay(laboratory.replayed, laboratory.tables, folder / "replay")
        self._rows = rows

    def check(self, query: str, text: str) -> Finding:
        """Run a query plain and captured, and compare."""
        finding = Finding(query)
        laboratory = self._laboratory
        plain = laboratory.run(laboratory.plain, text, "plain")
        captured = laboratory.run(laboratory.captured, text, "captured")
        answer = captured.answer
        finding.rows = len(answer)
        expected = Counter(row.values for row in plain.answer)
        if (found := Counter(row.values for row in answer)) != expected:
            some = "; ".join(str(values) for values in [*(expected - found), *(found - expected)][:2])
            finding.wrong.append(f"the answer differs with capture in {(found - expected).total()} of {len(answer)} rows: {some}")
        self._compare_plans(finding, text, plain, captured)
        self._look(finding, text, captured, answer)
        return finding

    def _compare_plans(self, finding: Finding, text: str, plain: Ran, captured: Ran) -> None:
        """Compare the plans. Adaptive execution depends on timing, so a plan differs only if no run without capture had it."""
        laboratory = self._laboratory
        without = [self._executed(plain)]
        ours = [self._executed(captured)]
        while not any(one == other for one in without for other in ours):
            if len(without) == _RUNS:
                finding.plan = differences(without[0], ours[0])
                break
            ours.append(self._executed(laboratory.run(laboratory.captured, text, "again")))
            without.append(self._executed(laboratory.run(laboratory.plain, text, "again")))
        finding.varies = any(one != without[0] for one in without)

    def _executed(self, ran: Ran) -> Executed:
        found = executed(self._laboratory.plain, ran.execution)
        return replace(found, read=Counter()) if self._laboratory.layout.filters_records else found

    def _look(self, finding: Finding, text: str, captured: Ran, answer: Sequence[Written]) -> None:
        capture = captured.capture
        if capture is None:
            finding.status = "unseen"
            return
        finding.status = str(capture["status"])
        finding.refused = [f"{problem['operator']}: {problem['reason']}" for problem in capture["problems"] if problem["kind"] == "refused"]
        finding.wrong += [f"fault: {problem['reason']}" for problem in capture["problems"] if problem["kind"] == "fault"]
        if finding.status != "complete":
            others = [problem for problem in capture["problems"] if problem["kind"] != "refused"]
            finding.inexact += [f"{problem['kind']}: {problem['reason']}" for problem in others]
            return
        self._laboratory.publish(capture)
        for row in random.Random(finding.query).sample(answer, min(self._rows, len(answer))):
            self._trace(finding, text, captured, row)
        self._laboratory.forget(str(capture["capture"]))

    def _trace(self, finding: Finding, text: str, captured: Ran, row: Written) -> None:
        finding.traced += 1
        replayed: list[Scans] = []
        records: dict[Semantics, frozenset[Record]] = {}
        for semantics in _BOTH:
            answer = self._laboratory.trace(captured.out, row.file, row.row, semantics)
            finding.inexact += [entry for entry in _inexact(answer, semantics) if entry not in finding.inexact]
            found = records[semantics] = frozenset((str(record.file), record.row) for record in answer.records if record.row is not None)
            finding.records[semantics] = max(finding.records.get(semantics, 0), len(found))
            scans = self._laboratory.scans(str((captured.capture or {})["capture"]), row.file, row.row, semantics)
            if frozenset().union(*(of_scan for _, of_scan in scans.values())) != found:
                finding.wrong.append(f"{semantics}: the records of {row.values} are not those of its scans together")
            if scans in replayed:
                continue
            replayed.append(scans)
            replayed_rows = self._replay.answer(text, list(scans.values()))
            if row.values not in replayed_rows:
                finding.wrong.append(
                    f"{semantics}: {row.values} is not among the {len(replayed_rows)} rows that its {len(found)} records give"
                )
        if not records[Semantics.WITNESS] <= records[Semantics.INFLUENCE]:
            finding.wrong.append(f"the witness of {row.values} is no part of its influence")


def _inexact(answer: TraceAnswer, semantics: Semantics) -> list[str]:
    if answer.exact:
        return []
    return [f"{semantics}: {_text(entry)}" for entry in answer.incomplete] or [f"{semantics}: not exact"]


def _text(entry: Any) -> str:
    return f"{entry.what}: {entry.reason} [{entry.effect}]"
