"""Replays, recaptures and registered programs, as far as a caller may see and start them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from headwater.backend.api.authorization import tells_values
from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.rerun.replay import ReplayRequest, Replays
from headwater.backend.rerun.replay.model import FAULT, Limits
from headwater.backend.rerun.replay.stops import Answer
from headwater.errors import NotFoundError
from headwater.graph.access.scopes import Scope
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
)
from headwater.spark_listener.invocation import script_sha256


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
