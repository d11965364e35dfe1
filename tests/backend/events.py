"""OpenLineage events for the tests of the service, as a producer would send them."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid5

_NAMES = UUID("6f1f3c52-4f0a-4d3a-9b6e-0d6d1f5a7c11")


def run_event(number: int = 0, kind: str = "COMPLETE", **changes: Any) -> dict[str, Any]:
    """The event of run `number` of a job that reads one table and writes another."""
    event = {
        "eventType": kind,
        "eventTime": f"2013-02-12T03:{number // 60 % 60:02d}:{number % 60:02d}.{number % 1000:03d}Z",
        "producer": "https://example.org/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid5(_NAMES, str(number)))},
        "job": {"namespace": "tests", "name": f"job-{number % 7}"},
        "inputs": [{"namespace": "file", "name": f"/in/{number % 5}"}],
        "outputs": [
            {
                "namespace": "file",
                "name": f"/out/{number % 7}",
                "facets": {"schema": facet(fields=[{"name": "origin", "type": "string"}, {"name": "wind", "type": "double"}])},
            }
        ],
    }
    return {**event, **changes}


def facet(**content: Any) -> dict[str, Any]:
    """A facet with what every facet has."""
    return {"_producer": "https://example.org/producer", "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/Facet.json", **content}


def body(*events: Any) -> bytes:
    """One event as itself, several as an array."""
    return json.dumps(events[0] if len(events) == 1 else list(events)).encode()
