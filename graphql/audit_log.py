"""The audit log in the schema: its lines, and their verification."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import strawberry


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """A query for audit lines. `by` and `dataset` are parts of names; times have a zone; `last` limits the number of lines."""

    by: str | None
    dataset: str | None
    decision: str | None
    since: datetime | None
    until: datetime | None
    last: int


@strawberry.type(description="One line of the audit log: who asked what. `at` is ISO 8601 in UTC.")
class AuditEntry:
    """A line of the audit log. `records` is the number of records in the answer, `more` the number of subjects left out."""

    at: str
    who: str | None
    tenant: str | None
    operation: str
    subjects: list[str]
    more: int
    records: int | None
    decision: str | None
    reason: str | None
    address: str | None
    request: str | None
    chain: str | None = strawberry.field(description="Where replicas share a log: the chain of the replica that wrote it.")
    number: int | None = strawberry.field(description="Its number in that chain, from 1.")

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> AuditEntry:
        """Convert a line of the log. Members may have any type, because somebody may have changed the line."""
        more, records, subjects, number = line.get("more"), line.get("records"), line.get("on"), line.get("number")
        return cls(
            at=str(line["at"]),
            who=_text(line.get("who")),
            tenant=_text(line.get("tenant")),
            operation=str(line.get("what", "")),
            subjects=[str(subject) for subject in subjects] if isinstance(subjects, list) else [],
            more=more if isinstance(more, int) else 0,
            records=records if isinstance(records, int) else None,
            decision=_text(line.get("decision")),
            reason=_text(line.get("reason")),
            address=_text(line.get("from")),
            request=_text(line.get("request")),
            chain=_text(line.get("chain")),
            number=number if isinstance(number, int) else None,
        )


@strawberry.type(description="Entries of the audit log, latest first.")
class AuditPage:
    """A page of audit lines. `damaged` is the number of unreadable lines that were passed."""

    entries: list[AuditEntry]
    damaged: int
    searched_back_to: str | None = strawberry.field(
        description="Where the search ended before the log did: earlier entries may fit too, ask again until this instant."
    )


@strawberry.type(description="A caller who got records. `records` counts the records of these answers, which may be of several datasets.")
class DatasetReader:
    """A reader of a dataset. `operations` are the kinds of questions, `answers` their number. Times are ISO 8601 in UTC."""

    who: str
    operations: list[str]
    answers: int
    records: int
    first: str
    last: str


@strawberry.type(description="The callers who got records of a dataset in a window, by the audit log. It names datasets, and no columns.")
class DatasetReaders:
    """The readers by name. `damaged` is the number of unreadable lines that were passed."""

    readers: list[DatasetReader]
    uncertain: int = strawberry.field(
        description="Answers with records of more datasets than the log names: each may have had records of this one."
    )
    damaged: int
    searched_back_to: str | None = strawberry.field(description="Where the search ended before the window did.")


@strawberry.type(description="A place where the audit log is not as it was written.")
class AuditBreak:
    """A break in the links of the log. `line` counts from 1 in its file."""

    file: str
    line: int
    reason: str


@strawberry.type(description="The audit log of one replica among those that share a log.")
class AuditChain:
    """The chain of one replica. `head` is the digest of its last line. `ended` is true if the chain ends with its service."""

    chain: str
    host: str
    lines: int
    head: str | None
    last: str | None
    ended: bool


@strawberry.type(description="What the links between the lines of the audit log say. What is null is for the home's own key.")
class AuditVerification:
    """The result of verifying the log. The log covers all tenants, so only its owner sees the number of lines."""

    intact: bool
    since: str | None = strawberry.field(description="The instant of the first line that was looked at.")
    whole: bool = strawberry.field(description="Whether all files were looked at; `headwater admin audit --verify` looks at all.")
    lines: int | None
    head: str | None = strawberry.field(
        description="The digest of the last line, to be kept elsewhere: `headwater admin audit --verify --head`."
    )
    breaks: list[AuditBreak]
    chains: list[AuditChain] = strawberry.field(description="Where replicas share a log, the log of each; empty of one home's.")


def _text(value: object) -> str | None:
    return None if value is None else str(value)
