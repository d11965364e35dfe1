"""What a replay is: its steps, its state and what it found. Kept as `replays/<id>/replay.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

FAULT = "A fault of ours: "  # before an error that is not the user's


class ReplayState(StrEnum):
    """`queued` → `running` → `complete` or `failed`."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class Invocation(BaseModel):
    """How the program of an application run is started: from the registry of the home. `namespace` and `job` are the application's."""

    model_config = ConfigDict(frozen=True)

    run: str
    namespace: str
    job: str
    argv: Sequence[str]
    working_directory: str
    script: str
    script_sha256: str
    environment: Mapping[str, str] = {}


class Step(BaseModel):
    """One program to run again. `job` is the id of its pipeline."""

    job: str
    invocation: Invocation
    state: ReplayState = ReplayState.QUEUED
    seconds: float | None = None


class Difference(BaseModel):
    """A row of the output as it was (None: it appeared) and without the records (None: it went); `columns` are those that differ."""

    model_config = ConfigDict(frozen=True)

    dataset: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    columns: Sequence[str]


class Replay(BaseModel):
    """The whole of one replay.

    `exclude` maps a file to the 0-based numbers of the records left out, `states` to the length and modification time (ms) that it had when
    they were chosen; `shadow` is where it wrote; `process` runs it.
    """

    id: str
    tenant: str
    output: str
    state: ReplayState = ReplayState.QUEUED
    started_at: str
    ended_at: str | None = None
    shadow: str
    process: int
    exclude: Mapping[str, Sequence[int]]
    states: Mapping[str, tuple[int, int]] = {}
    steps: list[Step] = []
    differences: list[Difference] = []
    differing: int = 0
    error: str | None = None
