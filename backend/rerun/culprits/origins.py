"""Traces culprits to their origins, if a captured run wrote the files in which they are."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from headwater.errors import HeadwaterError
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.trace import TraceAnswer, TracedRecord, TraceRequest
from headwater.spark_listener.trials.program_inputs import OWN_ROWS

_MOST = 20  # culprits that are traced
_LIMIT = 100


class Tracer(Protocol):
    """Answers traces of one tenant."""

    def trace(self, tenant: str, request: TraceRequest) -> Awaitable[TraceAnswer]: ...


async def find_origins(tracer: Tracer, tenant: str, records: RecordSet) -> Sequence[TracedRecord]:
    """Return the records of sources that culprits came from. Empty if the culprits are records of sources themselves."""
    origins: dict[tuple[str | None, int | None], TracedRecord] = {}
    for file, row in records.slice(0, _MOST):
        if file.startswith(OWN_ROWS):
            continue
        try:
            answer = await tracer.trace(tenant, TraceRequest(dataset=file.removeprefix("file:"), rows=[(file, row)], limit=_LIMIT))
        except HeadwaterError:  # no run wrote the file, or it is not known
            continue
        if answer.path:
            origins |= {(record.file, record.row): record for record in answer.records}
    return list(origins.values())
