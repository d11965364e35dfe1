"""The thread that finds causes and runs actions for a home or a replica. The worker starts it.

Several processes may run such a thread at once. While there are no triggers, the thread looks for new ones once a second.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from threading import Event, Thread

from headwater.backend.access.keys import ring_of
from headwater.backend.access.masks import Masks
from headwater.backend.access.people.directory import People
from headwater.backend.triggers.owners import Owners
from headwater.backend.triggers.store import has_store, open_store
from headwater.backend.triggers.tenant_records import TenantRecords
from headwater.backend.workspace import Workspace, graph_store
from headwater.errors import HeadwaterError

_TICK = 0.2  # seconds between two looks at the clock
_IDLE = 1.0  # seconds between two looks for triggers
_PAUSE = 2.0  # seconds after a fault
_log = logging.getLogger("headwater.triggers")


class TriggerDriver:
    """Finds causes and runs actions between `start` and `stop`. `wake` reports that log entries were projected."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stopping = False
        self._woken = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._go_on()), name="headwater-triggers", daemon=True)
        self.state = "idle"

    def start(self) -> None:
        if not self._thread.is_alive() and not self._stopping:
            self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        """Stop the thread. Running programs of actions are not ended."""
        self._stopping = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()

    async def _go_on(self) -> None:
        while not self._stopping:
            self._woken.clear()  # else an earlier wake would end every wait below
            if not has_store(self._workspace.settings):
                await self._wait(_IDLE)
                continue
            try:
                await self._work()
            except Exception as error:  # noqa: BLE001 - whatever it is, triggers must go on when it is over
                self.state = f"failed: {error}"
                _log.warning("triggers wait: %s", error, exc_info=not isinstance(error, HeadwaterError))
                self._woken.clear()
                await self._wait(_PAUSE)

    async def _work(self) -> None:
        # These imports load DuckDB, which a service without triggers does not need.
        from headwater.backend.triggers.actions import Site
        from headwater.backend.triggers.evaluator import Evaluator
        from headwater.backend.triggers.permissions import Permissions
        from headwater.backend.triggers.runner import Runner
        from headwater.backend.triggers.silence import Silence
        from headwater.backend.triggers.turn import Pruning, SourceLooks, take_turn

        settings = self._workspace.settings
        store = await asyncio.to_thread(open_store, settings)
        graph = graph_store(settings)
        owners = Owners(ring_of(settings), People(settings.folder.people))
        permissions = Permissions(owners, Masks(settings.folder.masks))
        records = TenantRecords(self._workspace)
        site = Site(replace(self._workspace, graph=graph))
        runner, looks = Runner(store, site, permissions), SourceLooks(site)
        evaluator = Evaluator(store, self._workspace.log, graph, records.of, permissions.refusal)
        silence = Silence(store, self._workspace.log, graph)
        pruning = Pruning(store, settings.trigger_days)
        try:
            await graph.open()
            while not self._stopping:
                self._woken.clear()
                try:
                    did = await take_turn(store, evaluator, runner, pruning, looks, silence)
                except HeadwaterError as error:  # running actions continue
                    self.state = f"failed: {error}"
                    _log.warning("triggers wait: %s", error)
                    await self._wait(_PAUSE)
                    continue
                self.state = "running"
                if not did:
                    await self._wait(_TICK)
        finally:
            with suppress(HeadwaterError):
                await runner.stop()
            owners.close()
            await asyncio.to_thread(records.close)
            await graph.close()
            await asyncio.to_thread(store.close)

    async def _wait(self, seconds: float) -> None:
        if not self._stopping:
            await asyncio.to_thread(self._woken.wait, seconds)
