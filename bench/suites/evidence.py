"""Measures what signed evidence adds to intake: the same events into a log alone, and into a log whose checkpoints are signed.

Each round takes in 1,000 events, all different, until they are on the disk. The *signed* arm then adds them to the Merkle tree and signs a
checkpoint. All arms run in this process, with a log of their own and without HTTP or projection, which would make the share smaller.
*append* is the part for which producers wait. *total* includes the tree and the signature. Both are processor time of the process.
`--scale 2`: twice as many events.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.data import run_events
from bench.suite import PROCESSOR, SECONDS, Measure, PairedSuite, Plan, Sample, Statistic, Turns
from headwater.backend.evidence.bundle import make_checkpoint
from headwater.backend.evidence.keys import SigningKey, open_key
from headwater.backend.evidence.tree import Tree
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.ingest.intake.receive import EventIntake
from headwater.backend.ingest.log.sqlite import SqliteLog

_EVENTS = 1_000
_SIZES = {"single events": 1, "batches of 20": 20}
_APPEND = "append_cpu_seconds"
_FIRST = 100  # turns, because warm-up turns are negative


class EvidenceSuite:
    """The cases are sizes of the bodies that producers send."""

    def __init__(self, scale: float) -> None:
        self._events = max(100, int(_EVENTS * scale))
        self.plan = Plan(
            name="evidence" if scale == 1 else f"evidence-{scale:g}",
            arms=("plain", "control", "signed"),
            baseline="plain",
            control="control",
            cases=tuple(_SIZES),
            measures=[
                Measure(name=f"{name}, {case}", cases=(case,), arm="signed", statistic=Statistic.RATIO, target=target, quantity=quantity)
                for case in _SIZES
                for name, quantity, target in (("append", _APPEND, 1.05), ("total", PROCESSOR, None))
            ],
            rounds=30,
            warm_up=2,
        )

    def prepare(self, folder: Path) -> None:
        pass

    def turns(self, folder: Path) -> Turns:
        return _Turns(folder, self.plan.arms, self._events)


class _Turns:
    def __init__(self, folder: Path, arms: Sequence[str], events: int) -> None:
        self._events, self._open = events, ExitStack()
        self._logs: dict[str, SqliteLog] = {}
        for arm in arms:
            self._logs[arm] = SqliteLog(folder / f"{arm}.db")
            self._open.callback(self._logs[arm].close)
        self._tree = Tree(folder / "evidence.db", DEFAULT_TENANT)
        self._open.callback(self._tree.close)
        self._key: SigningKey = open_key(folder / "evidence.pem", self._tree)

    def run(self, arm: str, case: str, turn: int) -> Sample:
        first = (list(_SIZES).index(case) * 10_000 + _FIRST + turn) * self._events
        events, size = list(run_events.events(first, self._events)), _SIZES[case]
        bodies = events if size == 1 else [b"[" + b",".join(events[at : at + size]) + b"]" for at in range(0, len(events), size)]
        log = self._logs[arm]
        intake = EventIntake(log)
        began, used = time.perf_counter(), time.process_time()
        reports = [submission.result() for submission in [intake.submit(DEFAULT_TENANT, body) for body in bodies]]
        appended = time.process_time() - used
        if arm == "signed":
            make_checkpoint(self._tree, log, self._key)
        sample = {SECONDS: time.perf_counter() - began, PROCESSOR: time.process_time() - used, _APPEND: appended}
        accepted = sum(report.accepted - report.duplicates for report in reports)
        if accepted != self._events or (arm == "signed" and self._tree.size != log.given()):
            raise RuntimeError(f"{accepted} of {self._events} events are in the log, and {self._tree.size} entries in the tree")
        return sample

    def close(self) -> None:
        self._open.close()


def suite(scale: float | None = None) -> PairedSuite:
    return EvidenceSuite(scale or 1.0)
