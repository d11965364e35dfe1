"""Replays in the schema: queries, and mutations that start, end, commit and undo them."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import strawberry
from strawberry import UNSET

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.access.scopes import Scope
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.record_types import RowRef, references
from headwater.graphql.replays import Replay, ReplayDryRun, ReplayEdit, ReplayKind, StopAction
from headwater.graphql.root_fields import mutation, query
from headwater.graphql.row_numbers import RowNumber
from headwater.graphql.services import ReplayOrder, ReplayService, ReplayView, StopAnswer, available
from headwater.graphql.types import Info

_SELECTION = (
    "`dataset` is the source whose records are left out (EXCLUSIVE), edited (WHAT_IF) or have changed (REFRESH). `where` or `rows` select "
    "its records; rows of `output` for SELECTIVE."
)
_KEEP_DAYS = 7.0
_MOST_KEEP_DAYS = 3650.0


@strawberry.input(description="Limits of a replay: the running time of its programs in seconds, and the bytes that they write.")
class ReplayLimits:
    """The limits of a replay. None means no limit."""

    seconds: float | None = None
    disk_bytes: float | None = None


@strawberry.type
class ReplayQuery:
    @query("The current state of a replay; null if there is none with this id.", scope=Scope.READ, costly=False)
    async def replay(self, info: Info, id: strawberry.ID) -> Replay | None:
        found = await _replays(info).get(info.context.tenant, id)
        await audit_differences(info, [found] if found else [])
        return Replay.of(found) if found else None

    @query("The latest replays, newest first.", scope=Scope.READ, costly=False)
    async def replays(self, info: Info, first: int = 20) -> list[Replay]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        found = await _replays(info).list(info.context.tenant, size)
        await audit_differences(info, found)
        return [Replay.of(view) for view in found]

    @query(f"What a replay would run: nothing runs and nothing is kept. {_SELECTION}", scope=Scope.REPLAY, costly=True)
    async def replay_dry_run(
        self,
        info: Info,
        dataset: str | None = UNSET,
        where: str | None = UNSET,
        rows: list[RowRef] | None = UNSET,
        output: str | None = UNSET,
        kind: ReplayKind = ReplayKind.EXCLUSIVE,
        edits: list[ReplayEdit] | None = UNSET,
    ) -> ReplayDryRun:
        order = _order(dataset, where, rows, output, kind, edits)
        async with info.context.audited("replay.dryRun", *filter(None, (dataset, output))):
            return ReplayDryRun.of(await _replays(info).dry_run(info.context.tenant, order))


@strawberry.type
class ReplayMutation:
    @mutation(f"Run a pipeline again into a shadow folder. {_SELECTION}", scope=Scope.REPLAY, costly=True)
    async def start_replay(
        self,
        info: Info,
        dataset: str | None = UNSET,
        where: str | None = UNSET,
        rows: list[RowRef] | None = UNSET,
        output: str | None = UNSET,
        kind: ReplayKind = ReplayKind.EXCLUSIVE,
        edits: list[ReplayEdit] | None = UNSET,
        limits: ReplayLimits | None = UNSET,
    ) -> Replay:
        order = _with_limits(_order(dataset, where, rows, output, kind, edits), limits or None)
        replays = _replays(info)
        async with info.context.audited("replay.start", *filter(None, (dataset, output)), changes=True):
            identifier = await replays.start(info.context.tenant, order)
        started = await replays.get(info.context.tenant, identifier)
        if started is None:
            raise NotFoundError(f"The replay {identifier} was started and cannot be found.", hint="Look at the service's log.")
        return Replay.of(started)

    @mutation(
        "Answer the stop at which a replay of the kind STEP waits. DROP and EDIT name a record by `file` and `row`, from 0.",
        scope=Scope.REPLAY,
        costly=False,
    )
    async def answer_replay(
        self,
        info: Info,
        id: strawberry.ID,
        action: StopAction,
        file: str | None = UNSET,
        row: RowNumber | None = UNSET,
        edits: list[ReplayEdit] | None = UNSET,
    ) -> Replay:
        values = {edit.column: edit.value for edit in edits or ()}
        answer = StopAnswer(action=action.value, file=file or "", row=row if isinstance(row, int) else -1, values=values)
        async with info.context.audited("replay.answer", id, changes=True):
            return _without_rows(await _replays(info).answer(info.context.tenant, id, answer))

    @mutation("Let a waiting or running replay end. Its state is FAILED when its program has ended.", scope=Scope.REPLAY, costly=False)
    async def cancel_replay(self, info: Info, id: strawberry.ID) -> Replay:
        async with info.context.audited("replay.cancel", id, changes=True):
            return _without_rows(await _replays(info).cancel(info.context.tenant, id))

    @mutation("Approve the commit of a complete replay, as a second person.", scope=Scope.REPLAY, costly=False)
    async def approve_replay(self, info: Info, id: strawberry.ID) -> Replay:
        async with info.context.audited("replay.approve", id, changes=True):
            return _without_rows(await _replays(info).approve(info.context.tenant, id))

    @mutation(
        "Put the changed outputs of a complete replay in the place of the real data. The old data is kept for `keepDays`.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def commit_replay(self, info: Info, id: strawberry.ID, keep_days: float = _KEEP_DAYS) -> Replay:
        if not 0 <= keep_days <= _MOST_KEEP_DAYS:
            raise InvalidQueryError(f"keepDays is {keep_days:g}.", field="keepDays", hint=f"It is 0 to {_MOST_KEEP_DAYS:g}.")
        async with info.context.audited("replay.commit", id, changes=True):
            return _without_rows(await _replays(info).commit(info.context.tenant, id, keep_days))

    @mutation("Put the old data of a committed replay back.", scope=Scope.REPLAY, costly=True)
    async def undo_replay(self, info: Info, id: strawberry.ID) -> Replay:
        async with info.context.audited("replay.undo", id, changes=True):
            return _without_rows(await _replays(info).undo(info.context.tenant, id))

    @mutation("Delete a replay that has ended, and its folder; null if there is none with this id.", scope=Scope.REPLAY, costly=False)
    async def remove_replay(self, info: Info, id: strawberry.ID) -> Replay | None:
        """Remove a replay, and return its last state without the rows that it changed."""
        async with info.context.audited("replay.remove", id, changes=True):
            removed = await _replays(info).remove(info.context.tenant, id)
        return _without_rows(removed) if removed else None


async def audit_differences(info: Info, replays: Sequence[ReplayView]) -> None:
    """Write an audit line for the rows in an answer about replays: changed rows, and rows at a stop."""
    changed = [difference for view in replays for difference in view.differences]
    stops = [view.stop for view in replays if view.stop is not None]
    shown = [one for stop in stops for one in (*stop.inputs, *stop.outputs) for _ in one.rows]
    if changed or shown:
        async with info.context.audited("replay.read") as act:
            act.met(changed, shown)


def _replays(info: Info) -> ReplayService:
    return available(info.context.services.replays, "Replays")


def _without_rows(view: ReplayView) -> Replay:
    return replace(Replay.of(view), differences=[], stop=None)


def _order(
    dataset: str | None,
    where: str | None,
    rows: list[RowRef] | None,
    output: str | None,
    kind: ReplayKind,
    edits: list[ReplayEdit] | None,
) -> ReplayOrder:
    """Return the order for the arguments of a replay.

    Raises:
        InvalidQueryError: an argument is missing.
    """
    if kind is ReplayKind.EXCLUSIVE and not dataset:
        raise InvalidQueryError("No dataset is given.", field="dataset", hint="Name the dataset of the records to leave out.")
    if kind not in (ReplayKind.VERIFY, ReplayKind.REFRESH, ReplayKind.STEP) and not where and not rows:
        raise InvalidQueryError("Neither rows nor where is given.", field="where", hint="Select the records of the replay.")
    return ReplayOrder(
        kind=kind.value, dataset=dataset or None, where=where or None, rows=references(rows), output=output or None,
        edits={edit.column: edit.value for edit in edits or ()},
    )  # fmt: skip


def _with_limits(order: ReplayOrder, limits: ReplayLimits | None) -> ReplayOrder:
    if limits is None:
        return order
    if any(limit is not None and limit <= 0 for limit in (limits.seconds, limits.disk_bytes)):
        raise InvalidQueryError("A limit is not more than 0.", field="limits")
    disk_bytes = None if limits.disk_bytes is None else int(limits.disk_bytes)
    return replace(order, seconds=limits.seconds, disk_bytes=disk_bytes)
