"""Measures in pairs: the arms of a suite take turns in one warm process. Suites measure the cost of capture this way.

Two JVMs compile the same methods differently, and the difference may exceed the cost of a case. All arms therefore share one JVM. In every
round of a case each arm runs once. Two rounds run the arms in a random order and back (ABBA). A figure is computed from the ratios within
the rounds. Further rounds follow until its interval is narrow, up to a limit. A finished case is stored, so that an interrupted
measurement continues later.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.figures import is_narrow
from bench.harness import order
from bench.processes import ProcessTree
from bench.rest import busy, machine_seconds
from bench.suite import Plan, Sample, Turns

Rounds = Mapping[str, Sequence[Sample]]  # samples by arm


class KeptCases:
    """The cases of a suite that were measured at a commit, one file for each."""

    def __init__(self, folder: Path, commit: str, *, resume: bool) -> None:
        self._folder = folder
        self._commit = commit
        self._resume = resume and not commit.endswith("+")  # two modified trees of one commit look equal
        self.machine: dict[str, Mapping[str, float]] = {}  # by case: the load of the machine by other processes

    def get(self, case: str, arms: Sequence[str], rounds: int) -> Rounds | None:
        """Return the rounds of a case, if all these arms have at least `rounds` of them at this commit."""
        path = self._folder / f"{case}.json"
        if not self._resume or not path.exists():
            return None
        kept = json.loads(path.read_text(encoding="utf-8"))
        there: dict[str, list[Sample]] = kept["samples"]
        if kept["commit"] != self._commit or any(len(there.get(arm, ())) < rounds for arm in arms):
            return None
        self.machine[case] = kept["machine"]
        return {arm: there[arm] for arm in arms}

    def put(self, case: str, rounds: Rounds, machine: Mapping[str, float]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f"{case}.tmp"
        draft.write_text(json.dumps({"commit": self._commit, "machine": machine, "samples": rounds}), encoding="utf-8")
        draft.replace(self._folder / f"{case}.json")
        self.machine[case] = machine


def measure(
    plan: Plan, start: Callable[[], Turns], kept: KeptCases, *, rounds: int, most: int, warm_up: int, seed: int, until: float,
    done: Callable[[str, Rounds, bool], None],
) -> dict[str, dict[str, Sequence[Sample]]]:  # fmt: skip
    """Return the samples by arm and case, of the stored cases and of the cases that ran in time.

    A case has at least `rounds` rounds. More follow, at most `most`, until its intervals are narrow.

    `start` makes the environment of the arms, once, if a case must run. No case begins after `until` (time.monotonic()). `done` is
    called for each case, with whether it was already stored.
    """
    samples: dict[str, dict[str, Sequence[Sample]]] = {arm: {} for arm in plan.arms}
    turns: Turns | None = None
    try:
        for case in plan.cases:
            before = kept.get(case, plan.arms, rounds)
            if before is None and time.monotonic() > until:
                continue
            if before is None and turns is None:
                turns = start()
            found = before or _run(plan, turns, kept, case, range(-warm_up, max(rounds, most)), rounds, seed)
            for arm in plan.arms:
                samples[arm][case] = found[arm]
            done(case, found, before is not None)
    finally:
        if turns is not None:
            turns.close()
    return samples


def _run(plan: Plan, turns: Turns | None, kept: KeptCases, case: str, numbers: range, least: int, seed: int) -> Rounds:
    assert turns is not None  # noqa: S101  # it was started for this case
    found: dict[str, list[Sample]] = {arm: [] for arm in plan.arms}
    machine = {"load_1m": round(os.getloadavg()[0], 2), "busy_before": round(busy(), 3)}
    tree = ProcessTree()
    ours, all_, began = tree.cpu_seconds(), machine_seconds(), time.monotonic()
    for turn in numbers:
        is_whole = turn % 2 == 0  # two rounds are an ABBA
        if turn >= max(least, 1) and is_whole and all(is_narrow(found[plan.baseline], found[arm]) for arm in plan.arms):
            break
        for arm in order(plan.arms, seed, turn, case):
            sample = turns.run(arm, case, turn)
            if turn >= 0:
                found[arm].append(sample)
    others = machine_seconds() - all_ - (tree.cpu_seconds() - ours)
    machine["busy_with_others"] = round(max(0.0, others) / (time.monotonic() - began) / (os.cpu_count() or 1), 3)
    kept.put(case, found, machine)
    return found
