"""The only way into the log, for the service's endpoints and for the spool of an application on this machine.

Intake stores only valid documents. A refusal names the
wrong field, and the refused document becomes a dead letter without its secrets. "Accepted" means durable. Of a
body with many faults, the first hundred are reported and stored, and the others are counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from headwater.backend.ingest.intake.bodies import BodyTooLargeError, unpack
from headwater.backend.ingest.intake.documents import Document, document_key, key_of, read_documents
from headwater.backend.ingest.intake.events import check_event
from headwater.backend.ingest.intake.redaction import kept_of, may_hold_secret, redact, redact_text
from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, IngestLog, Receipt, Stage
from headwater.backend.ingest.log.loop_futures import on_loop
from headwater.backend.projection.rehearsal import rehearse_event
from headwater.errors import InvalidInputError, InvalidJsonError

MAX_REJECTED = 100
_LONGEST = 500  # limit of characters of a field or message in a refusal


@dataclass(frozen=True, slots=True)
class Rejection:
    """A refused document: its index in the body, the wrong field, and the reason."""

    index: int
    field: str | None
    message: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class EventsReport:
    """The result for a body.

    `accepted` counts the durable events, and `duplicates` those among them that the log already had.

    `rejected` has the first hundred refused events, `more_rejected` counts the others.
    """

    accepted: int
    duplicates: int
    rejected: Sequence[Rejection]
    more_rejected: int = 0


@dataclass(slots=True)
class Submission:
    """A submitted body that is not yet durable.

    `result` waits for it in a thread, `durable` on the event loop. Both may raise `UnavailableError`.
    """

    rejected: list[Rejection] = field(default_factory=list)
    more_rejected: int = 0
    appended: Future[Sequence[Receipt]] | None = None
    buried: Future[None] | None = None

    def result(self) -> EventsReport:
        """Block until the body is durable."""
        if self.buried is not None:
            self.buried.result()
        return self._report(self.appended.result() if self.appended is not None else [])

    async def durable(self) -> EventsReport:
        """Wait on the event loop until the body is durable."""
        if self.buried is not None:
            await on_loop(self.buried)
        return self._report(await on_loop(self.appended) if self.appended is not None else [])

    def _report(self, receipts: Sequence[Receipt]) -> EventsReport:
        return EventsReport(len(receipts), sum(receipt.duplicate for receipt in receipts), self.rejected, self.more_rejected)


@dataclass(slots=True)
class ReadEvents:
    """The events of a body: the entries for the log, and the refusals."""

    drafts: list[Draft] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    more_rejected: int = 0

    def reject(self, body: bytes, index: int, error: InvalidInputError) -> None:
        """Record a refused document. After the first hundred, refusals are only counted."""
        if len(self.rejected) == MAX_REJECTED:
            self.more_rejected += 1
            return
        letter = dead_letter(body, error)
        self.rejected.append(Rejection(index, letter.field, letter.reason, error.hint and error.hint[:_LONGEST]))
        self.letters.append(letter)


@dataclass(frozen=True, slots=True)
class Refused:
    """A body that was refused as a whole: the error, and the dead letter."""

    error: InvalidInputError
    letter: DeadLetter


class EventIntake:
    """Accepts OpenLineage events of any producer."""

    def __init__(self, log: IngestLog) -> None:
        self._log = log

    def submit(self, tenant: str, body: bytes, *, permitted: Callable[[Mapping[str, Any], str], None] | None = None) -> Submission:
        """Check a body (one event, or an array), and append its valid events to the log. Invalid ones do not affect them.

        `permitted` is called with each valid event and its path. It raises `InvalidEventError` for an event that the sender may
        not send.
        """
        return self.keep(tenant, read_events(body, permitted))

    def keep(self, tenant: str, events: ReadEvents) -> Submission:
        """Append the events of a parsed body to the log."""
        return Submission(
            rejected=events.rejected,
            more_rejected=events.more_rejected,
            buried=self._log.bury(tenant, events.letters) if events.letters else None,
            appended=self._log.append(tenant, events.drafts) if events.drafts else None,
        )

    def bury(self, tenant: str, letter: DeadLetter) -> Future[None]:
        """Store a body that was refused as a whole."""
        return self._log.bury(tenant, [letter])

    def take(self, tenant: str, body: bytes) -> Future[Sequence[Receipt]] | None:
        """Append a body to the log if all of it is valid, as usual. Otherwise return None and change nothing."""
        try:
            drafts = [_checked(document, None) for document in read_documents(body)]
        except InvalidInputError:
            return None
        return self._log.append(tenant, drafts) if drafts else None

    def refuse(self, tenant: str, body: bytes, error: InvalidInputError) -> Future[None]:
        """Store an unreadable body as a dead letter."""
        return self._log.bury(tenant, [dead_letter(body, error)])


def read_events(body: bytes, permitted: Callable[[Mapping[str, Any], str], None] | None = None) -> ReadEvents:
    """Parse and check a body (one event, or an array). Any process can do it, because it needs no part of the service."""
    read = ReadEvents()
    try:
        for index, document in enumerate(read_documents(body)):
            try:
                read.drafts.append(_checked(document, permitted))
            except InvalidInputError as error:
                read.reject(document.body, index, error)
    except InvalidJsonError as error:  # the whole body is refused
        read = ReadEvents()
        read.reject(body, 0, error)
    return read


def read_packed_events(
    body: bytes, encoding: str | None, limit: int, permitted: Callable[[Mapping[str, Any], str], None] | None = None
) -> ReadEvents | Refused:
    """Decompress and parse a body of events (see `read_events`).

    Raises:
        BodyTooLargeError: the decompressed body has more than `limit` bytes.
    """
    try:
        unpacked = unpack(body, encoding=encoding, limit=limit)
    except BodyTooLargeError:
        raise
    except InvalidInputError as error:
        return Refused(error, dead_letter(body, error))
    return read_events(unpacked, permitted)


def draft(kind: EntryKind, document: Document) -> Draft:
    """Return the log entry for a document: its original bytes, or the redacted document if it contains a secret.

    Raises:
        InvalidEventError: the document has no canonical form.
    """
    if document.canonical is not None and not may_hold_secret(document.canonical):
        return Draft(kind, key_of(document), document.body)
    clean = redact(document.value)
    if clean is document.value:
        return Draft(kind, key_of(document), document.body)
    return Draft(kind, document_key(clean), json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))


def dead_letter(body: bytes, error: InvalidInputError) -> DeadLetter:
    """Return the dead letter for a refused body: the reason, and the body without secrets, limited in size."""
    return DeadLetter(
        Stage.INTAKE, redact_text(error.message)[:_LONGEST], kept_of(body), error.field and redact_text(error.field)[:_LONGEST]
    )


def _checked(document: Document, permitted: Callable[[Mapping[str, Any], str], None] | None) -> Draft:
    if document.fault is not None:
        raise document.fault
    check_event(document)
    taken = draft(EntryKind.EVENT, document)
    rehearse_event(document.value, document.body, document.path)
    if permitted is not None:
        permitted(document.value, document.path)
    return taken
