"""The thread that checks new runs against the applied policies. The worker starts it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from threading import Event, Thread

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.ingest.log import IngestLog
from headwater.backend.policies.follower import PolicyFollower
from headwater.backend.policies.service import Policies, has_policies
from headwater.errors import HeadwaterError
from headwater.graph.stores import GraphStore

_IDLE = 1.0  # seconds between two looks for entries
_PAUSE = 5.0  # seconds after a fault
_log = logging.getLogger("headwater.policies")


class PolicyDriver:
    """Checks runs between `start` and `stop`. `wake` reports that log entries were projected."""

    def __init__(self, settings: HomeSettings, log: IngestLog, open_graph: Callable[[], GraphStore]) -> None:
        self._settings, self._log, self._open_graph = settings, log, open_graph
        self._stopping = False
        self._woken = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._go_on()), name="headwater-policies", daemon=True)

    def start(self) -> None:
        if not self._thread.is_alive() and not self._stopping:
            self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        self._stopping = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()

    async def _go_on(self) -> None:
        while not self._stopping:
            self._woken.clear()  # else an earlier wake would end every wait below
            if not has_policies(self._settings):
                await self._wait(_IDLE)
                continue
            try:
                await self._work()
            except Exception as error:  # noqa: BLE001 - whatever it is, checks must go on when it is over
                _log.warning("policies wait: %s", error, exc_info=not isinstance(error, HeadwaterError))
                await self._wait(_PAUSE)

    async def _work(self) -> None:
        graph = self._open_graph()
        policies = Policies(self._settings, graph)
        try:
            await graph.open()
            follower = PolicyFollower(policies, self._log, graph)
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
                _log.warning("policy %s, rule %s: %s", filed.policy, filed.deviation.rule, filed.deviation.message)
        except HeadwaterError as error:  # the other tenants go on
            _log.warning("the policies of tenant %s wait: %s", tenant, error)

    async def _wait(self, seconds: float) -> None:
        if not self._stopping:
            await asyncio.to_thread(self._woken.wait, seconds)
