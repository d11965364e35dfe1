"""The ingest log with a tracing span around each append, from the call until the entry is durable."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, cast

from headwater.backend.ingest.log.model import Draft, Receipt
from headwater.backend.ingest.log.protocol import IngestLog
from headwater.backend.process.tracing.spans import begun, ended, is_on, note_appended


class _TracedLog:
    """Another log, with a traced `append`."""

    def __init__(self, log: IngestLog) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, tenant: str, drafts: Sequence[Draft]) -> Future[Sequence[Receipt]]:
        if (current := begun("log.append", entries=len(drafts))) is None:  # tracing ended with the service
            return self._log.append(tenant, drafts)
        future = self._log.append(tenant, drafts)

        def durable(done: Future[Sequence[Receipt]]) -> None:
            error = done.exception()
            if error is None:
                note_appended(tenant, [receipt.offset for receipt in done.result() if not receipt.duplicate], current.get_span_context())
            ended(current, error)

        future.add_done_callback(durable)
        return future


def traced(log: IngestLog) -> IngestLog:
    """Return the log, with spans if tracing is on."""
    return cast("IngestLog", _TracedLog(log)) if is_on() else log
