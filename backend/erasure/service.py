"""Runs erasures of one home: plan, copies, exchange, replay, commit, removal of old data, check, certificate.

An erasure deletes data, so each step is recorded before it begins. Until all outputs are replaced, a failure or a crash puts everything
back. From then on an erasure only goes on. The next erasure, or `settle`, does what a crash interrupted. One erasure of a home runs at a
time.
"""

from __future__ import annotations

import asyncio
import fcntl
import secrets
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Protocol

from headwater.backend.audit.log import append_line
from headwater.backend.erasure import deletion, source_files
from headwater.backend.erasure.certificate import commit_to, now, put_into_log
from headwater.backend.erasure.check import changed_datasets, check_erasure, digest_datasets
from headwater.backend.erasure.history import find_history
from headwater.backend.erasure.model import (
    OPEN,
    Action,
    Certificate,
    Erasure,
    ErasurePlan,
    ErasureState,
)
from headwater.backend.erasure.old_data import Removal, find_hidden, find_replays, remove_replays, remove_trash
from headwater.backend.erasure.plan import EraseRequest, plan_erasure
from headwater.backend.erasure.repeated_programs import register_runs
from headwater.backend.erasure.stored import FILE, find_erasure, list_erasures
from headwater.backend.home.folder import Home
from headwater.backend.ingest.intake.receive import EventIntake
from headwater.backend.rerun.replay import Replays, ReplayState
from headwater.backend.rerun.replay.commit import end_retention, expire, load_commit
from headwater.backend.rerun.replay.kinds import Work
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.lineage import LineageState, load_lineage
from headwater.backend.rerun.replay.model import CommitState, Replay
from headwater.backend.rerun.replay.plan import StartingPoint
from headwater.backend.rerun.replay.replay_settings import ReplaySettings
from headwater.errors import (
    HeadwaterError,
    InvalidQueryError,
    NotFoundError,
    SourceChangedError,
    UnavailableError,
    UnsupportedError,
)
from headwater.graph.model import bare_name
from headwater.graph.records import AssociationStore
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.stores import GraphStore
from headwater.graph.trace.chosen_files import copy_files
from headwater.spark_listener.registry import Registry

_SALT = "salt"
_LOCK = ".lock"
Progress = Callable[[str], None]


class Site(Protocol):
    """The workspace of a home."""

    home: Home
    graph: GraphStore
    records: AssociationStore
    registry: Registry

    @property
    def events(self) -> EventIntake: ...

    def replays(self) -> Replays: ...

    async def settle(self) -> int: ...


