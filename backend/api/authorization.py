"""The rights of callers to see records, in one place for all endpoints.

With the scope `read` alone, a caller sees the files and numbers of records, but not their values, and may not select by values. The scope
`records` allows that. Values of masked columns need the scope `unmasked`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

from headwater.backend.api.context import Service, graph_of
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.api.restricted_records import RestrictedQuestions
from headwater.backend.ingest.intake.declarations import Author
from headwater.backend.questions import CallersQuestions, TraceJobs
from headwater.backend.saved_views import CallersViews, Holder
from headwater.backend.tables import Database
from headwater.backend.triggers.callers import StoreOnDemand
from headwater.graph.access.restricted_store import RestrictedStore
from headwater.graph.access.scopes import Scope
from headwater.graph.prov import ProvFormat
from headwater.graph.trace.answer import RowPage, TraceAnswer, TraceRequest
from headwater.graph.trace.explain import ExplainAnswer, ExplainRequest
from headwater.graph.trace.instances import InstanceAnswer, InstanceRequest
from headwater.graph.trace.questions import RowsRequest
from headwater.graph.trace.rank import RankAnswer, RankRequest
from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff
from headwater.graphql.services import TraceJobView


def questions_of(parts: Service, who: Principal) -> PermittedQuestions:
    """Return the `Questions` service for a caller."""
    masks = () if Scope.UNMASKED in who.scopes else parts.masks.of(who.tenant)
    return PermittedQuestions(parts, parts.questions.of(who.holder, masks), who)


def tells_values(parts: Service, who: Principal) -> bool:
    """Whether a caller may see the values of every column. Answers whose values do not name their columns depend on this."""
    if Scope.RECORDS in who.within and who.within[Scope.RECORDS] != who.within.get(Scope.READ):
        return False  # the caller lacks the right in a part of the readable namespaces
    if Scope.RECORDS not in who.scopes:
        return False
    is_unmasked = Scope.UNMASKED in who.scopes and who.within.get(Scope.UNMASKED) in (None, who.within.get(Scope.READ))
    return is_unmasked or not parts.masks.of(who.tenant)


class PermittedQuestions:
    """The `Questions` of one caller. All methods raise `ForbiddenError` if the caller lacks a scope."""

    def __init__(self, parts: Service, questions: CallersQuestions, who: Principal) -> None:
        self._parts = parts
        self._questions = questions
        self._who = who

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        tells = request.where is not None or request.values or request.selected_values
        if tells:
            self._who.require(Scope.RECORDS)
        return await self._asked(*([Scope.RECORDS] if tells else [])).trace(tenant, request)

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        self._who.require(Scope.RECORDS)
        return await self._asked(Scope.RECORDS).rows(tenant, request)

    async def diff(self, tenant: str, request: DiffRequest) -> VersionDiff:
        self._who.require(Scope.RECORDS)
        return await self._asked(Scope.RECORDS).diff(tenant, request)

    async def explain(self, tenant: str, request: ExplainRequest) -> ExplainAnswer:
        """Explain wrong rows. A caller restricted to namespaces is refused, because conditions over all records are not reduced."""
        self._require_all_records()
        return await self._questions.explain(tenant, request)

    async def instances(self, tenant: str, request: InstanceRequest) -> InstanceAnswer:
        """Compare the lineage of rows. A caller restricted to namespaces is refused, because the counts are not reduced."""
        self._require_all_records()
        return await self._questions.instances(tenant, request)

    async def rank(self, tenant: str, request: RankRequest) -> RankAnswer:
        """Rank the inputs of a value. The caller must see every column, because the value without a record shows what the record adds."""
        self._require_all_records()
        if not tells_values(self._parts, self._who):
            raise ForbiddenError("Columns are masked, and a ranking could show their values.", hint="It needs the scope `unmasked`, too.")
        return await self._questions.rank(tenant, request)

    def _require_all_records(self) -> None:
        for scope in (Scope.READ, Scope.RECORDS):
            self._who.require(scope)
            self._who.require_whole(scope)

    def _asked(self, *scopes: Scope) -> CallersQuestions | RestrictedQuestions:
        """Return the `Questions` to ask, limited to the namespaces in which the caller has `read` and some other scopes."""
        seen = graph_of(self._parts, self._who, *scopes)
        return RestrictedQuestions(self._questions, seen) if isinstance(seen, RestrictedStore) else self._questions

    def export(
        self, tenant: str, request: TraceRequest, notation: ProvFormat, *, counted: Callable[[int], None] = lambda _: None
    ) -> AsyncGenerator[bytes, None]:
        self._who.require_whole(Scope.EXPORT)
        if request.where is not None or request.rows:
            self._who.require(Scope.RECORDS)
            self._who.require_whole(Scope.RECORDS)
        return self._questions.export(tenant, request, notation, counted=counted)


def _require_trace(who: Principal, request: TraceRequest) -> None:
    """Check that a caller may run a trace. A trace may enter any namespace, so the caller needs `read` in all of them."""
    who.require_whole(Scope.READ)
    if request.where is not None or request.values or request.selected_values:
        who.require(Scope.RECORDS)
        who.require_whole(Scope.RECORDS)


class PermittedTraceJobs:
    """The `TraceJobService` of one caller, limited to the caller's own jobs."""

    def __init__(self, jobs: TraceJobs, parts: Service, who: Principal) -> None:
        self._jobs = jobs
        self._who = who
        self._masks = () if Scope.UNMASKED in who.scopes else tuple(parts.masks.of(who.tenant))
        self._questions = parts.questions.of(who.holder, self._masks)

    async def start(self, tenant: str, request: TraceRequest) -> TraceJobView:
        self._require(request)
        return self._jobs.start(self._who.holder, tenant, request, self._masks)

    async def get(self, tenant: str, identifier: str) -> TraceJobView | None:
        """Return a job of the caller. The caller may have lost rights since the start of the job, so they are checked again."""
        found = self._jobs.get(self._who.holder, tenant, identifier)
        if found is not None:
            self._require(found.request)
            if found.answer is not None and self._masks:
                if tuple(found.masks) != self._masks:
                    raise ForbiddenError("Other columns are masked now than when this trace was started.", hint="Start it again.")
                if any(mask.tag is not None for mask in self._masks):  # columns may have got new tags since
                    return replace(found, answer=await self._questions.masked_again(tenant, found.request, found.answer))
        return found

    async def cancel(self, tenant: str, identifier: str) -> TraceJobView | None:
        """Cancel a job of the caller. If the job has already ended, it is returned without its answer."""
        found = await self._jobs.cancel(self._who.holder, tenant, identifier)
        return replace(found, answer=None) if found is not None else None

    def _require(self, request: TraceRequest) -> None:
        _require_trace(self._who, request)


def author_of(who: Principal) -> Author:
    """Return the author of the declarations of a caller. Only the owner of the home may declare in another person's name."""
    if who.is_person:
        return Author(who.holder)
    if who.key:
        return Author(f"key {who.name.partition(':')[2].rpartition(':')[0]}", names_others=True)
    return Author("")


def views_of(stores: StoreOnDemand, who: Principal) -> CallersViews:
    """Return the saved views with the rights of a caller."""

    def tables(create: bool) -> Database | None:
        store = stores.get(create=create)
        return store.database if store is not None else None

    name = author_of(who).signature("")
    holder = Holder(who.holder, name, sees_all=not who.is_restricted(Scope.READ), is_admin=Scope.ADMIN in who.scopes)
    return CallersViews(tables, holder, who.require)
