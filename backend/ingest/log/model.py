"""The types of every ingest log: drafts, receipts, entries and dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ERASED = "erased"  # in the place of the kind of an entry whose contents were erased. Such entries are not read
REDACTED = "headwater_redacted"  # the facet of a run in an event that replaces an erased one


class EntryKind(StrEnum):
    """The kind of an entry: an OpenLineage event, the manifest of a capture, a user's declaration, or a PROV document."""

    EVENT = "event"
    CAPTURE = "capture"
    DECLARATION = "declaration"
    PROV = "prov"


class Stage(StrEnum):
    """The stage that refused a dead letter: `intake`, or, after acceptance, `projection`.

    `quarantine` means that every process that projected the entry crashed. Such an entry is projected only on request.
    """

    INTAKE = "intake"
    PROJECTION = "projection"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Draft:
    """A document to append: its canonical key (32 bytes) and its bytes."""

    kind: EntryKind
    key: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of an append. `duplicate` is true if the log already had the document at `offset`."""

    offset: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted entry. `key` is in hexadecimal, `received` ISO 8601 in UTC with microseconds."""

    offset: int
    kind: EntryKind
    key: str
    received: str
    body: bytes


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A refused document, and the reason. `offset` is the log entry's (0 if never accepted); `times` counts the refusals."""

    stage: Stage
    reason: str
    body: bytes
    field: str | None = None
    offset: int = 0
    id: int = 0
    received: str = ""
    times: int = 1
