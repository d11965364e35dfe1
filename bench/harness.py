"""Runs rounds: every case once in every arm. Two rounds run the arms in a random order and back (ABBA)."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.process import Worker
from bench.suite import Plan, Sample


def order(arms: Sequence[str], seed: int, turn: int, case: str) -> list[str]:
    """Return the order of the arms for one case of one round. The same seed gives the same order.

    Every odd round has the order of the round before in reverse. Something that grows during two rounds therefore affects all arms alike.
    """
    drawn = random.Random(f"{seed}/{turn // 2}/{case}").sample(list(arms), len(arms))
    return drawn[::-1] if turn % 2 else drawn


def measure(
    suite: str,
    plan: Plan,
    folder: Path,
    *,
    scale: float | None,
    rounds: int,
    warm_up: int,
    seed: int,
    report: Callable[[str], None],
    seconds: float = math.inf,
) -> Mapping[str, Mapping[str, Sequence[Sample]]]:
    """Return the samples by arm and case, one per round. Warm-up rounds run in the same way and are dropped.

    After `seconds` no further round begins, but there is at least one.

    Raises:
        WorkerError: an arm failed. The samples are lost.
    """
    samples: dict[str, dict[str, list[Sample]]] = {arm: {case: [] for case in plan.cases} for arm in plan.arms}
    until = time.monotonic() + seconds
    with ExitStack() as stack:
        workers = {arm: stack.enter_context(Worker(suite, arm, folder, scale)) for arm in plan.arms}
        for turn in range(-warm_up, rounds):
            if turn > 0 and time.monotonic() > until:
                report(f"no time for more than {turn} of {rounds} rounds")
                break
            for case in plan.cases:
                for arm in order(plan.arms, seed, turn, case):
                    sample = workers[arm].run(case, turn)
                    if turn >= 0:
                        samples[arm][case].append(sample)
            report(f"warm-up {turn + warm_up + 1} of {warm_up}" if turn < 0 else f"round {turn + 1} of {rounds}")
    return samples
