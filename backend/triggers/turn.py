"""One cycle of the driver: find causes, then start actions."""

from __future__ import annotations

import asyncio

from headwater.backend.triggers.evaluator import Evaluator
from headwater.backend.triggers.runner import Runner
from headwater.backend.triggers.store import TriggerStore


async def take_turn(store: TriggerStore, evaluator: Evaluator, runner: Runner) -> int:
    """Find causes and start actions once. Returns the number of entries, predicates, causes and executions processed."""
    done = 0
    for tenant in await asyncio.to_thread(store.definitions.tenants):
        done += await evaluator.follow_log(tenant)
        done += await evaluator.check_rows(tenant)
    done += await asyncio.to_thread(store.causes.tick)
    tenants = await asyncio.to_thread(store.executions.tenants)
    return done + await runner.step(tenants)
