"""The audit of a request: one function for all code that reads records or changes data.

The service gives every context an `Auditor` that knows the caller. An answer is sent only after its line is written. If the log cannot be
written, the caller gets an error and no records. Without the service, nothing is audited.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from headwater.errors import HeadwaterError


class Decision(StrEnum):
    """The outcome of a request."""

    ALLOWED = "allowed"
    REFUSED = "refused"  # the caller lacks the right
    FAILED = "failed"  # the caller has the right, but got no answer


class _HasDataset(Protocol):
    @property
    def dataset(self) -> str: ...


@dataclass(slots=True)
class Act:
    """One act of a caller. `subjects` are ids, names or paths of datasets and nodes. `records` is the number of records in the answer."""

    operation: str
    subjects: list[str] = field(default_factory=list)
    records: int | None = None

    def met(self, *answers: Sequence[_HasDataset]) -> None:
        """Count the records of an answer, and add their datasets."""
        self.subjects += dict.fromkeys(record.dataset for records in answers for record in records)
        self.records = (self.records or 0) + sum(map(len, answers))


class Auditor(Protocol):
    """Writes the audit lines of one caller."""

    async def write(self, act: Act) -> None:
        """Write a line for an allowed act, and return after it is written.

        Raises:
            UnavailableError: the line cannot be written.
        """

    def note(self, act: Act, decision: Decision, reason: str) -> None:
        """Write a line for a refused or failed act. The answer to an HTTP request waits for the line."""


class Unaudited:
    """An auditor that writes nothing, for work on a home without the service."""

    async def write(self, act: Act) -> None: ...

    def note(self, act: Act, decision: Decision, reason: str) -> None: ...


@asynccontextmanager
async def audited(auditor: Auditor, operation: str, *subjects: str, changes: bool = False) -> AsyncIterator[Act]:
    """Audit the work of the block, which adds its subjects and its number of records.

    A change is written before it takes effect, because it cannot be undone. A read is written before its answer is sent.

    Raises:
        UnavailableError: the audit log cannot be written.
    """
    act = Act(operation, list(subjects))
    if changes:
        await auditor.write(act)
    try:
        yield act
    except BaseException as error:
        auditor.note(act, decision_on(error), type(error).__name__)
        raise
    if not changes:
        await auditor.write(act)


def decision_on(error: BaseException) -> Decision:
    """Return the decision that the audit log records for an act that ended with an error."""
    return Decision.REFUSED if isinstance(error, HeadwaterError) and error.is_refusal else Decision.FAILED


def subjects_of(declaration: Mapping[str, Any]) -> list[str]:
    """Return the nodes that a declaration names, even if the declaration is invalid."""
    parts = [part for part in declaration.values() if isinstance(part, list)]
    entries = [entry for part in parts for entry in part if isinstance(entry, dict)]
    return [str(entry[name]) for entry in entries for name in ("id", "container", "child", "from", "to", "name") if name in entry]
