"""The answer of a trace as JSON: the form of `headwater trace --format json` and of evidence bundles."""

from __future__ import annotations

from typing import Any

from headwater.graph.model.ids import dataset_name
from headwater.graph.trace import AsOf, TraceAnswer, TracedRecord
from headwater.graphql.values import to_json


def as_json(answer: TraceAnswer) -> dict[str, Any]:
    """Return the answer as JSON. Scripts rely on this form."""
    incomplete = [{"what": item.what, "reason": item.reason, "effect": item.effect} for item in answer.incomplete]
    if answer.total > len(answer.records):
        reason = f"{len(answer.records)} of {answer.total} records are listed"
        incomplete.append({"what": "limit", "reason": reason, "effect": "missing"})
    return {
        "semantics": answer.semantics.value,
        "exact": answer.exact,
        **({"notes": list(answer.notes)} if answer.notes else {}),
        "records": [_record(record) for record in answer.records],
        "path": [
            {
                "job": hop.job,
                "run": hop.run,
                "output": dataset_name(hop.output),
                "inputs": [dataset_name(source) for source in hop.inputs],
                "operations": list(hop.operations),
                "expressions": [
                    {"operator": step.operator, "made": {made.column: made.expression for made in step.made}, "by": list(step.by)}
                    for step in hop.expressions
                ],
                "records": hop.records,
                "grain": hop.grain.value,
                "recaptured": hop.recaptured,
                "tasks": list(hop.tasks),
            }
            for hop in answer.path
        ],
        "incomplete": incomplete,
        "found_again": [
            {"operator": item.operator, "estimated_ms": round(item.estimated_ms, 1), "took_ms": round(item.took_ms, 1)}
            for item in answer.found_again
        ],
        "storage": {"requests": answer.storage_requests, "bytes": answer.storage_bytes},
        **({} if answer.as_of is None else {"as_of": _version(answer.as_of)}),
    }


def _version(version: AsOf) -> dict[str, Any]:
    return {"at": version.at, "runs": [run.partition(":")[2] for run in version.runs], "is_read": version.is_read}


def _record(record: TracedRecord) -> dict[str, Any]:
    place = place_of(record)
    if record.line is None:
        del place["line"]
    return {**place, "values": to_json(record.values)}


def place_of(record: TracedRecord) -> dict[str, Any]:
    return {
        "dataset": dataset_name(record.dataset),
        "file": record.file,
        "row": record.row,
        "line": record.line,
        "grain": record.grain.value,
    }
