"""Accepts PROV documents: reads them, checks every constraint, and keeps each as one entry of the log.

The log keeps the document as PROV-JSON in one form, without secrets. The same document in another notation, or sent
again, is therefore the same entry. A refused document is kept as a dead letter without its secrets, with the line and
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
    """The result for a document: numbers of nodes and edges, statements that the graph cannot hold, and whether it was known."""

    nodes: int
    edges: int
    left_out: Mapping[str, int]
    duplicate: bool


class ProvIntake:
    """Takes PROV documents of any producer. Its methods block until the disk has what they took."""

    def __init__(self, log: IngestLog) -> None:
        self._log = log

    def submit(self, tenant: str, body: bytes, notation: ProvFormat | None = None) -> ProvReport:
        """Take a document; without a notation, in the one that it looks like.

        Raises:
            InvalidProvenanceError: it is malformed, or breaks a constraint; says the line and the clause.
            MissingExtraError: its notation is read by a package that is not installed.
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
        """Keep what was refused."""
        return self._log.bury(tenant, [letter])

    def keep(self, tenant: str, draft: Draft) -> Future[Sequence[Receipt]]:
        """Hand what was read of a document to the log."""
        return self._log.append(tenant, [draft])


def read_provenance(body: bytes, notation: ProvFormat | None = None) -> tuple[Draft, ProvReport]:
    """Return what the log keeps of a document, and what the document comes to.

    Raises:
        InvalidProvenanceError, MissingExtraError: as `ProvIntake.submit`.
    """
    if body.lstrip()[:1] in (b"{", b"["):
        value_end(body, 0, MANIFEST, "$")
    document = read(body, notation)
    require_valid(document)
    kept = canonical_json(document, _clean)
    # Kept and projected is the same text: what it comes to is known before it is acknowledged.
    stated = read(kept.encode(), ProvFormat.JSON)
    batch, left_out = project_prov(stated, prov_stamp(stated, ""))
    key = document_key(json.loads(kept))
    nodes = {node.id for node in batch.nodes} | {end for edge in batch.edges for end in (edge.src, edge.dst)}
    report = ProvReport(len(nodes), len(batch.edges), dict(left_out), duplicate=False)
    return Draft(EntryKind.PROV, key, kept.encode()), report


def read_packed_provenance(
    body: bytes, encoding: str | None, limit: int, notation: ProvFormat | None
) -> tuple[Draft, ProvReport] | Refused:
    """As `read_provenance`, of a body in an encoding.

    A document that can never be taken comes back as what is kept of it.

    Raises:
        InvalidInputError: the body cannot be unpacked.
        MissingExtraError: as `ProvIntake.submit`.
    """
    document = unpack(body, encoding=encoding, limit=limit)
    try:
        return read_provenance(document, notation)
    except InvalidInputError as error:
        return Refused(error, dead_letter(document, error))


def _clean(name: str, value: Any) -> Any:
    """A value without its secrets, by the name that it stands under and by its own shape."""
    local = name.rsplit("#", 1)[-1].rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    return next(iter(redact({local: value}).values()))
