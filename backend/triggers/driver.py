"""The thread that finds causes and runs actions for a home or a replica. The worker starts it.

Several processes may run such a thread at once. While there are no triggers, the thread looks for new ones once a second.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from headwater.backend.access.keys import ring_of
from headwater.backend.access.masks import Masks
from headwater.backend.access.people.directory import People
from headwater.backend.process.background_loop import BackgroundLoop
from headwater.backend.triggers.owners import Owners
from headwater.backend.triggers.store import has_store, open_store
from headwater.backend.triggers.tenant_records import TenantRecords
from headwater.backend.workspace import Workspace, graph_store
from headwater.errors import HeadwaterError

_TICK = 0.2  # seconds between two looks at the clock
_PAUSE = 2.0  # seconds after a fault


class TriggerDriver(BackgroundLoop):
    """Finds causes and runs actions between `start` and `stop`. `wake` reports that log entries were projected."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__("triggers", pause=_PAUSE)
        self._workspace = workspace

    def _is_needed(self) -> bool:
        return has_store(self._workspace.settings)

    async def _work(self) -> None:
        # These imports load DuckDB, which a service without triggers does not need.
        from headwater.backend.triggers.actions import Site
        from headwater.backend.triggers.evaluator import Evaluator
        from headwater.backend.triggers.openings import Openings
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
        openings = Openings(store, settings)
        pruning = Pruning(store, settings.trigger_days)
        try:
            await graph.open()
            while not self._stopping:
                self._woken.clear()
                try:
                    did = await take_turn(store, evaluator, runner, pruning, looks, silence, openings)
                except Exception as error:
                    if not isinstance(error, HeadwaterError) and not runner.is_busy:
                        raise  # the stores are opened anew
                    self._fail(error)  # running actions continue
                    await self._wait(_PAUSE)
                    continue
                self.state = "running"
                if not did:
                    await self._wait(_TICK)
        finally:
            with suppress(HeadwaterError):
                await runner.stop()
            owners.close()
            await asyncio.to_thread(openings.close)
            await asyncio.to_thread(records.close)
            await graph.close()
            await asyncio.to_thread(store.close)
