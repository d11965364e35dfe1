"""Captures at the door: segments first, then the manifest that says which of them count.

For delivery of any application. A segment is acknowledged when its bytes, and their hash, are on the disk; a manifest when all of its
segments are. A manifest that names a segment which did not arrive is refused with the list of what is missing, so that the sender
can send those and try again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.backend.ingest_log import DeadLetter, Draft, EntryKind, IngestLog, Receipt, Stage
from headwater.backend.intake.documents import Document, document_key, read_documents
from headwater.backend.intake.redaction import redact, redact_text
from headwater.errors import InvalidCaptureError, InvalidInputError
from headwater.graph.associations import Manifest
from headwater.graph.records import AssociationStore


class MissingSegmentsError(InvalidCaptureError):
    """A manifest came before its segments; `missing` names them."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"{len(missing)} segment(s) have not arrived: {', '.join(missing[:5])}.",
            field="$.segments",
            hint="Send them, then the manifest again.",
        )
        self.missing = tuple(missing)


class CaptureIntake:
    """Takes segments and manifests. Its methods block until the disk has what they took."""

    def __init__(self, log: IngestLog, associations: AssociationStore) -> None:
        self._log = log
        self._associations = associations

    def stage(self, tenant: str, capture: str, name: str, source: Path) -> None:
        """Keep the segment in the file `source` until its manifest comes.

        Raises:
            InvalidCaptureError: the capture or the name is not one of the format.
        """
        self._associations.stage_segment(tenant, capture, name, source)

    def submit(self, tenant: str, body: bytes) -> Receipt:
        """Take a manifest whose segments are all here.

        Raises:
            InvalidCaptureError: it is no manifest; it is kept as a dead letter.
            MissingSegmentsError: segments that it lists have not arrived.
        """
        try:
            document = _single(body)
            Manifest.from_json(document.value)
            clean = _redacted(document.value)
            drafted = _draft(document, clean)
        except InvalidInputError as error:
            self.refuse(tenant, body, error)
            raise
        # Asked of the redacted manifest: it is what the log keeps, and so what is published.
        if missing := self._associations.missing_segments(tenant, Manifest.from_json(clean)):
            raise MissingSegmentsError(missing)
        return self._log.append(tenant, [drafted]).result()[0]

    def refuse(self, tenant: str, body: bytes, error: InvalidInputError) -> None:
        """Keep a manifest that can never be taken, byte for byte."""
        self._log.bury(tenant, [DeadLetter(Stage.INTAKE, error.message, body, error.field)]).result()


def _single(body: bytes) -> Document:
    documents = read_documents(body)
    if len(documents) != 1 or documents[0].path != "$":
        raise InvalidCaptureError("The body is an array; a manifest comes alone.", field="$", hint="Send one manifest a request.")
    return documents[0]


def _draft(document: Document, clean: Mapping[str, Any]) -> Draft:
    body = document.body if clean == document.value else json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return Draft(EntryKind.CAPTURE, document_key(clean), body)


def _redacted(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Options and the texts of the plan, without secrets. Paths, names and partition values stay: traces find records by them."""
    clean = dict(manifest)
    clean["sources"] = [
        {**source, "options": redact(source["options"])} if "options" in source else source for source in manifest["sources"]
    ]
    if isinstance(manifest.get("sink"), dict) and "options" in manifest["sink"]:
        clean["sink"] = {**manifest["sink"], "options": redact(manifest["sink"]["options"])}
    clean["operators"] = [_in_texts(operator, redact_text) for operator in manifest["operators"]]
    return clean


def _in_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_in_texts(child, change) for child in value]
    if isinstance(value, dict):
        return {
            name: change(child) if name in ("text", "sql") and isinstance(child, str) else _in_texts(child, change)
            for name, child in value.items()
        }
    return value
