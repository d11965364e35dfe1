"""The subject of an evidence bundle: a question about records, and its answer."""

from __future__ import annotations

from headwater.backend.evidence.answer_json import as_json
from headwater.backend.evidence.bundle import Subject
from headwater.graph.trace import TraceAnswer, TraceRequest


def subject_of(request: TraceRequest, answer: TraceAnswer, provenance: bytes) -> Subject:
    question = {
        "dataset": request.dataset,
        "where": request.where,
        **({"rows": [{"file": file, "row": row} for file, row in request.rows]} if request.rows else {}),
        "column": request.column,
        "semantics": str(request.semantics),
        "to": request.to,
        **({"forward": True} if request.forward else {}),
        **({"as_of": request.as_of} if request.as_of is not None else {}),
    }
    runs = {hop.run.partition(":")[2] for hop in answer.path if hop.run}
    return Subject(question, runs, as_json(answer), provenance)
