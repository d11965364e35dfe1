"""The rights of callers to see records, in one place for all endpoints.

With the scope `read` alone, a caller sees the files and numbers of records, but not their values, and may not select by values. The scope
`records` allows that. Values of masked columns need the scope `unmasked`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from headwater.backend.access.masks import EVERYTHING
from headwater.backend.api.context import Service, graph_of
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.api.restricted_records import RestrictedQuestions
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.ingest.intake.declarations import Author, CheckedDeclaration, DeclarationIntake, check_form
from headwater.backend.policies import Policies
from headwater.backend.questions import CallersQuestions, TraceJobs
from headwater.backend.rerun.replay import ReplayRequest, Replays
from headwater.backend.rerun.replay.model import FAULT, Limits
from headwater.backend.rerun.replay.stops import Answer
from headwater.backend.saved_views import CallersViews, Holder
from headwater.backend.tables import Database
from headwater.backend.triggers.callers import StoreOnDemand
from headwater.errors import NotFoundError
from headwater.graph.access.restricted_store import RestrictedStore
from headwater.graph.access.scopes import Scope
from headwater.graph.access.visibility import NAMED, kind_named, namespace_of
from headwater.graph.model.declaration import Aspect
from headwater.graph.prov import ProvFormat
from headwater.graph.trace.answer import RowPage, TraceAnswer, TraceRequest
from headwater.graph.trace.explain import ExplainAnswer, ExplainRequest
from headwater.graph.trace.instances import InstanceAnswer, InstanceRequest
from headwater.graph.trace.questions import RowsRequest
from headwater.graph.trace.rank import RankAnswer, RankRequest
from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff
from headwater.graphql.services import (
    CommitView,
    DifferenceView,
    DryRunView,
    RecaptureService,
    RecaptureView,
    RegistrationView,
    ReplayOrder,
    ReplayView,
    StepView,
    StopAnswer,
    StopView,
    TraceJobView,
)
from headwater.spark_listener.invocation import script_sha256

_SELECTED_BY = {Aspect.TAG: "tag", Aspect.OWNER: "owner", Aspect.STEWARD: "owner", Aspect.TERM: "term"}  # parts of selectors
_ASPECTS = set(Aspect)


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


class PermittedDeclarations:
    """The `DeclarationService` of one caller. Only callers who may see a masked column may remove the tag that masks it.

    Only callers who may declare everywhere may remove what a policy selects by.
    """

    def __init__(self, declarations: DeclarationIntake, parts: Service, who: Principal) -> None:
        self._declarations = declarations
        self._masks = parts.masks
        self._parts = parts
        self._who = who

    async def declare(self, tenant: str, document: Mapping[str, Any], checked: CheckedDeclaration | None = None) -> int:
        """Accept a declaration (see `DeclarationIntake`). `checked` was made with `author_of`.

        A caller restricted to namespaces may only declare facts about them, because the intake does not know the caller.
        """
        if self._who.is_restricted(Scope.DECLARE) and (where := _of_no_namespace(document)):
            raise ForbiddenError(f"{where} is of no namespace, and this key declares in some alone.", hint="Leave it out.")
        removed = _removed(document)
        if self._who.is_restricted(Scope.DECLARE) and removed:
            await self._require_unselected(tenant, removed)
        rules = self._masks.of(tenant)
        for identifier, tag in ((identifier, value) for identifier, aspect, value in removed if aspect is Aspect.TAG):
            if EVERYTHING in rules or any(rule.tag is not None and _withdraws(tag, rule.tag) for rule in rules):
                self._require_unmasked(identifier)
        return await self._declarations.declare(tenant, document, checked or check_form(document, author_of(self._who)))

    async def _require_unselected(self, tenant: str, removed: Sequence[tuple[str, Aspect, str]]) -> None:
        """Check that no policy selects nodes by what a caller removes."""
        policies = Policies(self._parts.settings, self._parts.workspace.graph)
        try:
            for _, aspect, value in removed:
                part = _SELECTED_BY.get(aspect)
                if part is not None and await policies.selects_by(tenant, part, value):
                    raise ForbiddenError(
                        f"A policy selects by the {part} {value}, and {self._who.name} declares in some namespaces only.",
                        hint="Ask for a key that may declare everywhere: headwater admin keys.",
                    )
        finally:
            await policies.close()

    def _require_unmasked(self, identifier: str) -> None:
        """Check that the caller may see masked columns in the namespace of a node."""
        self._who.require(Scope.UNMASKED)
        namespaces = [self._who.within[scope] for scope in (Scope.UNMASKED, Scope.RECORDS, Scope.READ) if scope in self._who.within]
        if not all(permitted.has(namespace_of(identifier) or "") for permitted in namespaces):
            raise ForbiddenError(
                f"{self._who.name} may see masked columns in other namespaces only, so it may not remove a tag that masks here.",
                hint="Ask who runs the service for a key that may: headwater admin keys.",
            )


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


def _of_no_namespace(document: Mapping[str, Any]) -> str | None:
    """Return the path of the first statement about something without a namespace."""
    for part in ("types", "instances"):
        if document.get(part):
            return f"$.{part}"
    stated = document.get("descriptions")
    for index, entry in enumerate(stated if isinstance(stated, list) else ()):
        if isinstance(entry, Mapping) and kind_named(str(entry.get("id"))) not in NAMED:
            return f"$.descriptions[{index}]"
    return None


def _removed(document: Mapping[str, Any]) -> list[tuple[str, Aspect, str]]:
    """Return what a document removes of descriptions, each with the node and the aspect."""
    stated = document.get("descriptions")
    entries = [entry for entry in stated if isinstance(entry, Mapping)] if isinstance(stated, list) else []
    removed = [entry for entry in entries if entry.get("removed") is True and entry.get("aspect") in _ASPECTS]
    return [(str(entry.get("id")), Aspect(entry["aspect"]), str(entry.get("value"))) for entry in removed]


def _withdraws(removed: str, tag: str) -> bool:
    """Return whether the removal of a tag also removes the tag of a mask. The removal of `level` removes `level=high`."""
    return removed.casefold() in (tag.casefold(), tag.partition("=")[0].casefold())


@dataclass(frozen=True, slots=True)
class _ReplayAnswer:
    """A `ReplayView` with the fields that the caller may see."""

    id: str
    state: str
    kind: str
    output: str
    started_at: str
    started_by: str | None
    ended_at: str | None
    exclude: Mapping[str, Sequence[int]]
    keep: Mapping[str, Sequence[int]]
    edits: Mapping[str, Mapping[str, Mapping[str, str | None]]]
    shadow: str
    error: str | None
    steps: Sequence[StepView]
    differences: Sequence[DifferenceView]
    differing: int
    notes: Sequence[str]
    commit: CommitView | None
    stop: StopView | None


class PermittedRegistrations:
    """The `RegistrationService` of one caller. Programs belong to the home, and so to the default tenant only."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def programs(self, tenant: str) -> Sequence[RegistrationView]:
        """Return the registered programs. Of a command, only the name of the script is shown."""
        if tenant != DEFAULT_TENANT:
            return []
        return await asyncio.to_thread(self._list)

    def _list(self) -> list[RegistrationView]:
        with closing(self._home.registry) as registry:
            return [
                RegistrationView(
                    program.id, program.namespace, program.job, script=Path(program.script).name, sha256=program.script_sha256,
                    by_operator=program.operator, is_unchanged=script_sha256(program.script) == program.script_sha256, at=at,
                )
                for program, at in registry.programs()
            ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _RecaptureAnswer:
    """A `RecaptureView` with the fields that the caller may see."""

    id: str
    dataset: str
    state: str
    started_at: str
    ended_at: str | None
    error: str | None
    outputs: Sequence[str]
    files: int
    left: Mapping[str, str]


class PermittedRecaptures:
    """The `RecaptureService` of one caller. Recaptures run programs of the home, which belong to the default tenant only."""

    def __init__(self, recaptures: RecaptureService, parts: Service, who: Principal) -> None:
        self._recaptures = recaptures
        self._who = who
        self._tells_values = tells_values(parts, who)

    async def start(self, tenant: str, dataset: str) -> str:
        if tenant != DEFAULT_TENANT:
            raise ForbiddenError(f"The tenant {tenant} has no programs on this service.", hint="Recaptures run programs of its own home.")
        return await self._recaptures.start(tenant, dataset)

    async def get(self, tenant: str, identifier: str) -> RecaptureView | None:
        found = await self._recaptures.get(tenant, identifier)
        return self._permitted(found) if found else None

    async def list(self, tenant: str, first: int) -> Sequence[RecaptureView]:
        return [self._permitted(view) for view in await self._recaptures.list(tenant, first)]

    async def possible(self, tenant: str, datasets: Iterable[str]) -> Sequence[str]:
        """Return the datasets for which a recapture may succeed. Callers without the right to run programs get none."""
        if tenant != DEFAULT_TENANT or Scope.REPLAY not in self._who.scopes or self._who.is_restricted(Scope.READ):
            return []
        return await self._recaptures.possible(tenant, datasets)

    def _permitted(self, view: RecaptureView) -> RecaptureView:
        if self._tells_values or view.error is None:
            return view
        return _RecaptureAnswer(
            id=view.id, dataset=view.dataset, state=view.state, started_at=view.started_at, ended_at=view.ended_at,
            error=without_values(view.error), outputs=view.outputs, files=view.files, left=view.left,
        )  # fmt: skip


def without_values(error: str) -> str:
    """Shorten the reason of a failure. Output of programs and details of internal faults may contain values."""
    first = error.partition("\n")[0].partition(FAULT)
    return "A fault of ours." if first[1] else first[0].rstrip(": ")


class PermittedReplays:
    """The `ReplayService` of one caller. Replays run programs of the home, which belong to the default tenant only."""

    def __init__(self, replays: Replays, parts: Service, who: Principal) -> None:
        self._replays = replays
        self._who = who
        self._is_masked = bool(parts.masks.of(who.tenant))
        self._tells_values = tells_values(parts, who)

    async def start(self, tenant: str, order: ReplayOrder) -> str:
        request = self._request(tenant, order)
        limits = Limits(seconds=order.seconds, disk_bytes=order.disk_bytes)
        return await self._replays.start_kind(tenant, kind=order.kind, request=request, limits=limits, by=self._who.name)

    async def dry_run(self, tenant: str, order: ReplayOrder) -> DryRunView:
        return await self._replays.dry_run(tenant, kind=order.kind, request=self._request(tenant, order))

    async def answer(self, tenant: str, identifier: str, answer: StopAnswer) -> ReplayView:
        """Answer a stop. The answer shows records, so the caller needs the right to see values."""
        self._require_values()
        one = Answer.model_validate(asdict(answer))
        return self._permitted(await self._replays.answer(tenant, identifier, one))

    async def cancel(self, tenant: str, identifier: str) -> ReplayView:
        return self._permitted(await self._replays.cancel(tenant, identifier))

    async def approve(self, tenant: str, identifier: str) -> ReplayView:
        await self._replays.approve(tenant, identifier, by=self._who.name)
        return await self._known(tenant, identifier)

    async def commit(self, tenant: str, identifier: str, keep_days: float) -> ReplayView:
        await self._replays.commit(tenant, identifier, keep_days=keep_days, by=self._who.name)
        return await self._known(tenant, identifier)

    async def undo(self, tenant: str, identifier: str) -> ReplayView:
        await self._replays.undo(tenant, identifier)
        return await self._known(tenant, identifier)

    async def _known(self, tenant: str, identifier: str) -> ReplayView:
        found = await self._replays.get(tenant, identifier)
        if found is None:
            raise NotFoundError(f"There is no replay {identifier}.")
        return self._permitted(found)

    def _request(self, tenant: str, order: ReplayOrder) -> ReplayRequest:
        """Convert an order to a request. Edits need the right to see values, because an error may show a column."""
        self._check_start(tenant, needs_values=order.where is not None or bool(order.edits))
        return ReplayRequest(output=order.output, dataset=order.dataset, where=order.where, rows=order.rows, set_values=order.edits)

    def _check_start(self, tenant: str, *, needs_values: bool) -> None:
        if tenant != DEFAULT_TENANT:
            raise ForbiddenError(f"The tenant {tenant} has no programs on this service.", hint="Replays run programs of its own home.")
        if needs_values:
            self._require_values()

    async def get(self, tenant: str, identifier: str) -> ReplayView | None:
        found = await self._replays.get(tenant, identifier)
        self._require_shown([found] if found else [])
        return self._permitted(found) if found else None

    async def list(self, tenant: str, first: int) -> Sequence[ReplayView]:
        found = await self._replays.list(tenant, first)
        self._require_shown(found)
        return [self._permitted(replay) for replay in found]

    async def remove(self, tenant: str, identifier: str) -> ReplayView | None:
        found = await self._replays.remove(tenant, identifier)
        return self._permitted(found) if found else None

    def _permitted(self, replay: ReplayView) -> ReplayView:
        """Return a replay with the parts that the caller may see. Errors may contain values."""
        if self._tells_values or replay.error is None:
            return replay
        return _ReplayAnswer(
            id=replay.id, state=replay.state, kind=replay.kind, output=replay.output, started_at=replay.started_at,
            started_by=replay.started_by, ended_at=replay.ended_at, exclude=replay.exclude, keep=replay.keep, edits=replay.edits,
            shadow=replay.shadow, error=without_values(replay.error), steps=replay.steps,
            differences=replay.differences, differing=replay.differing, notes=replay.notes, commit=replay.commit, stop=replay.stop,
        )  # fmt: skip

    def _require_shown(self, replays: Sequence[ReplayView]) -> None:
        if any(replay.differences or replay.stop for replay in replays):
            self._require_values()

    def _require_values(self) -> None:
        """Check for the right to see every column, because the differences of a replay are whole rows."""
        self._who.require(Scope.RECORDS)
        self._who.require_whole(Scope.RECORDS)
        if self._is_masked:
            self._who.require(Scope.UNMASKED)
