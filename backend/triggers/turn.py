"""One cycle of the driver: find causes, then start actions."""

from __future__ import annotations

import asyncio
import time

from headwater.backend.triggers.evaluator import Evaluator
from headwater.backend.triggers.runner import Runner
from headwater.backend.triggers.store import TriggerStore

_PRUNED = 600.0  # seconds between two removals of old causes


class Pruning:
    """Removes causes that are older than some days, now and then."""

    def __init__(self, store: TriggerStore, days: float) -> None:
        self._store = store
        self._days = days
        self._due = time.monotonic()

    async def step(self) -> None:
        if time.monotonic() >= self._due:
            removed = await asyncio.to_thread(self._store.retention.prune, self._days)
            self._due = time.monotonic() + (0.0 if removed else _PRUNED)


async def take_turn(store: TriggerStore, evaluator: Evaluator, runner: Runner, pruning: Pruning) -> int:
    """Find causes and start actions once. Returns the number of entries, predicates, causes and executions processed."""
    done = 0
    for tenant in await asyncio.to_thread(store.definitions.tenants):
        done += await evaluator.follow_log(tenant)
        done += await evaluator.check_rows(tenant)
    done += await asyncio.to_thread(store.causes.tick)
    await pruning.step()
    tenants = await asyncio.to_thread(store.executions.tenants)
    return done + await runner.step(tenants)
