"""The thread that checks new runs against the applied policies. The worker starts it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.ingest.log import IngestLog
from headwater.backend.policies.follower import PolicyFollower
from headwater.backend.policies.service import Policies, has_policies
from headwater.backend.process.background_loop import BackgroundLoop
from headwater.errors import HeadwaterError
from headwater.graph.stores import GraphStore

_IDLE = 1.0  # seconds between two looks for entries
_PAUSE = 5.0  # seconds after a fault


class PolicyDriver(BackgroundLoop):
    """Checks runs between `start` and `stop`. `wake` reports that log entries were projected."""

    def __init__(self, settings: HomeSettings, log: IngestLog, open_graph: Callable[[], GraphStore]) -> None:
        super().__init__("policies", pause=_PAUSE)
        self._settings, self._entries, self._open_graph = settings, log, open_graph

    def _is_needed(self) -> bool:
        return has_policies(self._settings)

    async def _work(self) -> None:
        graph = self._open_graph()
        policies = Policies(self._settings, graph)
        try:
            await graph.open()
            follower = PolicyFollower(policies, self._entries, graph)
            while not self._stopping:
                self._woken.clear()
                for tenant in await asyncio.to_thread(policies.store.tenants):
                    await self._step(follower, tenant)
                await self._wait(_IDLE)
        finally:
            await graph.close()
            await policies.close()

    async def _step(self, follower: PolicyFollower, tenant: str) -> None:
        try:
            for filed in await follower.step(tenant):
                self._log.warning("policy %s, rule %s: %s", filed.policy, filed.deviation.rule, filed.deviation.message)
        except HeadwaterError as error:  # the other tenants go on
            self._log.warning("the policies of tenant %s wait: %s", tenant, error)
