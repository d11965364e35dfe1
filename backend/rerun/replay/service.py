"""The replays of one home, for GraphQL and the command line: start, follow, list and remove them.

One replay runs at a time, because each starts Spark applications. Others wait in a queue. If the service dies during a replay, the next
query of the replay marks it as failed. The service never resumes a replay.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol, Self

from pydantic import ValidationError

from headwater.backend.rerun.replay.approval import Approval, approve, check_approved
from headwater.backend.rerun.replay.checks import check_met, check_readable, check_unchanged, file_states
from headwater.backend.rerun.replay.commit import FILE as COMMIT_FILE
from headwater.backend.rerun.replay.commit import KINDS as COMMITTED_KINDS
from headwater.backend.rerun.replay.commit import check_places, commit, expire, keeps_old_data, load_commit, undo
from headwater.backend.rerun.replay.dry_run import DryRun, summarize
from headwater.backend.rerun.replay.kinds import ReplayRequest, Sources, Work, load_kind, refuse_other_parts
from headwater.backend.rerun.replay.latest_runs import check_read_by_latest_runs, find_joint_outputs, notes_on_joint_outputs
from headwater.backend.rerun.replay.lineage import CommitLineage, can_deliver, is_waiting
from headwater.backend.rerun.replay.model import FAULT, Commit, Limits, Replay, ReplayState, Step
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.backend.rerun.replay.partial_results import limit_partial_results, notes_on_partial_results, partial_results_folder
from headwater.backend.rerun.replay.process_wait import in_thread_left_behind
from headwater.backend.rerun.replay.replaced_versions import find_replaced_versions, notes_on_commits
from headwater.backend.rerun.replay.replay_settings import ReplaySettings
from headwater.backend.rerun.replay.replayed_places import place_named
from headwater.backend.rerun.replay.results import add_result
from headwater.backend.rerun.replay.runner import CANCEL, run_steps
from headwater.backend.rerun.replay.shadow_tables.bases import find_bases
from headwater.backend.rerun.replay.shadow_tables.laying import lay_shadow_tables
from headwater.backend.rerun.replay.stops import Answer, give_answer, wait_at_stop
from headwater.backend.rerun.runners import Runners
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.stores import GraphStore
from headwater.graph.trace import TraceAnswer, TraceRequest
from headwater.spark_listener.registry import Registry

Notes = list[str]
_FILE = "replay.json"
_SETTLING = "lineage"  # the name of a task, in place of a replay's id
KEEP_DAYS = 7.0  # retention time of old data after a commit
_log = logging.getLogger("headwater.replay")
_ID = re.compile(r"[0-9a-f]{32}")


class Tracer(Protocol):
    """Answers a trace request of one tenant."""

    def __call__(self, tenant: str, request: TraceRequest) -> Awaitable[TraceAnswer]: ...


class Replays:
    """Implements the schema's `ReplayService` over the folder `replays/` of a home."""

    def __init__(
        self,
        folder: Path,
        graph: GraphStore,
        trace: Tracer,
        registry: Registry,
        sources: DataRoots,
        turn: asyncio.Lock | None = None,
        lineage: CommitLineage | None = None,
    ) -> None:
        """`lineage` delivers the lineage of commits. Without it, none is delivered."""
        self._folder = folder
        self._graph = graph
        self._trace = trace
        self._registry = registry
        self._sources = sources
        self._one_at_a_time = turn or asyncio.Lock()
        self._lineage = lineage
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> str:
        """Start an exclusive replay without the selected records. See `start_kind`."""
        return await self.start_kind(tenant, kind="exclusive", request=_exclusive(dataset, where, rows, output))

    async def start_kind(
        self, tenant: str, *, kind: str, request: ReplayRequest, limits: Limits | None = None, by: str | None = None
    ) -> str:
        """Plan a replay, queue it, and return its id. `by` is the person or the key that asks for it.

        Raises:
            InvalidQueryError: there is no such kind, or it does not accept the request.
            NotFoundError: no flow leads to the output.
            UnsupportedError: a needed program is not registered or changed since, or the output cannot be read, or only an earlier run
                of a job read the chosen records.
        """
        if request.script is not None:
            raise UnsupportedError("A service runs registered scripts only.", hint="On the machine of the home: headwater replay --script.")
        replay = await self.plan_kind(tenant, kind=kind, request=request, limits=limits, by=by)
        task = asyncio.create_task(self._run_in_turn(replay))
        self._tasks[replay.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(replay.id, None))
        return replay.id

    async def plan(self, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> Replay:
        """Plan the exclusive replay that `start` would run, and store it in the state `queued`. Raises like `start`."""
        return await self.plan_kind(tenant, kind="exclusive", request=_exclusive(dataset, where, rows, output))

    async def plan_kind(
        self,
        tenant: str,
        *,
        kind: str,
        request: ReplayRequest,
        limits: Limits | None = None,
        by: str | None = None,
        is_kept: bool = True,
        commits: bool = False,
    ) -> Replay:
        """Plan the replay that `start_kind` would run. With `is_kept`, it is stored as queued. Raises like `start_kind`.

        With `commits`, outputs that a commit cannot replace are refused.
        The caller must be the operator of the home if the request names a script.
        """
        known = load_kind(kind)
        refuse_other_parts(request, kind, known)
        work = await known.plan(request, self.sources_of(tenant))
        within = place_named(work.output, request.output)
        return await self.plan_work(
            tenant, kind=kind, work=work, within=within, limits=limits, by=by, is_kept=is_kept, commits=commits
        )  # fmt: skip

    def sources_of(self, tenant: str) -> Sources:
        """Return the services that a plan may use."""
        return Sources(tenant, self._graph, self._sources, self._trace)

    async def plan_work(
        self,
        tenant: str,
        *,
        kind: str,
        work: Work,
        within: str = "",
        limits: Limits | None = None,
        by: str | None = None,
        is_kept: bool = True,
        commits: bool = False,
        erases: bool = False,
    ) -> Replay:
        """Plan a replay of known work. `within` is the compared partition of the output. Otherwise like `plan_kind`."""
        sources = self.sources_of(tenant)
        check_readable(work.output, self._sources)
        steps = [await self._step(work, application, sources) for application in work.start.applications]
        states = await asyncio.to_thread(file_states, {**work.exclude, **work.keep, **work.edits}, self._sources)
        await check_read_by_latest_runs(work, states, sources)
        outputs = list(work.outputs or [work.output]) if is_kept or commits else []
        places, before = await asyncio.to_thread(OutputPlaces(self._sources).states, outputs)
        identifier = uuid.uuid4().hex
        notes = [*work.notes, *work.start.notes(work.upstream.flows)]
        joint = await find_joint_outputs(work, work.outputs or [work.output], sources)
        notes += notes_on_joint_outputs(joint) if work.chosen is None else []
        notes += await notes_on_commits(self._graph, tenant, work.outputs or [work.output])
        replay = Replay(
            id=identifier, tenant=tenant, output=work.output, within=within, started_at=_now(), kind=kind,
            shadow=str(self._folder / identifier / "data"), exclude=work.exclude, keep=work.keep, restrict=work.restrict, edits=work.edits,
            chosen=work.chosen, outputs=work.outputs, before=before, places=places, notes=notes,
            starts=work.start.datasets, states=states, steps=steps,
            limits=limits or Limits(), process=os.getpid(), started_by=by, changed_places=work.changed,
            partials=str(partial_results_folder(self._folder, tenant)) if work.changed and not commits else "",
            joint=list(joint),
            own_files=joint,
            erases=erases,
            captures=kind in COMMITTED_KINDS and (commits or not work.changed) and await asyncio.to_thread(can_deliver, steps, places),
        )  # fmt: skip
        if commits:
            await asyncio.to_thread(check_places, replay, self._sources)
        if is_kept:
            self._save(replay)
        return replay

    async def dry_run(self, tenant: str, *, kind: str, request: ReplayRequest, commits: bool = False) -> DryRun:
        """Describe what `start_kind` would run. Nothing is run or stored. Raises like `start_kind`."""
        replay = await self.plan_kind(tenant, kind=kind, request=request, is_kept=False, commits=commits)
        return await asyncio.to_thread(summarize, replay, await self.list(tenant, 100), self._sources, self._folder)

    async def _step(self, work: Work, application: str, sources: Sources) -> Step:
        script = work.script if application == work.edited else None
        return Step(
            job=work.upstream.names.get(application, application),
            reads=work.upstream.reads(application),
            writes=work.upstream.writes(application),
            tables=await find_bases(work.upstream, application, sources),
            invocation=work.upstream.invocation(application, self._registry, script),
        )

    async def run(self, replay: Replay, changed: Callable[[Replay], None] = lambda _: None) -> Replay:
        """Run a planned replay to its end, in threads. `changed` is called after each step."""

        def save(now: Replay) -> None:
            self._save(now)
            changed(now)

        replay.state = ReplayState.RUNNING
        save(replay)
        try:
            await asyncio.to_thread(check_unchanged, replay, self._sources)
            await asyncio.to_thread(limit_partial_results, self._folder)
            await in_thread_left_behind(self._run_steps, replay, save)
            await asyncio.to_thread(check_unchanged, replay, self._sources)
            check_met(replay)
            replay.notes += notes_on_partial_results(replay.shadow)
            await asyncio.to_thread(add_result, replay, self._sources, self._folder / replay.id)
            replay.state = ReplayState.COMPLETE
        except HeadwaterError as error:
            replay.state, replay.error = ReplayState.FAILED, str(error)
        except Exception as error:  # the state must never stay "running" when nothing runs
            replay.state, replay.error = ReplayState.FAILED, f"{FAULT}{error!r}"
            raise
        finally:
            replay.ended_at = _now()
            save(replay)
        return replay

    def _run_steps(self, replay: Replay, changed: Callable[[Replay], None]) -> None:
        folder, runners = self._folder / replay.id, Runners.of_home(self._folder.parent)
        prepare = partial(lay_shadow_tables, shadow=replay.shadow, sources=self._sources)
        if replay.kind == "step":
            wait = partial(wait_at_stop, replay, folder=folder, sources=self._sources, changed=changed)
            run_steps(
                replay,
                folder,
                changed,
                pause=lambda step, finished, stop: wait(step, finished, stop=stop),
                prepare=prepare,
                runners=runners,
            )
        else:
            run_steps(replay, folder, changed, prepare=prepare, runners=runners)

    async def get(self, tenant: str, identifier: str) -> Replay | None:
        """Return the current state of a replay, or None if the id is unknown.

        Raises:
            InvalidQueryError: the text is not an id.
        """
        if not _ID.fullmatch(identifier):
            raise InvalidQueryError(f"{identifier!r} is not the id of a replay.", hint="An id is 32 hexadecimal digits.")
        replay = await asyncio.to_thread(self._load, self._folder / identifier / _FILE)
        return self._settled(replay) if replay and replay.tenant == tenant else None

    async def list(self, tenant: str, first: int) -> Sequence[Replay]:
        found = await asyncio.to_thread(lambda: [self._load(file) for file in self._folder.glob(f"*/{_FILE}")])
        mine = [self._settled(replay) for replay in found if replay and replay.tenant == tenant]
        return sorted(mine, key=lambda replay: replay.started_at, reverse=True)[:first]

    async def remove(self, tenant: str, identifier: str) -> Replay | None:
        """Remove an ended replay with its output folder. Returns None if the id is unknown.

        Raises:
            InvalidQueryError: the replay waits or runs, or the text is not an id.
        """
        found = await self.get(tenant, identifier)
        if found is not None:
            if found.state in (ReplayState.QUEUED, ReplayState.RUNNING):
                raise InvalidQueryError(f"The replay {identifier} has not ended.", field="id", hint="Remove it when it has.")
            await asyncio.to_thread(partial(expire, self._folder, sources=self._sources))
            if await asyncio.to_thread(keeps_old_data, self._folder / identifier):
                raise InvalidQueryError(
                    f"The replay {identifier} was committed, and its folder is needed to undo that.", field="id", hint="Undo it, or wait."
                )
            if self._lineage is not None:
                await asyncio.to_thread(self._lineage.forget, found, load_commit(self._folder / identifier), self._folder / identifier)
            await asyncio.to_thread(shutil.rmtree, self._folder / identifier)
        return found

    async def answer(self, tenant: str, identifier: str, answer: Answer) -> Replay:
        """Answer the stop at which a replay of the kind `step` waits. Raises like `stops.give_answer`."""
        found = await self._known(tenant, identifier)
        await asyncio.to_thread(give_answer, found, self._folder / identifier, answer)
        return found

    async def cancel(self, tenant: str, identifier: str) -> Replay:
        """Ask a waiting or running replay to end. Its state becomes `failed` when its program has ended.

        Raises:
            NotFoundError: there is no such replay.
            InvalidQueryError: the replay has ended.
        """
        found = await self._known(tenant, identifier)
        if found.state not in (ReplayState.QUEUED, ReplayState.RUNNING):
            raise InvalidQueryError(
                f"The replay {identifier} has ended: it is {found.state}.", field="id", hint="There is nothing to cancel."
            )
        await asyncio.to_thread((self._folder / identifier / CANCEL).touch)
        return found

    async def approve(self, tenant: str, identifier: str, *, by: str) -> Approval:
        """Approve the commit of a replay, as a second person. Raises like `approval.approve`."""
        found = await self._known(tenant, identifier)
        return await asyncio.to_thread(approve, found, self._folder / identifier, by)

    async def commit(self, tenant: str, identifier: str, *, keep_days: float = KEEP_DAYS, by: str = "") -> Commit:
        """Replace the real outputs with the changed outputs of a complete replay. The old data is stored for `keep_days`.

        `by` is the person or the key that commits.

        Raises:
            UnsupportedError: the home requires the approval of a second person, and there is none.
            NotFoundError: there is no such replay.
            UnsupportedError: the replay cannot be committed.
            SourceChangedError: an output, or a file whose records were chosen, changed since the replay.
        """
        found = await self._known(tenant, identifier)
        if ReplaySettings.of_home(self._folder.parent).commit.approval:
            await asyncio.to_thread(check_approved, found, self._folder / identifier, by)
        await asyncio.to_thread(partial(expire, self._folder, sources=self._sources))
        await self.settle_lineage()
        await asyncio.to_thread(check_unchanged, found, self._sources)
        made = await asyncio.to_thread(partial(commit, found, self._folder / identifier, keep_days=keep_days, sources=self._sources))
        made.notes = await self._settle_lineage(found, made)
        return made

    async def undo(self, tenant: str, identifier: str) -> Commit:
        """Put the old data of a committed replay back.

        Raises:
            NotFoundError: there is no such replay, or no commit to undo.
            SourceChangedError: the committed data changed since.
        """
        found = await self._known(tenant, identifier)
        await asyncio.to_thread(partial(expire, self._folder, sources=self._sources))
        await self.settle_lineage()
        made = await asyncio.to_thread(partial(undo, identifier, self._folder / identifier, sources=self._sources))
        made.notes = await self._settle_lineage(found, made)
        return made

    async def settle_lineage(self) -> None:
        """Deliver the lineage of commits and undos whose process was killed. If this fails for a replay, the next call tries again."""
        for replay in await asyncio.to_thread(lambda: [self._load(file.parent / _FILE) for file in self._folder.glob(f"*/{COMMIT_FILE}")]):
            if replay is not None and replay.commit is not None:
                await self._settle_lineage(replay, replay.commit)

    def settling(self) -> Self:
        """Finish commits that a crash interrupted, and then `settle_lineage`, in the background, and return this object.

        The task ends before `close` returns.
        """
        self._tasks[_SETTLING] = asyncio.create_task(self._settle_commits())
        return self

    async def _settle_commits(self) -> None:
        if any(self._folder.glob(f"*/{COMMIT_FILE}")):
            await asyncio.to_thread(partial(expire, self._folder, sources=self._sources))
        await self.settle_lineage()

    async def _settle_lineage(self, replay: Replay, made: Commit) -> Notes:
        """Deliver the lineage of a commit or its undo, and return notes about it."""
        folder = self._folder / replay.id
        if self._lineage is None or not await asyncio.to_thread(is_waiting, replay, made, folder):
            return []
        try:
            replaced = await find_replaced_versions(self._graph, replay.tenant, made)
            lineage = await asyncio.to_thread(self._lineage.deliver, replay, made, folder, replaced)
        except (HeadwaterError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:  # a damaged spool stops only its own
            _log.warning("the lineage of the replay %s cannot be delivered now: %s", replay.id, error)
            return [f"Its lineage is delivered later: {error}"]
        return [f"Lineage was refused: {reason}" for reason in lineage.refused]

    async def _known(self, tenant: str, identifier: str) -> Replay:
        found = await self.get(tenant, identifier)
        if found is None:
            raise NotFoundError(f"There is no replay {identifier}.", hint="`headwater replay --list` names them.")
        return found

    async def close(self) -> None:
        """Stop waiting for running programs. The programs are not ended."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _run_in_turn(self, replay: Replay) -> None:
        async with self._one_at_a_time:
            await self.run(replay)

    @staticmethod
    def _settled(replay: Replay) -> Replay:
        if replay.state in (ReplayState.QUEUED, ReplayState.RUNNING) and not _alive(replay.process):
            replay.error = "The process that ran this replay stopped before its end. Start it again."
            replay.state = ReplayState.FAILED
        return replay

    def _save(self, replay: Replay) -> None:
        folder = self._folder / replay.id
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = folder / f"{_FILE}.tmp"
        partial.write_text(replay.model_dump_json(indent=1), encoding="utf-8")
        partial.replace(folder / _FILE)

    @staticmethod
    def _load(file: Path) -> Replay | None:
        try:
            found = Replay.model_validate_json(file.read_bytes())
            found.commit = load_commit(file.parent)
            return found
        except FileNotFoundError:
            return None
        except ValidationError as error:  # an earlier version wrote the file; the other replays stay visible
            _log.warning("the replay in %s cannot be read and is not listed: %d fields differ", file.parent, error.error_count())
            return None


def _exclusive(dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> ReplayRequest:
    return ReplayRequest(dataset=dataset, where=where, rows=rows, output=output)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
