"""Captures for the tests of the service: a copy of one file to another, whose segments are real ones."""

from __future__ import annotations

from hashlib import sha256
from typing import Any
from uuid import UUID, uuid5

from headwater.graph.associations.writer import segment

_NAMES = UUID("0d3c3c52-4f0a-4d3a-9b6e-0d6d1f5a7c11")
ROWS = 100


def capture(number: int = 0, *, segments: int = 2) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest of capture `number`, which copies 100 records a task, and the bytes of its segments by name."""
    identifier = str(uuid5(_NAMES, str(number)))
    parts = {f"b0-s1.0-p{part}-a{part + 10}.seg": _segment(identifier, number, part) for part in range(segments)}
    files = [
        {"ordinal": part, "ordinals": 1, "path": f"file:/in/{number}/{part}.parquet", "length": 1000, "modified": 1360638000000}
        for part in range(segments)
    ]
    columns = [{"name": "wind", "type": "double"}]
    manifest = {
        "format": 1,
        "capture": identifier,
        "run": {"namespace": "tests", "job": "copy", "runId": str(uuid5(_NAMES, f"run {number}"))},
        "application": {"id": "local-1", "name": "copy", "spark": "4.1.4"},
        "started": "2013-02-12T03:00:00Z",
        "ended": "2013-02-12T03:00:05Z",
        "mode": "active",
        "status": "complete",
        "problems": [],
        "sources": [
            {
                "source": 0, "dataset": {"namespace": "file", "name": f"/in/{number}"}, "path": f"file:/in/{number}", "format": "parquet",
                "options": {"fs.s3a.secret.key": "hunter2"}, "columns": columns, "partition_columns": [], "files": files, "splits": [],
            }
        ],
        "operators": [
            {"id": 0, "op": "Write", "children": [1], "text": "Write", "columns": [1]},
            {"id": 1, "op": "Scan", "children": [], "source": 0, "columns": [{"attr": 1, "name": "wind", "type": "double"}]},
        ],
        "boundaries": [{"boundary": 0, "kind": "sink", "operator": 0, "columns": [{"role": "ref", "operator": 1}]}],
        "sink": {
            "boundary": 0, "dataset": {"namespace": "file", "name": f"/out/{number}"}, "path": f"file:/out/{number}", "format": "parquet",
            "mode": "overwrite", "options": {}, "columns": [{**columns[0], "attr": 1}], "partition_columns": [],
        },
        "segments": [
            {
                "name": name, "boundary": 0, "stage": 1, "stage_attempt": 0, "partition": part, "attempt": part + 10, "rows": ROWS,
                "bytes": len(data), "sha256": sha256(data).hexdigest(),
            }
            for part, (name, data) in enumerate(parts.items())
        ],
    }  # fmt: skip
    return manifest, parts


def _segment(identifier: str, number: int, part: int) -> bytes:
    footer = {
        "capture": identifier, "boundary": 0, "stage": 1, "stage_attempt": 0, "partition": part, "attempt": part + 10, "columns": 1,
        "files": [{"path": f"file:/out/{number}/part-{part}.parquet", "length": 900, "modified": 1360638004000}], "runs": [[0, ROWS]],
    }  # fmt: skip
    return segment([[(part << 40) + row for row in range(ROWS)]], footer)
