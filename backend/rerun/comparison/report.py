"""The result of a comparison: the rows that differ, and each possible cause with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from headwater.backend.rerun.replay.model import Difference


class CauseKind(StrEnum):
    """A kind of change between two runs."""

    INPUTS = "inputs"
    CODE = "code"
    ARGUMENTS = "arguments"
    ENVIRONMENT = "environment"
    SETTINGS = "settings"
    VERSIONS = "versions"
    NONDETERMINISM = "nondeterminism"
    UNRECORDED = "unrecorded"


class Verdict(StrEnum):
    """What is known about a cause.

    - `SAME`: nothing of this kind changed.
    - `VERIFIED`: a replay with this change alone gives another result.
    - `NO_EFFECT`: a replay with this change alone gives the same result.
    - `STATED`: it changed, and no replay can test it. The reason is given.
    - `NOT_CHECKED`: a replay could test it, but it did not run to its end, or its result says nothing. The reason is given.
    """

    SAME = "the same"
    VERIFIED = "verified"
    NO_EFFECT = "no effect"
    STATED = "stated only"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Cause:
    """A possible cause. `rows` is the number of rows that differ by it, in a replay with this change alone.

    `changes` are sentences about what changed, and `reason` explains the verdict. `is_whole`: this change alone gives the result of the
    first run.
    """

    kind: CauseKind
    verdict: Verdict
    changes: Sequence[str] = ()
    rows: int | None = None
    is_whole: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The difference of one dataset. `rows` is the number of rows that differ, None if it is not known.

    `is_rebuilt`: the data of a run is gone, so a replay of this run was compared. `reason` says why the number is not known.
    """

    dataset: str
    rows: int | None
    is_rebuilt: bool = False
    reason: str | None = None
    differences: Sequence[Difference] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two runs of a job. `together`: whether all changes together give the result of the first run; None if unknown."""

    first: str
    second: str
    job: str
    results: Sequence[Result]
    causes: Sequence[Cause]
    together: bool | None
    notes: Sequence[str] = field(default_factory=list)
    trials: int = 0
