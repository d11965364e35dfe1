"""One cycle of the driver: find causes, then start actions."""

from __future__ import annotations

import asyncio
import time

from headwater.backend.triggers.actions import Site
from headwater.backend.triggers.evaluator import Evaluator
from headwater.backend.triggers.model import Trigger
from headwater.backend.triggers.openings import Openings
from headwater.backend.triggers.runner import Runner
from headwater.backend.triggers.silence import Silence
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.workflows.arrivals import SourceWatch
from headwater.errors import HeadwaterError

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


class SourceLooks:
    """Looks whether a trigger of a workflow has something to read in its sources."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._watch = SourceWatch()

    def is_idle(self, trigger: Trigger) -> bool:
        """Whether there is nothing to read. If this process cannot know that, the action runs and names the fault."""
        action = trigger.definition.action
        if action.kind != "workflow":
            return False
        try:
            return not self._site.workspace.workflows().has_work(action.parts["name"], action.parts["tasks"], self._watch)
        except (HeadwaterError, OSError):
            return False


async def take_turn(
    store: TriggerStore, evaluator: Evaluator, runner: Runner, pruning: Pruning, looks: SourceLooks, silence: Silence,
    openings: Openings,
) -> int:  # fmt: skip
    """Find causes and start actions once. Returns the number of entries, predicates, causes and executions processed."""
    done = 0
    for tenant in await asyncio.to_thread(store.definitions.tenants):
        done += await evaluator.follow_log(tenant)
        done += await evaluator.check_rows(tenant)
        done += await silence.look(tenant)
        done += await openings.look(tenant)
    done += await asyncio.to_thread(store.causes.tick, looks.is_idle)
    await pruning.step()
    tenants = await asyncio.to_thread(store.executions.tenants)
    return done + await runner.step(tenants)
