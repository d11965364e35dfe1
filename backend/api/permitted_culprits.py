"""Searches for culprits, with the rights of one caller. They need the rights of a replay that selects records by values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headwater.backend.api.authorization import tells_values
from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.questions.masked_answers import SHOWN
from headwater.backend.rerun.culprit_searches import Culprit, CulpritSearches, CulpritSearchJob
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest
from headwater.graph.access.scopes import Scope


class PermittedCulprits:
    """The `CulpritService` of one caller. Searches run programs of the home, which belong to the default tenant only."""

    def __init__(self, searches: CulpritSearches, parts: Service, who: Principal) -> None:
        self._searches = searches
        self._who = who
        self._tells_values = tells_values(parts, who)

    async def start_why(self, tenant: str, run: str | None, seconds: float) -> str:
        self._check_tenant(tenant)
        return await self._searches.start_why(tenant, run, seconds)

    async def start_blame(self, tenant: str, dataset: str, assertion: str | None, where: str | None, seconds: float) -> str:
        """Queue a search. Its answer shows whether a predicate holds for values, so the caller needs the right to see every column."""
        self._check_values(tenant)
        return await self._searches.start_blame(tenant, BlameRequest(dataset=dataset, assertion=assertion, where=where), seconds)

    async def start_witness(self, tenant: str, dataset: str, where: str, columns: Sequence[str], seconds: float) -> str:
        """Queue a search. Its answer shows which records give certain values, so the caller needs the right to see every column."""
        self._check_values(tenant)
        return await self._searches.start_blame(tenant, BlameRequest(dataset=dataset, where=where, like=columns), seconds)

    async def start_compare(self, tenant: str, first: str, second: str, seconds: float, *, replays: bool) -> str:
        """Queue a comparison. Its answer shows rows, so the caller needs the right to see every column."""
        self._check_values(tenant)
        return await self._searches.start_compare(tenant, first, second, seconds, replays=replays)

    async def start_clean(
        self, tenant: str, dataset: str, quality: str, below: float | None, count: int, seconds: float | None, *, dry_run: bool
    ) -> str:
        """Queue a cleaning. Its answer shows values of an expression, so the caller needs the right to see every column."""
        self._check_values(tenant)
        from headwater.backend.rerun.cleaning.clean import CleanRequest  # imported late, because it loads DuckDB

        request = CleanRequest(dataset=dataset, quality=quality, below=below, count=count)
        return await self._searches.start_clean(tenant, request, seconds, by=self._who.name, dry_run=dry_run)

    async def get(self, tenant: str, identifier: str) -> CulpritSearchJob | None:
        found = await self._searches.get(tenant, identifier)
        return self._permitted(found) if found else None

    async def list(self, tenant: str, first: int) -> Sequence[CulpritSearchJob]:
        return [self._permitted(job) for job in await self._searches.list(tenant, first)]

    async def cancel(self, tenant: str, identifier: str) -> CulpritSearchJob:
        self._check_tenant(tenant)
        return self._permitted(await self._searches.cancel(tenant, identifier))

    def _check_tenant(self, tenant: str) -> None:
        if tenant != DEFAULT_TENANT:
            raise ForbiddenError(f"The tenant {tenant} has no programs on this service.", hint="Searches run programs of its own home.")

    def _check_values(self, tenant: str) -> None:
        self._check_tenant(tenant)
        self._who.require(Scope.RECORDS)
        self._who.require_whole(Scope.RECORDS)
        if not self._tells_values:
            raise ForbiddenError("Columns are masked, and a search could show their values.", hint="It needs the scope `unmasked`, too.")

    def _permitted(self, job: CulpritSearchJob) -> CulpritSearchJob:
        """Return a search with the parts that the caller may see. Values of records are masked, and messages may contain values."""
        if self._tells_values:
            return job
        return replace(
            job,
            error=job.error.partition(":")[0] if job.error else None,
            problem=job.problem.partition(":")[0] if job.problem else None,
            notes=[],
            doing=None,
            comparison=None,
            cleaning=None,
            records=[_without_values(record) for record in job.records],
            origins=[_without_values(record) for record in job.origins],
        )


def _without_values(record: Culprit) -> Culprit:
    return replace(record, values=dict.fromkeys(record.values, SHOWN))
