"""What of records a caller is told: one place for all questions about them, whichever endpoint they come by.

Whoever has the scope `read` alone learns which records of which files a record came from, but not what they hold, nor may he select by it:
that is the scope `records`. Values of masked columns are for the scope `unmasked`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence

from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.questions import CallersQuestions
from headwater.backend.settings import DEFAULT_TENANT
from headwater.graph.prov import ProvFormat
from headwater.graph.trace.answer import TraceAnswer, TraceRequest
from headwater.graph.trace.preview import RowPage
from headwater.graph.trace.questions import RowsRequest
from headwater.graphql.access import Scope
from headwater.graphql.replays import ReplayService, ReplayView


def questions_of(parts: Service, who: Principal) -> PermittedQuestions:
    """The questions that a caller may ask."""
    masks = () if Scope.UNMASKED in who.scopes else parts.masks.of(who.tenant)
    return PermittedQuestions(parts.questions.of(who.holder, masks), who)


def tells_values(parts: Service, who: Principal) -> bool:
    """Whether a caller may know what any column holds: for what tells values and does not say of which columns."""
    return Scope.RECORDS in who.scopes and (Scope.UNMASKED in who.scopes or not parts.masks.of(who.tenant))


class PermittedQuestions:
    """The `Questions` of one caller. All methods raise `ForbiddenError` where they need a scope that the caller has not."""

    def __init__(self, questions: CallersQuestions, who: Principal) -> None:
        self._questions = questions
        self._who = who

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """See `Questions`."""
        if request.where is not None or request.values or request.selected_values:
            self._who.require(Scope.RECORDS)
        return await self._questions.trace(tenant, request)

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """See `Questions`."""
        self._who.require(Scope.RECORDS)
        return await self._questions.rows(tenant, request)

    def export(
        self, tenant: str, request: TraceRequest, notation: ProvFormat, *, counted: Callable[[int], None] = lambda _: None
    ) -> AsyncGenerator[bytes, None]:
        """See `CallersQuestions`."""
        if request.where is not None:
            self._who.require(Scope.RECORDS)
        return self._questions.export(tenant, request, notation, counted=counted)


class PermittedReplays:
    """The `ReplayService` of one caller: what a replay runs are programs of the home, so of the default tenant alone."""

    def __init__(self, replays: ReplayService, parts: Service, who: Principal) -> None:
        self._replays = replays
        self._who = who
        self._is_masked = bool(parts.masks.of(who.tenant))

    async def start(self, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> str:
        """See `ReplayService`."""
        if tenant != DEFAULT_TENANT:
            raise ForbiddenError(f"The tenant {tenant} has no programs on this service.", hint="Replays run programs of its own home.")
        if where is not None:
            self._require_values()
        return await self._replays.start(tenant, dataset, where, rows, output)

    async def get(self, tenant: str, identifier: str) -> ReplayView | None:
        """See `ReplayService`."""
        found = await self._replays.get(tenant, identifier)
        self._require_shown([found] if found else [])
        return found

    async def list(self, tenant: str, first: int) -> Sequence[ReplayView]:
        """See `ReplayService`."""
        found = await self._replays.list(tenant, first)
        self._require_shown(found)
        return found

    def _require_shown(self, replays: Sequence[ReplayView]) -> None:
        if any(replay.differences for replay in replays):
            self._require_values()

    def _require_values(self) -> None:
        """What a replay changed are whole rows: they are for those who may see every column."""
        self._who.require(Scope.RECORDS)
        if self._is_masked:
            self._who.require(Scope.UNMASKED)
