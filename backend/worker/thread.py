"""The worker: a thread that projects the log as it grows, and keeps house.

It takes over the spool of applications that died, prunes by the policy of the settings, and keeps groups of records that a job left to be
found again, where their source may be written anew or a trace took long to find them.

What a worker was at that ended without a word it has tried apart (`trials`), and goes on with all else.

For the service alone, in a process of its own (`process`, `child`) or in the service's. It has an event loop, a graph store and a place in
the projector's role of its own, so that a long projection never holds up a request; where another process has the role, it stands by and
takes over when that one ends. No fault ends it: it says what is wrong (`state`, for `/readyz`) and tries again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Thread

from headwater.backend.settings import DEFAULT_TENANT
from headwater.backend.upkeep.pruning import prune_audited
from headwater.backend.worker.at_work import AtWork
from headwater.backend.worker.projector import Projector
from headwater.backend.worker.trials import Trials
from headwater.backend.workspace import Workspace, graph_store
from headwater.errors import DamagedError, HeadwaterError
from headwater.graph.records import Wanted
from headwater.graph.records.prune import Policy
from headwater.graph.records.wanted import WantedTables
from headwater.graph.stores import GraphStore

_TURN = 5.0  # seconds of projection after which all else has its turn, and tenants that are new
_IDLE = 0.2  # how soon what another process appended is seen
_SPOOL = 5.0
_PAUSE = 1.0
_FAULTS = ("failed", "behind")  # what the state begins with where something is wrong: with all that waits, or with some tenant's
_APART = "running; entries at which a worker ended are tried apart"
_PATIENCE = 30.0  # with a store that is away
# Where replicas share the log, one that cannot project gives its place to the others soon, and for a while.
_SHARED_PATIENCE, _ASIDE = 3.0, 6.0
_STAGING = _PRUNING = 3600.0
_SHARED = 10.0
_log = logging.getLogger("headwater.worker")


class Worker:
    """Works for `workspace` between `start` and `stop`."""

    def __init__(
        self, workspace: Workspace, *, policy: Policy | None = None, on_projected: Callable[[int], None] = lambda _: None,
        on_state: Callable[[str], None] = lambda _: None, ended: str = "",
    ) -> None:  # fmt: skip
        """`on_projected` hears how many entries were projected, `on_state` each new state. `ended`: how the worker before this one did."""
        self._workspace = workspace
        self._policy = policy
        self._on_projected = on_projected
        self._on_state = on_state
        self._ended = ended or "nobody knows how"
        self._trials = Trials(workspace.settings, workspace.log)
        self._at_work: AtWork | None = None  # from when it has the role
        self._stopping = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._run()), name="headwater-worker", daemon=True)
        self._state = "starting"
        self._waiting: tuple[int, str] | None = None  # the next capture that may have something to keep
        self._looked_at = 0  # the number of the last; one that could not be kept is tried again by the next service
        self._keeper: Thread | None = None
        self._pruner: Thread | None = None
        self._learner: Thread | None = None
        self._end_statement: Callable[[], None] | None = None  # of the keeper
        self._for_speed: Wanted | None = None  # what the keeper keeps, where that can wait
        self._staging_due = 0.0
        self._retries = True  # what was refused while something was damaged, or by an earlier release, is tried again

    @property
    def state(self) -> str:
        """What it does, or what is wrong."""
        return self._state

    @state.setter
    def state(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._on_state(state)

    @property
    def differences(self) -> Sequence[str]:
        """What this replica has otherwise than those that share its log."""
        return self._workspace.role.differences

    @property
    def wanted(self) -> WantedTables:
        """What traces had to find again at length: it is kept when there is time."""
        return self._workspace.records.wanted

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the batch in hand."""
        self._stopping.set()
        self._workspace.log.appended.set()
        self._thread.join()
        while self._keeper is not None and self._keeper.is_alive():
            self._interrupt()
            self._keeper.join(_IDLE)
        if self._pruner is not None:
            self._pruner.join()

    def abandon(self) -> None:
        """The process ends now, and not for what it is at."""
        if self._at_work is not None:
            self._at_work.close()

    async def _run(self) -> None:
        is_alone = self._workspace.settings.ingest_log is None
        patience = _PATIENCE if is_alone else _SHARED_PATIENCE  # seconds
        while not self._stopping.is_set():
            graph = graph_store(self._workspace.settings)
            try:
                await graph.open()
                await self._work(graph, patience)
            except Exception as error:  # noqa: BLE001 - whatever it is, lineage must go on when it is over
                self._fail(error)
                self._stopping.wait(_PAUSE if is_alone else _ASIDE)
            finally:
                await graph.close()
                self._workspace.role.release()
        self._trials.stop()
        self.abandon()
        self.state = "stopped"

    async def _work(self, graph: GraphStore, patience: float) -> None:
        projector: Projector | None = None
        spool_due = pruning_due = shared_due = 0.0
        while not self._stopping.is_set():
            if time.monotonic() >= spool_due:
                self._clear_spool()
                spool_due = time.monotonic() + _SPOOL
            is_shared = self._workspace.settings.associations is not None
            if is_shared and time.monotonic() >= shared_due and (self._learner is None or not self._learner.is_alive()):
                self._learner = Thread(target=self._learn, name="headwater-learner", daemon=True)
                self._learner.start()
                shared_due = time.monotonic() + _SHARED
            if not self._workspace.role.take():
                self.state = "standby"
                self._stopping.wait(_PAUSE)
                continue
            projector = projector or self._projector(graph, patience)
            self._trials.go_on()
            await self._retry_where_due(projector)
            self._workspace.log.appended.clear()
            projected = await self._projected(projector)
            if not projected and time.monotonic() >= self._staging_due:
                await self._clear_staging(projector)
            if time.monotonic() >= pruning_due and (self._pruner is None or not self._pruner.is_alive()):
                self._pruner = Thread(target=self._prune, name="headwater-pruner", daemon=True)
                self._pruner.start()
                pruning_due = time.monotonic() + _PRUNING
            if not projected and not self._keeps():
                self._workspace.log.appended.wait(_IDLE)

    def _projector(self, graph: GraphStore, patience: float) -> Projector:
        """What projects. Who has the role is alone on the home, so what was noted there is of a worker that has ended."""
        workspace = self._workspace
        if self._at_work is None:
            self._trials.learn(workspace.home.worker_note, self._ended)
            self._at_work = AtWork(workspace.home.worker_note)
        return Projector(
            workspace.log, graph, workspace.records, patience=patience, at_work=self._at_work, left_out=lambda: self._trials.tenants
        )

    async def _projected(self, projector: Projector) -> int:
        """Project what waits; how much it was. What is wrong with one tenant's entries leaves the graph open, and all else goes on.

        Raises:
            Exception: the store cannot be used; it is opened anew.
        """
        try:
            projected = await projector.catch_up(until=partial(self._has_had_its_turn, time.monotonic()))
        except HeadwaterError as error:
            if error.transient or (done := projector.done_beside_faults) is None:
                raise
            self._fail(error, "behind for a tenant")
            if not done:
                self._stopping.wait(_PAUSE)
            self._count(done)
            return done
        self._retries = self._retries or self.state.startswith(_FAULTS)
        self.state = _APART if self._trials.tenants else "running"
        self._count(projected)
        return projected

    def _count(self, projected: int) -> None:
        if projected:
            self._on_projected(projected)

    async def _retry_where_due(self, projector: Projector) -> None:
        if self._retries:
            self._retries = False
            for tenant in self._workspace.log.tenants():
                if tenant not in self._trials.tenants:
                    await self._retry(projector, tenant)

    async def _retry(self, projector: Projector, tenant: str) -> None:
        """Project the dead letters of a tenant once more; where that cannot be done now, new entries of all tenants go on."""
        try:
            await projector.retry(tenant)
        except HeadwaterError as error:
            if error.transient:
                raise
            _log.warning("the dead letters of tenant %s wait for the next start: %s", tenant, error)

    def _has_had_its_turn(self, began: float) -> bool:
        return self._stopping.is_set() or time.monotonic() - began > _TURN

    async def _clear_staging(self, projector: Projector) -> None:
        """Drop old segments, unless an entry waits, for us or for another replica: what a manifest lists was acknowledged with it."""
        waiting = [await _waits(projector, tenant) for tenant in await asyncio.to_thread(self._workspace.log.tenants)]
        self._staging_due = time.monotonic() + (_SPOOL if any(waiting) else _STAGING)
        if any(waiting):
            return
        try:
            stale = self._workspace.records.clear_stale(time.time() - self._workspace.settings.staged_hours * 3600)
        except (OSError, HeadwaterError) as error:
            _log.warning("staged segments cannot be looked through: %s", error)
            return
        if stale:
            _log.info("dropped the staged segments of %d captures whose manifest never came", stale)

    def _learn(self) -> None:
        """Learn what other services keep, where associations are shared: so that no question has much to learn."""
        try:
            for tenant in {DEFAULT_TENANT, *self._workspace.log.tenants()}:
                self._workspace.records.refresh(tenant)
        except Exception as error:  # noqa: BLE001 - every question learns what is missing, or says that it cannot
            _log.warning("what other services keep is not known for now: %s", error)

    def _prune(self) -> None:
        """Prune by the policy of the settings, where they have one."""
        try:
            if (policy := self._policy) is None:
                return
            for tenant in self._workspace.log.tenants():
                report = prune_audited(self._workspace, tenant, policy, by="the service", until=self._stopping.is_set)
                if report.captures:
                    _log.info("pruned %d captures of tenant %s by the policy: %s", sum(report.captures.values()), tenant, policy)
        except Exception as error:  # noqa: BLE001 - what cannot be pruned now is kept until the next time
            _log.warning("nothing more is pruned for now: %s", error)

    def _clear_spool(self) -> None:
        try:
            delivered = self._workspace.take_spool()
        except HeadwaterError as error:
            _log.warning("the spool waits: %s", error)
            return
        if delivered.arrived or delivered.refused:
            _log.info(
                "taken from the spool: %d items, %d refused, %d damaged", delivered.arrived, len(delivered.refused), delivered.damaged
            )

    def _keeps(self) -> bool:
        """Keep groups of the next capture, or what a trace asks for, beside the projection; whether something was begun."""
        if self._waiting is None:
            self._waiting = self._workspace.records.catalog.next_unkept(DEFAULT_TENANT, self._looked_at)
        if self._keeper is not None and self._keeper.is_alive():
            if self._for_speed is not None and self._waiting is not None:
                self._interrupt()  # the sources of the captures may change meanwhile
            return False
        self._end_statement = self._for_speed = None
        work: Callable[[], None]
        if self._waiting is not None:
            work = partial(self._keep_groups, *self._waiting)
            self._looked_at, self._waiting = self._waiting[0], None
        elif (wanted := self._workspace.records.wanted.take()) is not None:
            self._for_speed = wanted
            work = partial(self._keep_wanted, wanted)
        else:
            return False
        self._keeper = Thread(target=work, name="headwater-keeper", daemon=True)
        self._keeper.start()
        self._keeper.join(_IDLE)  # many captures have nothing to keep
        return True

    def _interrupt(self) -> None:
        """End the statement that the keeper is at, if it is at one."""
        end = self._end_statement
        if end is not None:
            end()

    def _keep_groups(self, number: int, capture: str) -> None:
        """Keep what traces could not find again once its source is written anew."""
        # DuckDB loads with it: a service that is only asked for its health does without.
        from headwater.graph.trace.recomputed.keep import keep_groups

        try:
            records = self._workspace.records
            if kept := keep_groups(records, DEFAULT_TENANT, capture, begun=self._begun):
                _log.info("kept the groups of %d boundaries of capture %s", kept, capture)
            if not records.wanted.waits_for(DEFAULT_TENANT, capture):  # what waits is in memory alone
                records.catalog.looked_at(number)
        except Exception as error:  # noqa: BLE001 - what is wrong with one capture does not hold up the others
            _log.warning("the groups of capture %s are not kept: %s", capture, error)

    def _begun(self, end_statement: Callable[[], None]) -> None:
        self._end_statement = end_statement

    def _keep_wanted(self, wanted: Wanted) -> None:
        """Keep what a trace found again at length, so that the next need not."""
        from headwater.graph.trace.recomputed.keep import keep_wanted

        what = f"boundary {wanted.boundary} of capture {wanted.capture}"
        try:
            kept = keep_wanted(self._workspace.records, wanted, begun=self._begun)
            _log.info("%s %s", what, "is kept" if kept else "is left to be found again")
        except Exception as error:  # noqa: BLE001 - what is wrong with one table does not hold up the others; interrupting raises too
            if self._waiting and not self._stopping.is_set():
                self._workspace.records.wanted.forget(wanted)
                _log.info("%s is left to be found again for now: there are captures to be kept", what)
            else:
                _log.warning("%s is not kept: %s", what, error)

    def _fail(self, error: Exception, how: str = "failed") -> None:
        """Note what is wrong. A tenant is not named: anybody may read the state."""
        if not self.state.startswith(how):
            _log.error("projection %s, and is tried again: %s", "stopped" if how == "failed" else f"is {how}", error, exc_info=error)
        self.state = f"{how}: {type(error).__name__}"


async def _waits(projector: Projector, tenant: str) -> bool:
    """Whether an entry of a tenant waits; of one whose log is damaged, nobody knows."""
    try:
        return await projector.pending(tenant) > 0
    except DamagedError:
        return True
