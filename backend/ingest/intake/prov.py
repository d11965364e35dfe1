"""Accepts PROV documents: reads them, checks every constraint, and appends each as one entry to the log.

The log stores the document as PROV-JSON in one form, without secrets. The same document in another notation, or sent
again, is therefore the same entry. A refused document becomes a dead letter without its secrets, with the line and
the clause.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from headwater.backend.ingest.intake.bodies import unpack
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.intake.receive import Refused, dead_letter
from headwater.backend.ingest.intake.redaction import redact
from headwater.backend.ingest.intake.scan import MANIFEST, value_end
from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, IngestLog, Receipt
from headwater.backend.projection.prov import project_prov, prov_stamp
from headwater.errors import InvalidInputError
from headwater.graph.prov import ProvFormat
from headwater.graph.prov.canonical import canonical_json
from headwater.graph.prov.constraints import require_valid
from headwater.graph.prov.read import read


@dataclass(frozen=True, slots=True)
class ProvReport:
    """The result for a document: numbers of nodes and edges, statements that the graph cannot represent, and whether it is a duplicate."""

    nodes: int
    edges: int
    left_out: Mapping[str, int]
    duplicate: bool


class ProvIntake:
    """Accepts PROV documents of any producer. Its methods block until the data is on the disk."""

    def __init__(self, log: IngestLog) -> None:
        self._log = log

    def submit(self, tenant: str, body: bytes, notation: ProvFormat | None = None) -> ProvReport:
        """Accept a document. Without a `notation`, it is detected from the text.

        Raises:
            InvalidProvenanceError: the document is malformed, or breaks a constraint. The message names the line and the clause.
            MissingExtraError: the package for the notation is not installed.
            UnavailableError: the log cannot be written now.
        """
        try:
            draft, report = read_provenance(body, notation)
        except InvalidInputError as error:
            self._log.bury(tenant, [dead_letter(body, error)]).result()
            raise
        (receipt,) = self.keep(tenant, draft).result()
        return replace(report, duplicate=receipt.duplicate)

    def bury(self, tenant: str, letter: DeadLetter) -> Future[None]:
        """Store a refused document as a dead letter."""
        return self._log.bury(tenant, [letter])

    def keep(self, tenant: str, draft: Draft) -> Future[Sequence[Receipt]]:
        """Append a parsed document to the log."""
        return self._log.append(tenant, [draft])


def read_provenance(body: bytes, notation: ProvFormat | None = None) -> tuple[Draft, ProvReport]:
    """Parse and check a PROV document. Returns its log entry and the report.

    Raises:
        InvalidProvenanceError, MissingExtraError: as `ProvIntake.submit`.
    """
    if body.lstrip()[:1] in (b"{", b"["):
        value_end(body, 0, MANIFEST, "$")
    document = read(body, notation)
    require_valid(document)
    kept = canonical_json(document, _clean)
    # The stored text is also projected here, so the result is known before the document is acknowledged.
    stated = read(kept.encode(), ProvFormat.JSON)
    batch, left_out = project_prov(stated, prov_stamp(stated, ""))
    key = document_key(json.loads(kept))
    nodes = {node.id for node in batch.nodes} | {end for edge in batch.edges for end in (edge.src, edge.dst)}
    report = ProvReport(len(nodes), len(batch.edges), dict(left_out), duplicate=False)
    return Draft(EntryKind.PROV, key, kept.encode()), report


def read_packed_provenance(
    body: bytes, encoding: str | None, limit: int, notation: ProvFormat | None
) -> tuple[Draft, ProvReport] | Refused:
    """Decompress and parse a PROV document (see `read_provenance`). An invalid document is returned as `Refused`.

    Raises:
        InvalidInputError: the body cannot be decompressed.
        MissingExtraError: as `ProvIntake.submit`.
    """
    document = unpack(body, encoding=encoding, limit=limit)
    try:
        return read_provenance(document, notation)
    except InvalidInputError as error:
        return Refused(error, dead_letter(document, error))


def _clean(name: str, value: Any) -> Any:
    """Remove secrets from a value, by its name and by its own form."""
    local = name.rsplit("#", 1)[-1].rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    return next(iter(redact({local: value}).values()))
