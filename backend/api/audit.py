"""The auditor of one request, which adds the caller, the address and the request id to each audit line.

An audit line must never contain a key, a ticket, a predicate or a value of a record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.requests import HTTPConnection
from starlette.types import Scope

from headwater.backend.api.access import rule_of
from headwater.backend.api.credentials import Principal
from headwater.backend.audit.log import AuditLog
from headwater.errors import UnavailableError
from headwater.graphql.audit import Act, Decision, decision_on

_NOTES = "audit_notes"  # key in a request's state
_MOST_SUBJECTS = 50
_LONGEST = 500


class RequestAuditor:
    def __init__(self, log: AuditLog, scope: Scope, principal: Principal | None) -> None:
        self._log = log
        self._known = principal is not None
        self._state: dict[str, Any] = scope.setdefault("state", {}) if scope["type"] == "http" else {}
        client = scope.get("client")
        self._caller = {
            "who": principal.name if principal else "nobody",
            **({"tenant": principal.tenant} if principal else {}),
            "from": client[0] if client else None,
            "request": scope.get("state", {}).get("request_id"),
        }

    async def write(self, act: Act, reason: str = "") -> None:
        """Write a line for an allowed operation.

        Raises:
            UnavailableError: the line cannot be written.
        """
        await self._log.write(self._entry(act, Decision.ALLOWED) | ({"reason": reason[:_LONGEST]} if reason else {}))

    def note(self, act: Act, decision: Decision, reason: str) -> None:
        """Write a line for a refused or failed operation without waiting. `notes_written` waits for it before the answer."""
        written = self._log.note(self._entry(act, decision) | {"reason": reason[:_LONGEST]}, known=self._known)
        if written is not None:
            self._state.setdefault(_NOTES, []).append(written)

    def _entry(self, act: Act, decision: Decision) -> dict[str, Any]:
        subjects = list(dict.fromkeys(act.subjects))
        entry: dict[str, Any] = {**self._caller, "what": act.operation, "on": [subject[:_LONGEST] for subject in subjects[:_MOST_SUBJECTS]]}
        if len(subjects) > _MOST_SUBJECTS:
            entry["more"] = len(subjects) - _MOST_SUBJECTS
        if act.records is not None:
            entry["records"] = act.records
        return entry | {"decision": str(decision)}


async def notes_written(scope: Scope) -> None:
    """Wait until the lines of a request are written, or have failed. A refused caller gets the refusal in both cases."""
    for written in scope.get("state", {}).pop(_NOTES, ()):
        with suppress(UnavailableError):
            await asyncio.wrap_future(written)


def note_refusal(log: AuditLog, scope: Scope, principal: Principal | None, reason: str, *, operation: str | None = None) -> None:
    rule = rule_of(scope["method"], scope["path"])
    what = operation or (rule.operation if rule else "unknown")
    RequestAuditor(log, scope, principal).note(Act(what), Decision.REFUSED, reason)


async def auditor(request: HTTPConnection) -> RequestAuditor:
    return RequestAuditor(request.app.state.service.audit, request.scope, request.state.principal)


async def logged(chunks: AsyncIterator[bytes], log: RequestAuditor, act: Act) -> AsyncIterator[bytes]:
    """Yield the chunks of an answer, and write the outcome to the audit log."""
    try:
        async for chunk in chunks:
            yield chunk
    except BaseException as error:
        log.note(act, decision_on(error), type(error).__name__)
        raise
    await log.write(act)
