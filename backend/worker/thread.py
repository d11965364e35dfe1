"""The worker: a thread that projects the log as it grows, and does maintenance.

Maintenance delivers the spool of dead applications and prunes by the policy of the settings. It also stores groups of records that a job
left to be computed later, if their source may be rewritten or a trace took long to compute them.

After a silent crash of a worker, its entries are tried separately (`trials`), and all other work continues.

The service runs it in a separate process (`process`, `child`) or in its own. The worker has its own event loop, graph store and
claim to the projector's role, so that a long projection never delays a request. If another process has the role, the worker waits until
that process ends. No error ends it: it reports the error (`state`, for `/readyz`) and tries again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Thread

from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.operate.upkeep.pruning import prune_audited
from headwater.backend.policies.driver import PolicyDriver
from headwater.backend.projector.current_entries import AtWork
from headwater.backend.projector.projector import Projector
from headwater.backend.triggers.driver import TriggerDriver
from headwater.backend.worker.trials import Trials
from headwater.backend.workspace import Workspace, graph_store
from headwater.errors import DamagedError, HeadwaterError
from headwater.graph.records import Wanted
from headwater.graph.records.prune import Policy
from headwater.graph.records.slow_tables import WantedTables
from headwater.graph.stores import GraphStore

_TURN = 5.0  # seconds of projection before other work and new tenants have a turn
_IDLE = 0.2  # seconds between two checks for appends of other processes
_SPOOL = 5.0
_PAUSE = 1.0
_FAULTS = ("failed", "behind")  # beginnings of the state after an error, for all waiting entries or for those of a tenant
_APART = "running; entries at which a worker ended are tried apart"
_PATIENCE = 30.0  # seconds to wait for an unreachable store
# If replicas share the log, a replica that cannot project soon yields to the others for a while.
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
        """`on_projected` gets the number of projected entries, `on_state` each new state.

        `ended` describes the end of the previous worker.
        """
        self._workspace = workspace
        self._policy = policy
        self._on_projected = on_projected
        self._on_state = on_state
        self._ended = ended or "nobody knows how"
        self._trials = Trials(workspace.settings, workspace.log)
        self._at_work: AtWork | None = None  # set after taking the role
        self._stopping = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._run()), name="headwater-worker", daemon=True)
        self._state = "starting"
        self._waiting: tuple[int, str] | None = None  # the next capture that may have groups to store
        self._looked_at = 0  # number of the last capture; the next service tries failed ones again
        self._keeper: Thread | None = None
        self._pruner: Thread | None = None
        self._learner: Thread | None = None
        self._end_statement: Callable[[], None] | None = None  # interrupts the keeper's current statement
        self._for_speed: Wanted | None = None  # the keeper's current request, if it can wait
        self._staging_due = 0.0
        self._triggers = TriggerDriver(workspace)
        self._policies = PolicyDriver(workspace.settings, workspace.log, lambda: graph_store(workspace.settings))
        self._retries = True  # whether dead letters are tried again, because their cause may be repaired

    @property
    def state(self) -> str:
        """Return the current activity, or the current problem."""
        return self._state

    @state.setter
    def state(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._on_state(state)

    @property
    def differences(self) -> Sequence[str]:
        return self._workspace.role.differences

    @property
    def wanted(self) -> WantedTables:
        """Return the requests for tables that traces had to compute slowly. They are stored when there is time."""
        return self._workspace.records.wanted

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._workspace.log.appended.set()
        self._triggers.stop()
        self._policies.stop()
        self._thread.join()
        while self._keeper is not None and self._keeper.is_alive():
            self._interrupt()
            self._keeper.join(_IDLE)
        if self._pruner is not None:
            self._pruner.join()

    def abandon(self) -> None:
        """Record that the process ends now, and not because of an entry."""
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
            self._triggers.start()
            self._policies.start()
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
        """Return the projector. The holder of the role is alone on the home, so an existing note is from a worker that ended."""
        workspace = self._workspace
        if self._at_work is None:
            self._trials.learn(workspace.home.worker_note, self._ended)
            self._at_work = AtWork(workspace.home.worker_note)
        return Projector(
            workspace.log, graph, workspace.records, patience=patience, at_work=self._at_work, left_out=lambda: self._trials.tenants
        )

    async def _projected(self, projector: Projector) -> int:
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
            self._triggers.wake()
            self._policies.wake()
            self._on_projected(projected)

    async def _retry_where_due(self, projector: Projector) -> None:
        if self._retries:
            self._retries = False
            for tenant in self._workspace.log.tenants():
                if tenant not in self._trials.tenants:
                    await self._retry(projector, tenant)

    async def _retry(self, projector: Projector, tenant: str) -> None:
        try:
            await projector.retry(tenant)
        except HeadwaterError as error:
            if error.transient:
                raise
            _log.warning("the dead letters of tenant %s wait for the next start: %s", tenant, error)

    def _has_had_its_turn(self, began: float) -> bool:
        return self._stopping.is_set() or time.monotonic() - began > _TURN

    async def _clear_staging(self, projector: Projector) -> None:
        """Delete old staged segments, unless any entry waits, because an accepted manifest may need its segments."""
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
        """Refresh the list of captures that other replicas store, if associations are shared, so that requests need not do it."""
        try:
            for tenant in {DEFAULT_TENANT, *self._workspace.log.tenants()}:
                self._workspace.records.refresh(tenant)
        except Exception as error:  # noqa: BLE001 - every question learns what is missing, or says that it cannot
            _log.warning("what other services keep is not known for now: %s", error)

    def _prune(self) -> None:
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
        """Start to store groups of the next capture, or for a trace, in parallel to the projection. Returns whether work was started."""
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
        self._keeper.join(_IDLE)  # many captures have no groups, so this is often quick
        return True

    def _interrupt(self) -> None:
        end = self._end_statement
        if end is not None:
            end()

    def _keep_groups(self, number: int, capture: str) -> None:
        """Store groups that traces could not compute any more after their source is rewritten."""
        # This import loads DuckDB, which a service that only answers health checks does not need.
        from headwater.graph.trace.recompute.group_keeper import keep_groups

        try:
            records = self._workspace.records
            if kept := keep_groups(records, DEFAULT_TENANT, capture, start_task=self._begun):
                _log.info("kept the groups of %d boundaries of capture %s", kept, capture)
            if not records.wanted.waits_for(DEFAULT_TENANT, capture):  # requests are in memory only
                records.catalog.looked_at(number)
        except Exception as error:  # noqa: BLE001 - what is wrong with one capture does not hold up the others
            _log.warning("the groups of capture %s are not kept: %s", capture, error)

    def _begun(self, end_statement: Callable[[], None]) -> None:
        self._end_statement = end_statement

    def _keep_wanted(self, wanted: Wanted) -> None:
        """Store a table that a trace computed slowly, so that the next trace need not."""
        from headwater.graph.trace.recompute.group_keeper import keep_wanted

        what = f"boundary {wanted.boundary} of capture {wanted.capture}"
        try:
            kept = keep_wanted(self._workspace.records, wanted, start_task=self._begun)
            _log.info("%s %s", what, "is kept" if kept else "is left to be found again")
        except Exception as error:  # noqa: BLE001 - what is wrong with one table does not hold up the others; interrupting raises too
            if self._waiting and not self._stopping.is_set():
                self._workspace.records.wanted.forget(wanted)
                _log.info("%s is left to be found again for now: there are captures to be kept", what)
            else:
                _log.warning("%s is not kept: %s", what, error)

    def _fail(self, error: Exception, how: str = "failed") -> None:
        if not self.state.startswith(how):
            _log.error("projection %s, and is tried again: %s", "stopped" if how == "failed" else f"is {how}", error, exc_info=error)
        self.state = f"{how}: {type(error).__name__}"


async def _waits(projector: Projector, tenant: str) -> bool:
    try:
        return await projector.pending(tenant) > 0
    except DamagedError:
        return True
