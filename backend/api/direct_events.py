"""Handles small bodies of OpenLineage events directly at the connection, without ASGI.

Producers mostly send one event of a few kilobytes, and a service gets thousands a second. Checking an event takes less time than passing it
through every layer of the application. The connection therefore offers each body to this module first. The checks of the guard and of the
event, the log and the answers are the same as in `lineage`; the log line and the metrics are the same as in `requests`. Unusual requests
are left to the application before any work is done: a refusal, a session, a token with keys still to fetch, a compressed body, a sender
restricted to namespaces, a tenant with slow bodies, or a service with tracing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from starlette.types import Scope

from headwater.backend.api.context import Service
from headwater.backend.api.errors import error_response
from headwater.backend.api.guard import RESPONSE_HEADERS, Guard
from headwater.backend.api.headers import head_of
from headwater.backend.api.lineage import ARRAY_INLINE
from headwater.backend.api.requests import note_request, request_id_of
from headwater.backend.http.connections import Answered
from headwater.backend.ingest.intake.body_budget import BodyShare
from headwater.backend.ingest.log import Receipt
from headwater.backend.ingest.log.loop_futures import on_loop
from headwater.backend.process.tracing.spans import is_on
from headwater.errors import HeadwaterError
from headwater.graph.access.scopes import Scope as Right

_SMALL = 8 * 1024  # in bytes; the check takes half a millisecond, and at most 50 ms for a text full of names of secrets
_PATHS = frozenset({"/api/v1/lineage", "/api/v1/lineage/batch"})
_ALWAYS = b"".join(b"%s: %s\r\n" % header for header in RESPONSE_HEADERS)
_TAKEN = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n" + _ALWAYS


class DirectEvents:
    """Accepts small OpenLineage events at the connection (see the module's docstring)."""

    def __init__(self, guard: Guard, parts: Callable[[], Service]) -> None:
        self._guard = guard
        self._parts = parts

    def __call__(self, scope: Scope, body: bytes, answered: Answered) -> bool:
        if scope["path"] not in _PATHS or scope["method"] != "POST" or len(body) > _SMALL or is_on():
            return False
        if "content-encoding" in head_of(scope) or (len(body) >= ARRAY_INLINE and body.lstrip()[:1] == b"["):
            return False
        began = time.perf_counter()
        try:
            taken = self._taken(scope, body)
        except Exception:  # noqa: BLE001 - a fault of ours: the application meets it once more, tells it in its log and answers
            return False
        if taken is None:
            return False
        appended, share = taken
        on_loop(appended).add_done_callback(partial(_answer, self._parts(), scope, began, answered, share))
        return True

    def _taken(self, scope: Scope, body: bytes) -> tuple[Future[Sequence[Receipt]], BodyShare] | None:
        """Start to write a body to the log. Returns its receipts and its share of memory, or None to leave it to the application."""
        if (admitted := self._guard.admitted(scope, len(body))) is None:
            return None
        who, share = admitted
        appended = None
        parts = self._parts()
        try:
            if Right.INTAKE not in who.within and parts.readers.inline.has_left(who.tenant):
                with parts.readers.inline.counted(who.tenant):
                    appended = parts.workspace.events.take(who.tenant, body)
        finally:
            if appended is None:
                share.release()
        return None if appended is None else (appended, share)


def _answer(
    parts: Service, scope: Scope, began: float, answered: Answered, share: BodyShare, appended: Future[Sequence[Receipt]]
) -> None:  # fmt: skip
    share.release()
    request_id = request_id_of(scope)
    try:
        receipts = appended.result()
    except HeadwaterError as error:
        response = error_response(error)
        status, body = response.status_code, bytes(response.body)
        head = b"HTTP/1.1 %d Service Unavailable\r\n" % status + _ALWAYS
        head += b"".join(b"%s: %s\r\n" % header for header in response.raw_headers if header[0] != b"content-length")
    else:
        duplicates = sum(receipt.duplicate for receipt in receipts)
        parts.metrics.taken(len(receipts) - duplicates, duplicates, 0)
        status, head = 201, _TAKEN
        body = b'{"accepted":%d,"duplicates":%d,"rejected":[]}' % (len(receipts), duplicates)
    answered(head + b"content-length: %d\r\nx-request-id: %s\r\n" % (len(body), request_id.encode("ascii")), body)
    note_request(parts.metrics, scope, request_id, status, time.perf_counter() - began, route=scope["path"])
