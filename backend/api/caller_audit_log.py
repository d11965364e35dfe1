"""The audit log for one caller. A named key sees its own tenant, the home's key sees all tenants."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import PurePath
from threading import Lock
from typing import TYPE_CHECKING

from headwater.backend.audit.lines import Wanted
from headwater.backend.audit.reader import AuditLines
from headwater.backend.audit.readers import list_readers
from headwater.errors import UnavailableError
from headwater.graphql.audit_log import (
    AuditBreak,
    AuditChain,
    AuditEntry,
    AuditPage,
    AuditQuestion,
    AuditVerification,
    DatasetReader,
    DatasetReaders,
)

if TYPE_CHECKING:
    from headwater.backend.api.credentials import Principal  # loads the web framework, which commands do without

_verifying = Lock()  # one verification at a time, because it takes seconds of processor time


def tenant_of(who: Principal) -> str | None:
    """Return the tenant whose lines the caller may see. None means all tenants."""
    return who.tenant if who.key else None


class PermittedAudit:
    """`tenant` is the tenant whose lines the caller may see. None means all tenants. With `quickly`, the work is limited."""

    def __init__(self, lines: AuditLines, tenant: str | None, *, quickly: bool = True) -> None:
        self._lines = lines
        self._tenant = tenant
        self._quickly = quickly

    async def readers(self, dataset: str, since: datetime, until: datetime | None) -> DatasetReaders:
        found = await asyncio.to_thread(list_readers, self._lines, self._tenant, dataset, since, until, quickly=self._quickly)
        return DatasetReaders(
            readers=[
                DatasetReader(
                    who=one.who, operations=sorted(one.operations), answers=one.answers, records=one.records, first=one.first, last=one.last
                )
                for one in found.readers
            ],
            uncertain=found.uncertain,
            damaged=found.damaged if self._tenant is None else 0,
            searched_back_to=found.left_at.isoformat() if found.left_at else None,
        )

    async def entries(self, asked: AuditQuestion) -> AuditPage:
        wanted = Wanted(asked.by, asked.dataset, asked.decision, asked.since, asked.until, tenant=self._tenant)
        found = await asyncio.to_thread(self._lines.latest, wanted, asked.last, quickly=True)
        return AuditPage(
            entries=[AuditEntry.of(entry) for entry in reversed(found.entries)],
            damaged=found.damaged if self._tenant is None else 0,
            searched_back_to=found.left_at.isoformat() if found.left_at else None,
        )

    async def verify(self) -> AuditVerification:
        return await asyncio.to_thread(self._verify)

    def _verify(self) -> AuditVerification:
        if not _verifying.acquire(blocking=False):
            raise UnavailableError("The audit log is being verified just now.", hint="Try again in a moment.")
        try:
            found = self._lines.verify(quickly=True)
        finally:
            _verifying.release()
        is_owner = self._tenant is None
        return AuditVerification(
            intact=found.broken == 0,
            since=found.first,
            whole=found.whole,
            lines=found.lines if is_owner else None,
            head=found.head if is_owner else None,
            breaks=[AuditBreak(file=PurePath(one.file).name, line=one.line, reason=one.reason) for one in found.breaks] if is_owner else [],
            chains=[
                AuditChain(chain=one.chain, host=one.host, lines=one.lines, head=one.head, last=one.last, ended=one.ended)
                for one in found.chains
            ]
            if is_owner
            else [],
        )
