"""The dry run of a replay: the jobs in order, the records that go in, the expected time, and the needed disk space."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Replay, ReplayState
from headwater.errors import HeadwaterError
from headwater.graph.records import DataRoots


class DryRunStep(BaseModel):
    """A program that would run. `seconds` is the duration of its last replay, or None if there was none."""

    job: str
    script: str
    writes: list[str]
    seconds: float | None


class DryRun(BaseModel):
    """The result of a dry run. `excluded`, `kept` and `edited` are numbers of records. `disk_bytes` is the present size of the outputs.

    `unknown_sizes` are outputs whose size is unknown.
    """

    kind: str
    output: str
    starts: list[str]
    steps: list[DryRunStep]
    excluded: int
    kept: int
    edited: int
    seconds: float | None
    disk_bytes: int
    disk_free: int
    unknown_sizes: list[str]
    notes: list[str]


def summarize(replay: Replay, earlier: Iterable[Replay], sources: DataRoots, folder: Path) -> DryRun:
    """Return the dry run of a planned replay. `earlier` are replays of this home, newest first."""
    times: dict[str, float] = {}
    for one in earlier:
        for step in one.steps:
            if step.state is ReplayState.COMPLETE and step.seconds is not None:
                times.setdefault(step.job, step.seconds)
    steps = [
        DryRunStep(job=step.job, script=step.invocation.script, writes=list(step.writes), seconds=times.get(step.job))
        for step in replay.steps
    ]
    known = [step.seconds for step in steps if step.seconds is not None]
    total, unknown = _output_size([dataset for step in replay.steps for dataset in step.writes], sources)
    folder.mkdir(parents=True, exist_ok=True)
    return DryRun(
        kind=replay.kind, output=replay.output, starts=list(replay.starts), steps=steps, excluded=sum(map(len, replay.exclude.values())),
        kept=sum(map(len, replay.keep.values())), edited=sum(map(len, replay.edits.values())),
        seconds=round(sum(known), 2) if len(known) == len(steps) else None,
        disk_bytes=total, disk_free=shutil.disk_usage(folder).free, unknown_sizes=unknown, notes=list(replay.notes),
    )  # fmt: skip


def _output_size(datasets: Iterable[str], sources: DataRoots) -> tuple[int, list[str]]:
    look, total, unknown = sources.look(), 0, []
    for dataset in dict.fromkeys(datasets):
        size: int | None = None
        with suppress(HeadwaterError, OSError):
            blocks = look.listed(place_of(dataset))
            size = None if blocks is None else sum(block.length for block in blocks)
        total += size or 0
        unknown += [dataset] if size is None else []
    return total, unknown
