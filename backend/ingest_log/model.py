"""What the ingest log takes and gives: drafts, receipts, entries and dead letters, whatever keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EntryKind(StrEnum):
    """What an entry is: an OpenLineage event, the manifest of a capture, what a user declared, or a PROV document."""

    EVENT = "event"
    CAPTURE = "capture"
    DECLARATION = "declaration"
    PROV = "prov"


class Stage(StrEnum):
    """Where a dead letter was refused: at `intake`, or, accepted, at `projection`.

    `quarantine`: each process ended that projected it, so nothing does it again unless it is asked to.
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
    """Proof of an append. `duplicate`: the document was there already, at `offset`."""

    offset: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry as it was accepted. `key` is in hexadecimal, `received` ISO 8601 in UTC with microseconds."""

    offset: int
    kind: EntryKind
    key: str
    received: str
    body: bytes


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What was refused, and why. `offset` is that of the log entry (0 for what never got in); `times` counts how often it came."""

    stage: Stage
    reason: str
    body: bytes
    field: str | None = None
    offset: int = 0
    id: int = 0
    received: str = ""
    times: int = 1
