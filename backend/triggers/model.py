"""The types of triggers: definitions, facts, causes and executions. Times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

CHAIN = 10  # default limit of causes in a chain
LARGEST_CHAIN = 100

UNEVALUATED = "the predicate cannot be evaluated"  # reasons begin with this text


class FactKind(StrEnum):
    """The kind of a fact, which decides what the fact's subject is: a dataset, a job, a trigger or a policy.

    `stale` is the silence of a dataset.
    """

    VERSION = "version"
    CHECK = "check"
    RUN = "run"
    INSTANT = "instant"
    MANUAL = "manual"
    FIRED = "fired"
    STALE = "stale"
    DEVIATION = "deviation"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that happened. The `id` is stable, so every process that reads a log entry gets the same id.

    `depth` is the number of causes before the fact. `run` is the run that reported the fact. `details` contain no values of records.
    """

    kind: FactKind
    subject: str
    id: str
    at: float
    depth: int = 0
    run: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": str(self.kind), "subject": self.subject, "id": self.id, "at": self.at, "depth": self.depth, "run": self.run,
            "details": dict(self.details),
        }  # fmt: skip

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Fact:
        return cls(
            FactKind(document["kind"]), document["subject"], document["id"], document["at"], document["depth"], document["run"],
            document["details"],
        )  # fmt: skip


class Combination(StrEnum):
    """The way in which the members of a condition combine."""

    ONE = "one"
    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Member:
    """A simple condition: its kind, and its checked parameters."""

    kind: str
    parts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """One simple condition, or several that must be fulfilled within `within` seconds. None means any time."""

    combination: Combination
    members: Sequence[Member]
    within: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a trigger.

    `concurrent` limits the executions at the same time. `cool_down` is the number of seconds after a cause in which no other cause fires.
    `chain` limits the number of causes in a chain.
    """

    concurrent: int = 1
    cool_down: float = 0.0
    chain: int = CHAIN


@dataclass(frozen=True, slots=True)
class Definition:
    """The checked definition of a trigger. `action` has the kind of the action and its parameters."""

    name: str
    condition: Condition
    action: Member
    limits: Limits = field(default_factory=Limits)


class TriggerState(StrEnum):
    """The state of a trigger. A trigger is `stopped` when its owner loses a needed right or the key; `resume` starts it again."""

    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A stored trigger. The module `owners` describes the form of `owner`.

    Log entries up to the offset `since` do not fire it, nor do openings of deviations up to the number `opening`. `workflow` is the name of
    the workflow whose file declares the trigger, or None.
    """

    id: str
    tenant: str
    definition: Definition
    owner: Mapping[str, Any]
    state: TriggerState
    reason: str | None
    created: float
    since: int
    last_fired: float | None
    workflow: str | None = None
    opening: int = 0

    @property
    def name(self) -> str:
        return self.definition.name


class Outcome(StrEnum):
    """The outcome of a cause. A `skipped` cause has a reason."""

    FIRED = "fired"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Cause:
    """An event that fired a trigger, or that a limit kept from firing it. `facts` are the facts that fulfilled the condition."""

    trigger: str
    id: str
    at: float
    depth: int
    outcome: Outcome
    reason: str | None
    facts: Sequence[Fact]
    execution: str | None


class ExecutionState(StrEnum):
    """The state of an execution: `waiting` → `running` → `complete`, `failed` or `interrupted`.

    An execution is `interrupted` if its process ended and its action must not be repeated.
    """

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


ENDED = (ExecutionState.COMPLETE, ExecutionState.FAILED, ExecutionState.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of an action for one cause. `attempt` counts the starts. `depth` is the number of causes in the chain so far."""

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
    """Format a time as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
