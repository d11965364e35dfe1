"""The declaration of a suite, and the interface of an arm.

There are two kinds. A *paired* suite measures the cost of capture: its arms take turns in one warm process, case after case
(`bench.pairs`). The others measure the time of an answer: each arm is a separate process, round after round (`bench.harness`). Neither
depends on Spark or services. A suite measures only times for which its users wait. The work of two arms differs only in the measured part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

SECONDS = "seconds"
PROCESSOR = "cpu_seconds"
UNCOMPILED = "cpu_seconds_uncompiled"  # processor time without that of the JVM's compilers
IN_PART = "cpu_seconds in "  # before the name of a part of the work: the processor time of some threads (`bench.query_cost`)

# The measures of one run of a case by name: its wall seconds, and the counts of the arm. Times need a valid control; a count
# (bytes, rows) may be missing in some rounds.
Sample: TypeAlias = Mapping[str, float]


class Statistic(StrEnum):
    RATIO = "ratio"  # the median of the ratios of an arm's time to the baseline's, pair by pair
    GEOMEAN = "geometric mean"  # of the cases' ratios
    WORST = "worst"  # of the cases' ratios
    DIFFERENCE = "difference"  # the median of the differences of an arm's time to the baseline's, pair by pair
    P50 = "p50"  # of the arm's own times, in milliseconds
    P95 = "p95"
    P99 = "p99"
    SHARE = "share"  # a count of the arm over another, `per`, each summed over the cases
    MEDIAN = "median"  # of the cases' medians of a count
    MOST = "most"  # the greatest of the cases' medians of a count


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure: `statistic` of `quantity` of `arm` over the `cases` (their sum, unless the statistic is over each of them).

    `target` is its limit. `per` is the other count of a share; `unit` is the unit of a count.
    """

    name: str
    cases: Sequence[str]
    arm: str
    statistic: Statistic
    target: float | None = None
    quantity: str = SECONDS
    per: str | None = None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cases and arms of a suite. Cases run in this order within a round. `control` does the same work as `baseline`.

    `asked` names the arms that run by default (None: all).
    """

    name: str
    arms: Sequence[str]
    baseline: str
    control: str
    cases: Sequence[str]
    measures: Sequence[Measure]
    rounds: int
    warm_up: int
    asked: Sequence[str] | None = None

    def only(self, *, arms: Collection[str] | None = None, cases: Collection[str] | None = None) -> Plan:
        """Return the plan with some of its arms and cases (baseline and control always run), and the possible measures.

        Raises:
            ValueError: there is no such arm or case.
        """
        for what, chosen, there in (("arm", arms, self.arms), ("case", cases, self.cases)):
            if unknown := sorted(set(chosen or ()) - set(there)):
                raise ValueError(f"{self.name} has no {what} {', '.join(unknown)}; it has {', '.join(there)}")
        wanted = set(arms or self.asked or self.arms) | {self.baseline, self.control}
        kept = [case for case in self.cases if not cases or case in cases]
        measures = [
            replace(measure, cases=[case for case in measure.cases if case in kept]) for measure in self.measures if measure.arm in wanted
        ]
        return replace(
            self,
            arms=[arm for arm in self.arms if arm in wanted],
            cases=kept,
            measures=[measure for measure in measures if measure.cases],
        )


class Arm(Protocol):
    """An arm, in its worker process."""

    def run(self, case: str, turn: int) -> Sample:
        """Run a case once and return its measures, including `seconds`. The same `turn` means the same work in every arm."""

    def close(self) -> None:
        """Release all resources."""


class Turns(Protocol):
    """All arms of a paired suite, in this process."""

    def run(self, arm: str, case: str, turn: int) -> Sample:
        """Run a case once in an arm and return its measures, including `seconds` and `cpu_seconds`. Warm-up turns are negative."""

    def close(self) -> None:
        """Release all resources."""


class Suite(Protocol):
    """A suite with an arm per process, made by `suite(scale)` in a module of bench/suites. `folder` is shared scratch space."""

    plan: Plan

    def prepare(self, folder: Path) -> None:
        """Make the inputs of the arms, once, before any of them starts."""

    def arm(self, name: str, folder: Path) -> Arm:
        """Start an arm, in its worker process."""


@runtime_checkable
class PairedSuite(Protocol):
    """A suite whose arms take turns."""

    plan: Plan

    def prepare(self, folder: Path) -> None:
        """Make the inputs of the arms, once."""

    def turns(self, folder: Path) -> Turns:
        """Start the common environment of the arms."""