class Erasures:
    """The erasures of one home, in the folder `erasures/`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._folder = site.home.erasures
        self._replays = site.replays()

    async def plan(self, tenant: str, request: EraseRequest) -> ErasurePlan:
        """Plan an erasure. Nothing is changed or stored. Raises as `plan_erasure`."""
        plan = await plan_erasure(self._site, tenant, request)
        count = len(await find_replays(self._replays, tenant, changed_datasets(plan)))
        plan.notes += [f"{count:,} earlier replays of this data are removed, with the old data of their commits."] if count else []
        return plan

    async def request(self, tenant: str, request: EraseRequest, *, by: str, reason: str | None = None) -> Erasure:
        """Plan an erasure, and store it as requested. `run` does it.

        Raises:
            UnsupportedError: the plan cannot run, for example because of a legal hold.
        """
        plan = await self.plan(tenant, request)
        refuse_plan(plan)
        erasure = Erasure(
            id=str(uuid.uuid4()), tenant=tenant, by=by, reason=reason, began=now(), state=ErasureState.REQUESTED, plan=plan,
            where=request.where, rows=list(request.rows), delete=list(request.delete), leave=list(request.leave),
        )  # fmt: skip
        folder = self._folder / erasure.id
        folder.mkdir(parents=True, mode=0o700)
        write_durably(folder / _SALT, secrets.token_hex(16).encode())
        self._audit("erase.request", erasure)
        self._save(erasure)
        return erasure

    def needs_approval(self) -> bool:
        return ReplaySettings.of_home(self._site.home.path).commit.approval

    def approve(self, tenant: str, identifier: str, *, by: str) -> Erasure:
        """Approve a requested erasure, as a second person.

        Raises:
            UnsupportedError: this person requested it.
        """
        erasure = self.get(tenant, identifier)
        if erasure.state is not ErasureState.REQUESTED:
            raise InvalidQueryError(f"The erasure {identifier} is {erasure.state}; only a requested one can be approved.", field="id")
        if by == erasure.by:
            raise UnsupportedError(f"{by} requested the erasure {identifier}, so somebody else must approve it.")
        erasure.approved_by = by
        self._audit("erase.approve", erasure, who=by)
        self._save(erasure)
        return erasure

    def get(self, tenant: str, identifier: str) -> Erasure:
        """Return an erasure.

        Raises:
            NotFoundError: there is none with this id.
        """
        found = find_erasure(self._folder, tenant, identifier)
        if found is None:
            raise NotFoundError(f"There is no erasure {identifier}.", hint="`headwater erase --list` names them.")
        return found

    def all(self, tenant: str) -> list[Erasure]:
        """Return all erasures, newest first."""
        return list_erasures(self._folder, tenant)

    def salt(self, erasure: Erasure) -> bytes:
        return bytes.fromhex((self._folder / erasure.id / _SALT).read_text(encoding="ascii"))

    async def run(self, tenant: str, identifier: str, *, by: str, progress: Progress = lambda _: None) -> Erasure:
        """Run a requested erasure to its end.

        Raises:
            UnsupportedError: an approval is missing, the plan cannot run, or a program failed. Everything is as it was before.
            SourceChangedError: data changed since the request, or during the erasure.
            UnavailableError: another erasure runs.
        """
        async with self._locked():
            await self._settle(tenant, progress)
            erasure = self.get(tenant, identifier)
            if erasure.state is not ErasureState.REQUESTED:
                raise InvalidQueryError(f"The erasure {identifier} is {erasure.state}.", field="id", hint="Request a new one.")
            if self.needs_approval() and erasure.approved_by is None:
                raise UnsupportedError(
                    f"A second person must approve the erasure {identifier} first.",
                    hint=f"For example: headwater erase approve {identifier}",
                )
            if erasure.approved_by == by:
                raise UnsupportedError(f"{by} approved the erasure {identifier}, so somebody else must run it.")
            await self._check_same(erasure)
            self._audit("erase.begin", erasure, who=by)
            try:
                await self._replace(erasure, by, progress)
            except Exception as error:
                if await self._resolve(erasure, str(error)):
                    pass  # all outputs are replaced, so the erasure goes on
                elif isinstance(error, OSError):
                    raise UnsupportedError(f"{error}. Everything is as it was before.", hint="Look at the folder of this file.") from error
                else:
                    raise
            await self._finish(erasure, progress)
            return erasure

    async def settle(self, tenant: str, *, progress: Progress = lambda _: None) -> Sequence[Erasure]:
        """Finish or revert interrupted erasures, and return them. Raises as `run`."""
        async with self._locked():
            return await self._settle(tenant, progress)

    async def _settle(self, tenant: str, progress: Progress) -> Sequence[Erasure]:
        found = [one for one in self.all(tenant) if one.state in OPEN]
        for erasure in found:
            if await self._resolve(erasure, "It was interrupted."):
                await self._finish(erasure, progress)
        return found

    async def _check_same(self, erasure: Erasure) -> None:
        """Check that a new plan is the one that was requested.

        Raises:
            SourceChangedError: data or programs changed since.
        """
        request = EraseRequest(
            dataset=erasure.plan.source, where=erasure.where, rows=erasure.rows, delete=erasure.delete, leave=erasure.leave
        )
        reason = ""
        try:
            plan = await self.plan(erasure.tenant, request)
            if plan == erasure.plan:
                return
            refuse_plan(plan)
        except HeadwaterError as error:
            reason = f" {error.message}"
        erasure.state, erasure.error = ErasureState.REVERTED, f"Data changed since the request.{reason}"
        self._close(erasure)
        raise SourceChangedError(
            f"Data, programs or lineage changed since the erasure was requested, so nothing was changed.{reason}", hint="Request it again."
        )

    async def _replace(self, erasure: Erasure, by: str, progress: Progress) -> None:
        """Replace the source and everything that is made of it. A failure leaves a state that `_resolve` can revert."""
        plan, site = erasure.plan, self._site
        erasure.before = await asyncio.to_thread(digest_datasets, self.salt(erasure), erasure.plan)
        erasure.deleted = [deletion.plan_deletion(dataset, erasure.id) for dataset in plan.of(Action.DELETE)]
        for file in plan.files:
            file.copy_path = source_files.copy_of(file.path, erasure.id)
        erasure.state = ErasureState.PREPARED
        self._save(erasure)
        progress(f"writing {len(plan.files):,} files of the source without the records")
        uris = {f"file:{file.path}": file for file in plan.files}
        counts = await copy_files(
            site.graph, site.records, erasure.tenant, plan.source,
            {uri: (file.rows, Path(file.copy_path)) for uri, file in uris.items()},
        )  # fmt: skip
        for uri, file in uris.items():
            if counts.get(uri) != file.records - len(file.rows):
                raise SourceChangedError(f"{file.path} was written meanwhile.", hint="Plan the erasure again.")
            await asyncio.to_thread(source_files.settle_copy, file)
        erasure.state = ErasureState.EXCHANGED
        self._save(erasure)
        for file in plan.files:
            await asyncio.to_thread(source_files.put_in_place, file)
        for folder in erasure.deleted:
            await asyncio.to_thread(deletion.hide, folder)
        if plan.of(Action.RECOMPUTE):
            await self._make_again(erasure, by, progress)
        erasure.state = ErasureState.COMMITTED
        self._save(erasure)

    async def _make_again(self, erasure: Erasure, by: str, progress: Progress) -> None:
        """Repeat the programs on the new source, and commit all outputs together."""
        plan, replays = erasure.plan, self._replays
        outputs = plan.of(Action.RECOMPUTE)
        sources = replays.sources_of(erasure.tenant)
        history = await find_history(
            [plan.source, *plan.aliases],
            outputs,
            plan.of(Action.DELETE),
            self._site.records,
            self._site.registry,
            sources,
            renewed=[f"file:{file.path}" for file in plan.files],
        )
        if reasons := [f"{dataset}: {found[0]}" for dataset, found in history.reasons.items()]:
            raise SourceChangedError(f"Data changed during the erasure. {reasons[0]}", hint="Plan the erasure again.")
        work = Work(output=outputs[-1], outputs=outputs, upstream=history.upstream(), start=StartingPoint(plan.applications, plan.inputs))
        replay = await replays.plan_work(erasure.tenant, kind="refresh", work=work, by=erasure.by, commits=True, erases=True)
        if not replay.captures:
            raise UnsupportedError("The lineage of the new data would not be complete.", hint="All outputs must be local folders of files.")
        erasure.replay = replay.id
        self._save(erasure)
        progress(f"running {len(replay.steps):,} programs again")
        done = await replays.run(replay)
        if done.state is not ReplayState.COMPLETE:
            raise UnsupportedError(f"A program failed, so nothing was changed. {done.error}", hint="Run the pipeline, and try again.")
        for file in plan.files:
            if not await asyncio.to_thread(source_files.is_exchanged, file):
                raise SourceChangedError(f"{file.path} was written during the erasure.", hint="Plan the erasure again.")
        if self.needs_approval() and erasure.approved_by is not None:
            await replays.approve(erasure.tenant, replay.id, by=erasure.approved_by)
        progress("putting the new data in place")
        await replays.commit(erasure.tenant, replay.id, keep_days=0, by=by)

    async def _resolve(self, erasure: Erasure, reason: str) -> bool:
        """Find out whether all outputs were replaced, and return it. If not, put everything back.

        Raises:
            SourceChangedError: a file was written meanwhile and cannot be put back. The message says where the old data is.
        """
        if erasure.state is ErasureState.COMMITTED:
            return True
        if erasure.replay is not None:
            folder = self._site.home.replays / erasure.replay
            await asyncio.to_thread(partial(expire, self._site.home.replays, sources=self._site.records.sources))
            made = await asyncio.to_thread(load_commit, folder)
            states = {one.state for one in made.folders} if made is not None else set()
            if states and states <= {CommitState.DONE, CommitState.EXPIRED}:
                erasure.state = ErasureState.COMMITTED
                self._save(erasure)
                return True
            if states:
                raise UnavailableError(
                    f"The commit of the replay {erasure.replay} was interrupted, and cannot be finished or reverted now.",
                    hint="`headwater erase --resume` tries again.",
                )
        await asyncio.to_thread(_put_back, erasure)
        if erasure.replay is not None:
            await self._replays.remove(erasure.tenant, erasure.replay)
        erasure.state, erasure.error = ErasureState.REVERTED, reason
        self._audit("erase.revert", erasure)
        self._close(erasure)
        return False

    async def _finish(self, erasure: Erasure, progress: Progress) -> None:
        """Remove the old data, check that no derived record is left, and write the certificate. Can be repeated."""
        removal = Removal(removed=list(erasure.removed), remains=list(erasure.plan.remains))
        replay = await self._replays.get(erasure.tenant, erasure.replay) if erasure.replay is not None else None
        if replay is not None:
            await self._deliver_lineage(erasure, replay)
        await self._site.settle()
        progress("removing the old data")
        await self._remove_old(erasure, replay, removal)
        erasure.removed = list(dict.fromkeys(removal.removed))
        self._save(erasure)
        progress("checking that no record is left")
        found, problems = await check_erasure(self._site, erasure, self.salt(erasure))
        result = "complete" if not problems else "incomplete"
        certificate = Certificate(
            id=erasure.id, result=result, requested_by=erasure.by, approved_by=erasure.approved_by, reason=erasure.reason,
            began=erasure.began, ended=now(), source=erasure.plan.source, columns=erasure.plan.columns,
            commitment=commit_to(self.salt(erasure), erasure.where, erasure.rows), records=erasure.plan.records, datasets=found,
            runs=list(erasure.plan.applications), removed=erasure.removed, remains=list(dict.fromkeys(removal.remains)), check=problems,
        )  # fmt: skip
        if refused := await asyncio.to_thread(put_into_log, self._site.events, erasure.tenant, certificate):
            certificate.remains.append(f"The log refused the certificate: {refused}")
        await self._site.settle()
        erasure.certificate = certificate
        erasure.state = ErasureState.COMPLETE if not problems else ErasureState.INCOMPLETE
        self._audit("erase.end", erasure, result=result)
        self._close(erasure)

    async def _deliver_lineage(self, erasure: Erasure, replay: Replay) -> None:
        folder = self._site.home.replays / replay.id
        await self._replays.settle_lineage()
        lineage = await asyncio.to_thread(load_lineage, folder)
        if lineage is None or lineage.state is LineageState.WAITING:
            raise UnavailableError(
                "The new data is in place, but its lineage cannot be delivered now.",
                hint="The old data is still there. `headwater erase --resume` goes on.",
            )
        await self._site.settle()
        await register_runs(self._site.graph, self._site.registry, erasure.tenant, replay, lineage)

    async def _remove_old(self, erasure: Erasure, replay: Replay | None, removal: Removal) -> None:
        home, plan = self._site.home, erasure.plan
        changed = changed_datasets(plan)
        if replay is not None:
            await asyncio.to_thread(end_retention, home.replays / replay.id)
            await asyncio.to_thread(partial(expire, home.replays, sources=self._site.records.sources))
        for file in plan.files:
            await asyncio.to_thread(source_files.delete_old, file)
        for folder in erasure.deleted:
            await asyncio.to_thread(deletion.remove, folder)
        more = await remove_replays(self._replays, home.replays, erasure.tenant, changed, erasure.replay)
        trash = await asyncio.to_thread(remove_trash, home.versions, changed)
        if replay is not None:
            lineage = await asyncio.to_thread(load_lineage, home.replays / replay.id)
            if lineage is None or not lineage.uncommitted:  # otherwise traces read values of its outputs
                await self._replays.remove(erasure.tenant, replay.id)
        for part in (more, trash):
            removal.removed += part.removed
            removal.remains += part.remains
        places = [place_of(dataset) for dataset in changed]
        removal.remains += [f"Old data that could not be removed: {path}" for path in await asyncio.to_thread(find_hidden, places)]

    def _close(self, erasure: Erasure) -> None:
        """Store the end of an erasure, without its choice of records."""
        erasure.ended = now()
        erasure.where, erasure.rows = None, []
        for file in erasure.plan.files:
            file.rows = []
        self._save(erasure)

    def _audit(self, what: str, erasure: Erasure, *, who: str | None = None, **more: str) -> None:
        append_line(self._site.home.audit, {
            "who": who or erasure.by, "tenant": erasure.tenant, "decision": "allowed", "what": what, "erasure": erasure.id,
            "on": [erasure.plan.source, *(one.dataset for one in erasure.plan.datasets)][:50], "records": erasure.plan.records, **more,
        })  # fmt: skip

    def _save(self, erasure: Erasure) -> None:
        write_durably(self._folder / erasure.id / FILE, erasure.model_dump_json(indent=1).encode())

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UnavailableError("Another erasure of this home runs now.", hint="Start this one when it has ended.") from error
            yield


def _put_back(erasure: Erasure) -> None:
    """Put back whatever can be put back.

    Raises:
        SourceChangedError: something was written meanwhile. All other data is as it was before.
    """
    problems: list[SourceChangedError] = []
    for one in reversed(erasure.deleted):
        try:
            deletion.put_back(one)
        except SourceChangedError as error:
            problems.append(error)
    for file in erasure.plan.files:
        try:
            source_files.take_back(file)
        except SourceChangedError as error:
            problems.append(error)
    if problems:
        raise problems[0]


def refuse_plan(plan: ErasurePlan) -> None:
    """Check that a plan can run.

    Raises:
        UnsupportedError: something blocks it, or a dataset can be neither made again nor proven unaffected.
    """
    if plan.blocks:
        raise UnsupportedError(plan.blocks[0], hint="Nothing was changed.")
    if plan.impossible:
        one = plan.impossible[0]
        name = quote(bare_name(one.dataset))
        raise UnsupportedError(
            f"{one.dataset} cannot be made again here: {'; '.join(one.reasons)}.",
            hint=f"Repair that, or say what to do: --delete {name} deletes it, --leave {name} leaves it to you.",
        )
