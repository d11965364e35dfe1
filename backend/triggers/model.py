"""The types of triggers: definitions, facts, causes and executions. Times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

CHAIN = 10  # most causes in a chain, unless a trigger states another number
LARGEST_CHAIN = 100

UNEVALUATED = "the predicate cannot be evaluated"  # the beginning of a reason


class FactKind(StrEnum):
    """The kind of a fact. The subject of a version or a check is a dataset, of a run a job, and of the others a trigger."""

    VERSION = "version"
    CHECK = "check"
    RUN = "run"
    INSTANT = "instant"
    MANUAL = "manual"
    FIRED = "fired"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that happened. `id` is stable: whoever reads the same log entry gets the same one.

    `depth` is the number of causes that led to it. `run` is the run that stated it. `details` hold no value of a record.
    """

    kind: FactKind
    subject: str
    id: str
    at: float
    depth: int = 0
    run: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the fact as JSON."""
        return {
            "kind": str(self.kind), "subject": self.subject, "id": self.id, "at": self.at, "depth": self.depth, "run": self.run,
            "details": dict(self.details),
        }  # fmt: skip

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Fact:
        """Return the fact that `to_json` wrote."""
        return cls(
            FactKind(document["kind"]), document["subject"], document["id"], document["at"], document["depth"], document["run"],
            document["details"],
        )  # fmt: skip


class Combination(StrEnum):
    """How the members of a condition combine."""

    ONE = "one"
    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Member:
    """A simple condition: its kind, and its parts as the kind keeps them."""

    kind: str
    parts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """One member, or several that must be fulfilled within `within` seconds (None: whenever)."""

    combination: Combination
    members: Sequence[Member]
    within: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """`concurrent`: executions at once. `cool_down`: seconds after a cause in which no other fires. `chain`: causes in a chain."""

    concurrent: int = 1
    cool_down: float = 0.0
    chain: int = CHAIN


@dataclass(frozen=True, slots=True)
class Definition:
    """The checked statement of a person. `action` is a kind and its parts."""

    name: str
    condition: Condition
    action: Member
    limits: Limits = field(default_factory=Limits)


class TriggerState(StrEnum):
    """`stopped`: the owner lost a right that the action needs, or the key. Only `resume` starts it again."""

    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A stored trigger. Entries of the log up to `since` are before its time. `owner` is described in `owners`."""

    id: str
    tenant: str
    definition: Definition
    owner: Mapping[str, Any]
    state: TriggerState
    reason: str | None
    created: float
    since: int
    last_fired: float | None

    @property
    def name(self) -> str:
        """Return the name."""
        return self.definition.name


class Outcome(StrEnum):
    """The outcome of a cause. `skipped` causes state the reason."""

    FIRED = "fired"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Cause:
    """An event that made a trigger fire, or would have. `facts` are those that fulfilled the condition."""

    trigger: str
    id: str
    at: float
    depth: int
    outcome: Outcome
    reason: str | None
    facts: Sequence[Fact]
    execution: str | None


class ExecutionState(StrEnum):
    """`waiting` → `running` → `complete`, `failed`, or `interrupted` if its process ended and it may not run again."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


ENDED = (ExecutionState.COMPLETE, ExecutionState.FAILED, ExecutionState.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of an action, for one cause. `attempt` counts its starts, `depth` the causes that led to it and its own."""

    id: str
    tenant: str
    trigger: str
    cause: str
    depth: int
    state: ExecutionState
    attempt: int
    created: float
    started: float | None
    ended: float | None
    error: str | None
    result: str | None


def instant(seconds: float) -> str:
    """Return a time as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
