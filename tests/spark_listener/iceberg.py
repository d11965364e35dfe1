"""Questions of tests of Iceberg tables to a laboratory with such a catalog (`tests.oracle.iceberg_history.lake_in`)."""

from __future__ import annotations

import asyncio
from typing import Any

from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from tests.oracle.laboratory import TENANT, Laboratory
from tests.oracle.table_history import records


def traced(lake: Laboratory, name: str, **more: Any) -> TraceAnswer:
    """Where all rows of a folder of the laboratory came from, or those that `more` names."""
    asked = TraceRequest(dataset=str(lake.folder / name), **{"where": "true", "semantics": Semantics.INFLUENCE, **more})
    return asyncio.run(trace(None, lake.store, TENANT, asked))


def ids(lake: Laboratory, answer: TraceAnswer) -> list[int]:
    """The `id` of each source record of an answer, ascending."""
    raw = records(lake)
    return sorted(raw[str(record.file), int(str(record.row))] for record in answer.records)
