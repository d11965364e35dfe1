"""GraphQL queries for administrators of a tenant, and for readers of its audit log."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from datetime import UTC, datetime

import strawberry
from strawberry import UNSET

from headwater.errors import InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graphql.administration import Administration
from headwater.graphql.audit import Decision
from headwater.graphql.audit_log import AuditPage, AuditQuestion, AuditVerification, DatasetReaders
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.root_fields import query
from headwater.graphql.services import available
from headwater.graphql.types import Info

_AUDIT_HINT = "Ask a running service, or use: headwater admin audit"
_LONGEST = 1_000  # limit of characters in a searched text

strawberry.enum(Decision, description="What became of a request.")


@strawberry.type
class AdminQuery:
    @query("Keys, roles, tenants and grants. Needs the scope `admin`.", scope=Scope.ADMIN, costly=False)
    async def admin(self, info: Info) -> Administration:
        return Administration(service=available(info.context.services.administration, "Keys", "Use: headwater admin keys"))

    @query("The latest entries of the audit log that fit, latest first. Needs the scope `audit`.", scope=Scope.AUDIT, costly=True)
    async def audit(
        self,
        info: Info,
        by: str | None = UNSET,
        dataset: str | None = UNSET,
        decision: Decision | None = UNSET,
        since: str | None = UNSET,
        until: str | None = UNSET,
        last: int = 100,
    ) -> AuditPage:
        """Return the latest matching lines. `since` and `until` are instants (ISO 8601; UTC if they name no zone)."""
        asked = AuditQuestion(
            by=_search_text(by, "by"),
            dataset=_search_text(dataset, "dataset"),
            decision=str(decision) if decision else None,
            since=_instant(since, "since"),
            until=_instant(until, "until"),
            last=bounded(last, "last", low=1, high=MAX_PAGE),
        )
        async with info.context.audited("audit.read", *filter(None, (asked.by, asked.dataset))):
            return await available(info.context.services.audit_log, "Audit logs", _AUDIT_HINT).entries(asked)

    @query(
        "The callers who got records of a dataset, from an instant on, by the audit log. Needs the scope `audit`.",
        scope=Scope.AUDIT,
        costly=True,
    )
    async def dataset_readers(self, info: Info, dataset: strawberry.ID, since: str, until: str | None = UNSET) -> DatasetReaders:
        """Return the readers. `since` and `until` are instants (ISO 8601; UTC if they name no zone)."""
        log = available(info.context.services.audit_log, "Audit logs", _AUDIT_HINT)
        begin = _instant(since, "since")
        if begin is None:
            raise InvalidQueryError("The window has no beginning.", field="since", hint="Write it as 2026-01-31T12:00:00Z.")
        async with info.context.audited("audit.read", dataset):
            return await log.readers(dataset, begin, _instant(until, "until"))

    @query("Whether the lines of the audit log are as they were written. Needs the scope `audit`.", scope=Scope.AUDIT, costly=True)
    async def audit_verification(self, info: Info) -> AuditVerification:
        async with info.context.audited("audit.verify"):
            return await available(info.context.services.audit_log, "Audit logs", _AUDIT_HINT).verify()


def _search_text(text: str | None, field: str) -> str | None:
    if text and len(text) > _LONGEST:
        raise InvalidQueryError(f"{field} has {len(text)} characters, {_LONGEST} are the most.", field=field, hint="Give a part of a name.")
    return text or None


def _instant(text: str | None, field: str) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidQueryError(f"{text[:80]!r} is no instant.", field=field, hint="Write it as 2026-01-31T12:00:00Z.") from None
