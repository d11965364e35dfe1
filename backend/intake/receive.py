"""The intake: the one way into the log, for the service's endpoints and for the spool of an application on this machine.

For anything that sends events, manifests and segments. It must keep nothing that it cannot vouch for, must refuse with the name of the
field, must keep what it refused byte for byte, and must say "accepted" only of what is durable.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from headwater.backend.ingest_log import DeadLetter, Draft, EntryKind, IngestLog, Receipt, Stage
from headwater.backend.intake.documents import Document, document_key, read_documents
from headwater.backend.intake.events import check_event
from headwater.backend.intake.redaction import redact
from headwater.errors import InvalidEventError, InvalidInputError


@dataclass(frozen=True, slots=True)
class Rejection:
    """A document that was refused: its place in the body, the wrong field, and why."""

    index: int
    field: str | None
    message: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class EventsReport:
    """What became of a body. `accepted` counts what is durable now, `duplicates` those of them that were known already."""

    accepted: int
    duplicates: int
    rejected: Sequence[Rejection]


@dataclass(slots=True)
class Submission:
    """A body on its way to the disk. `result` and `durable` wait for it, in a thread or on the loop; both may raise `UnavailableError`."""

    rejected: list[Rejection] = field(default_factory=list)
    appended: Future[Sequence[Receipt]] | None = None
    buried: Future[None] | None = None

    def result(self) -> EventsReport:
        """Block until it is durable."""
        if self.buried is not None:
            self.buried.result()
        return self._report(self.appended.result() if self.appended is not None else [])

    async def durable(self) -> EventsReport:
        """Wait until it is durable."""
        if self.buried is not None:
            await asyncio.wrap_future(self.buried)
        return self._report(await asyncio.wrap_future(self.appended) if self.appended is not None else [])

    def _report(self, receipts: Sequence[Receipt]) -> EventsReport:
        return EventsReport(len(receipts), sum(receipt.duplicate for receipt in receipts), self.rejected)


class EventIntake:
    """Takes OpenLineage events of any producer."""

    def __init__(self, log: IngestLog) -> None:
        self._log = log

    def submit(self, tenant: str, body: bytes) -> Submission:
        """Check a body (one event, or an array) and hand it to the log. Valid events are taken, whatever their neighbours are."""
        submission = Submission()
        drafts: list[Draft] = []
        letters: list[DeadLetter] = []
        try:
            documents = read_documents(body)
        except InvalidEventError as error:
            self._reject(submission, letters, body, 0, error)
            documents = []
        for index, document in enumerate(documents):
            try:
                check_event(document)
                drafts.append(draft(EntryKind.EVENT, document))
            except InvalidEventError as error:
                self._reject(submission, letters, document.body, index, error)
        submission.buried = self._log.bury(tenant, letters) if letters else None
        submission.appended = self._log.append(tenant, drafts) if drafts else None
        return submission

    def refuse(self, tenant: str, body: bytes, error: InvalidInputError) -> Future[None]:
        """Keep a body that could not even be unpacked."""
        return self._log.bury(tenant, [_letter(body, error)])

    @staticmethod
    def _reject(submission: Submission, letters: list[DeadLetter], body: bytes, index: int, error: InvalidInputError) -> None:
        submission.rejected.append(Rejection(index, error.field, error.message, error.hint))
        letters.append(_letter(body, error))


def draft(kind: EntryKind, document: Document) -> Draft:
    """What the log keeps of a document: its bytes as they came, or, where a secret had to go, those of the redacted one.

    Raises:
        InvalidEventError: the document has no canonical form.
    """
    clean = redact(document.value)
    body = document.body if clean is document.value else json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return Draft(kind, document_key(clean), body)


def _letter(body: bytes, error: InvalidInputError) -> DeadLetter:
    return DeadLetter(Stage.INTAKE, error.message, body, error.field)
