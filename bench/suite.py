"""What a suite declares, and what an arm does.

The harness knows nothing of Spark or services: it starts arms, gives them cases to run, and computes measures. A suite never times
anything that its users would not wait for, and never does in one arm what it does not do in the other, but for what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol


class Statistic(StrEnum):
    """What is made of the rounds' times."""

    RATIO = "ratio"  # the median of an arm's time over the baseline's, round by round
    P50 = "p50"  # of the arm's own times, in milliseconds
    P99 = "p99"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure: `statistic` of `arm` over the sum of `cases`. `target` is the most it may be."""

    name: str
    cases: Sequence[str]
    arm: str
    statistic: Statistic
    target: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a suite runs. Cases run in this order within a round; `control` does what `baseline` does."""

    name: str
    arms: Sequence[str]
    baseline: str
    control: str
    cases: Sequence[str]
    measures: Sequence[Measure]
    rounds: int
    warm_up: int


class Arm(Protocol):
    """One arm, in its worker process."""

    def run(self, case: str, turn: int) -> float:
        """Run a case once and return its wall seconds. The same `turn` means the same work in every arm."""

    def close(self) -> None:
        """Release what it holds."""


class Suite(Protocol):
    """A module of bench/suites. `folder` is scratch that all arms share."""

    plan: Plan

    def prepare(self, folder: Path) -> None:
        """Make what the arms read, once, before any of them starts."""

    def arm(self, name: str, folder: Path) -> Arm:
        """Start an arm, in its worker process."""
