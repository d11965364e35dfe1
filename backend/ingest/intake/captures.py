"""Accepts captures: first the segments, then the manifest that lists the valid ones.

A segment is acknowledged when its bytes and their hash are on the disk, and a
manifest when all of its segments are. A manifest with missing segments is refused with their list. The sender can
then send these and try again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from headwater.backend.ingest.intake.bodies import unpack
from headwater.backend.ingest.intake.documents import document_key, read_document
from headwater.backend.ingest.intake.receive import Refused, dead_letter
from headwater.backend.ingest.intake.redaction import redact, redact_text
from headwater.backend.ingest.intake.scan import MANIFEST
from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, IngestLog, Receipt
from headwater.backend.projection.rehearsal import rehearse_capture
from headwater.errors import InvalidCaptureError, InvalidInputError
from headwater.graph.associations import Manifest
from headwater.graph.records import AssociationStore
from headwater.spark_listener.secrets import is_secret_name


class MissingSegmentsError(InvalidCaptureError):
    """A manifest arrived before its segments. `missing` names them."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"{len(missing)} segment(s) have not arrived: {', '.join(missing[:5])}.",
            field="$.segments",
            hint="Send them, then the manifest again.",
        )
        self.missing = tuple(missing)


class CaptureIntake:
    """Accepts segments and manifests. Its methods block until the data is on the disk."""

    def __init__(self, log: IngestLog, associations: AssociationStore) -> None:
        self._log = log
        self._associations = associations

    def stage(self, tenant: str, capture: str, name: str, source: Path) -> None:
        """Store the segment in the file `source` until its manifest arrives.

        Raises:
            InvalidCaptureError: the name of the capture or the segment violates the format.
        """
        self._associations.stage_segment(tenant, capture, name, source)

    def submit(self, tenant: str, body: bytes) -> Receipt:
        """Accept a manifest whose segments have all arrived.

        Raises:
            InvalidCaptureError: the document is not a manifest. It becomes a dead letter.
            MissingSegmentsError: listed segments have not arrived.
        """
        try:
            drafted, manifest = read_manifest(body)
        except InvalidInputError as error:
            self.refuse(tenant, body, error)
            raise
        self.require_segments(tenant, manifest)
        return self.keep(tenant, drafted).result()[0]

    def require_segments(self, tenant: str, manifest: Manifest) -> None:
        """Check that the segments of a manifest have arrived. Reads the disk.

        Raises:
            MissingSegmentsError: some have not arrived.
        """
        if missing := self._associations.missing_segments(tenant, manifest):
            raise MissingSegmentsError(missing)

    def keep(self, tenant: str, draft: Draft) -> Future[Sequence[Receipt]]:
        """Append a parsed manifest to the log."""
        return self._log.append(tenant, [draft])

    def bury(self, tenant: str, letter: DeadLetter) -> Future[None]:
        """Store a refused document as a dead letter."""
        return self._log.bury(tenant, [letter])

    def refuse(self, tenant: str, body: bytes, error: InvalidInputError) -> None:
        """Store an invalid manifest as a dead letter, with its secrets removed."""
        self._log.bury(tenant, [dead_letter(body, error)]).result()


def read_manifest(body: bytes) -> tuple[Draft, Manifest]:
    """Parse a manifest. Returns the log entry, and the manifest with its secrets removed.

    Raises:
        InvalidInputError: the document is not a manifest.
    """
    document = _single(body)
    Manifest.from_json(document)
    clean = _redacted(document)
    drafted = _draft(document, body, clean)
    manifest = Manifest.from_json(clean)
    rehearse_capture(clean)
    return drafted, manifest


def read_packed_manifest(body: bytes, encoding: str | None, limit: int) -> tuple[Draft, Manifest] | Refused:
    """Decompress and parse a manifest (see `read_manifest`). An invalid manifest is returned as `Refused`.

    Raises:
        InvalidInputError: the body cannot be decompressed.
    """
    manifest = unpack(body, encoding=encoding, limit=limit)
    try:
        return read_manifest(manifest)
    except InvalidInputError as error:
        return Refused(error, dead_letter(manifest, error))


def _single(body: bytes) -> dict[str, Any]:
    document = read_document(body, MANIFEST)
    if isinstance(document, list):
        raise InvalidCaptureError("The body is an array; a manifest comes alone.", field="$", hint="Send one manifest a request.")
    if not isinstance(document, dict):
        raise InvalidCaptureError("The body is no object.", field="$", hint="Send one manifest a request.")
    return document


def _draft(document: Mapping[str, Any], body: bytes, clean: Mapping[str, Any]) -> Draft:
    kept = body if clean == document else json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return Draft(EntryKind.CAPTURE, document_key(clean), kept)


def _redacted(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Remove secrets from a manifest. Partition values and expressions stay unchanged, because traces use them."""
    clean = dict(redact({name: part for name, part in manifest.items() if name not in ("sources", "operators")}))
    clean["sources"] = [_source(source) for source in manifest["sources"]]
    clean["operators"] = [_operator(operator) for operator in manifest["operators"]]
    return clean


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    if not source.get("files"):  # no records of this query were captured
        return dict(redact(source))
    partitions = [file.get("partition") for file in source["files"]]
    bare = [{name: part for name, part in file.items() if name != "partition"} for file in source["files"]]
    clean = dict(redact({**source, "files": bare}))
    clean["files"] = [
        file if partition is None else {**file, "partition": partition} for file, partition in zip(clean["files"], partitions, strict=True)
    ]
    return clean


def _operator(value: Any) -> Any:
    if isinstance(value, list):
        return [_operator(child) for child in value]
    if isinstance(value, dict):
        return {name: _part_of_operator(name, child) for name, child in value.items()}
    return value


def _part_of_operator(name: str, child: Any) -> Any:
    if isinstance(child, str) and name in ("text", "sql"):
        return redact_text(child)
    if name == "options" or is_secret_name(name, of_text=False):
        return next(iter(redact({name: child}).values()))
    return _operator(child)
