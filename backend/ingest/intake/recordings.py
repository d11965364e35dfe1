"""Parses the body of a request with recorded operations, and converts it to an event."""

from __future__ import annotations

import json
from dataclasses import dataclass

from headwater.backend.ingest.intake.bodies import unpack
from headwater.backend.ingest.intake.documents import read_document
from headwater.backend.ingest.intake.receive import ReadEvents, read_events
from headwater.backend.ingest.intake.recorded_operations import event_of, read_recording
from headwater.backend.ingest.intake.scan import DECLARATION
from headwater.graph.model import NodeKind, node_id


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """The run of a program, from the path of a request."""

    namespace: str
    application: str
    program: str
    kind: str
    run: str


def read_packed_recording(body: bytes, encoding: str | None, limit: int, of: ProgramRun) -> tuple[list[str], ReadEvents]:
    """Decompress and parse recorded operations. Returns the datasets that they name, and the parsed event.

    Raises:
        InvalidInputError: the body is not a recording.
    """
    recording = read_recording(read_document(unpack(body, encoding=encoding, limit=limit), DECLARATION))
    event = event_of(recording, namespace=of.namespace, application=of.application, program=of.program, kind=of.kind, run=of.run)
    datasets = [node_id(NodeKind.DATASET, item["namespace"], item["name"]) for item in (*event["inputs"], *event["outputs"])]
    return datasets, read_events(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode())
