"""Makes the certificate of an erasure, and puts it into the log, where the evidence covers it like every entry."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from headwater.backend.erasure.model import Certificate, Content
from headwater.backend.ingest.intake.receive import EventIntake

FACET = "headwater_erasure"
JOB = ("headwater", "erasure")
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"


def commit_to(salt: bytes, predicate: str | None, rows: Sequence[tuple[str, int]]) -> str:
    """Return the salted hash of a choice of records: of the predicate, or of the canonical JSON of the rows."""
    text = predicate if predicate is not None else json.dumps(sorted(rows), separators=(",", ":"))
    return sha256(salt + text.encode()).hexdigest()


def digest_of(salt: bytes, place: Path) -> Content | None:
    """Return the number of data files of a local dataset, and a salted digest of their names and contents. None if it is not there."""
    if place.is_file():
        files = [place]
    elif place.is_dir():
        files = sorted(
            Path(here) / name for here, _, names in os.walk(place) for name in names if not name.startswith(("_", "."))
        )  # fmt: skip
    else:
        return None
    total = sha256(salt)
    for file in files:
        total.update(b"\0" + str(file.relative_to(place)).encode() + b"\0")
        with file.open("rb") as stream:
            total.update(file_digest(stream, lambda: sha256(salt)).digest())
    return Content(files=len(files), digest=total.hexdigest())


def put_into_log(events: EventIntake, tenant: str, certificate: Certificate) -> str | None:
    """Append a certificate to the log as an event. Return the reason if it was refused. An event that is there already is not repeated.

    Raises:
        UnavailableError: the log does not answer.
    """
    producer = "headwater:/erasure"
    facet = {"_producer": producer, "_schemaURL": _SCHEMA, "certificate": certificate.model_dump(mode="json")}
    event: dict[str, Any] = {
        "eventType": "COMPLETE", "eventTime": certificate.ended, "producer": producer,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": certificate.id, "facets": {FACET: facet}}, "job": {"namespace": JOB[0], "name": JOB[1]},
        "inputs": [], "outputs": [],
    }  # fmt: skip
    report = events.submit(tenant, json.dumps(event).encode()).result()
    return report.rejected[0].message if report.rejected else None


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
