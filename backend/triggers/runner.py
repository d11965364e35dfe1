"""Runs the actions of executions. Each execution has a coroutine, and a lease that is renewed while the action runs.

Before an action starts, the runner checks the rights of the owner and writes a line to the audit log. If either fails, the action does not
start.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from uuid import uuid4

from headwater.backend.audit.log import append_line
from headwater.backend.targets.settings import RETRY_HOURS
from headwater.backend.triggers.actions import ACTIONS, Order, Site
from headwater.backend.triggers.model import Execution, ExecutionState, Trigger
from headwater.backend.triggers.permissions import Permissions
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.executions import LEASE, Claim
from headwater.errors import HeadwaterError, UnavailableError

ATTEMPTS = 5
_MOST = 16  # limit of executions in this process at once
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 900.0  # seconds between two attempts
_RENEWED = LEASE / 5
_LONGEST = 2_000  # limit of stored characters of an error
_log = logging.getLogger("headwater.triggers")


class Runner:
    """Runs executions of all tenants in this process."""

    def __init__(self, store: TriggerStore, site: Site, permissions: Permissions) -> None:
        self.holder = uuid4().hex
        self._store = store
        self._site = site
        self._permissions = permissions
        self._tasks: dict[asyncio.Task[None], str] = {}  # with the id of the execution
        self._renewal: asyncio.Task[None] | None = None
        self._recovered = 0.0

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    async def step(self, tenants: list[str]) -> int:
        """Start the executions that may start now, and return their number."""
        now = time.monotonic()
        if now - self._recovered >= _RENEWED:
            self._recovered = now
            for lost in await asyncio.to_thread(self._store.executions.recover, self._may_repeat):
                self._audit(lost.tenant, "trigger.interrupted", lost.trigger, execution=lost.id, decision="failed")
        started = 0
        for tenant in tenants:
            if (free := _MOST - len(self._tasks)) <= 0:
                break
            claims = await asyncio.to_thread(partial(self._store.executions.claim, tenant, self.holder, most=free, may_run=self._may_run))
            for claim in claims:
                task = asyncio.create_task(self._run(claim))
                self._tasks[task] = claim.execution.id
                task.add_done_callback(self._tasks.pop)
            started += len(claims)
        if self._tasks and (self._renewal is None or self._renewal.done()):
            self._renewal = asyncio.create_task(self._renew())
        return started

    async def wait(self) -> None:
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def stop(self) -> None:
        """Stop waiting for running actions. Their programs are not ended."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)

    async def _renew(self) -> None:
        while self._tasks:
            with suppress(UnavailableError):  # the next attempt comes before the leases end
                await asyncio.to_thread(self._store.executions.renew, self.holder, list(self._tasks.values()))
            await asyncio.sleep(_RENEWED)

    def _may_run(self, trigger: Trigger) -> bool:
        action = trigger.definition.action
        return action.kind in ACTIONS and ACTIONS[action.kind].is_possible(action.parts, self._site)

    def _may_repeat(self, trigger: Trigger, execution: Execution) -> bool:
        action = ACTIONS.get(trigger.definition.action.kind)
        return action is not None and action.repeats and self._has_time(trigger, execution)

    def _has_time(self, trigger: Trigger, execution: Execution, pause: float = 0.0) -> bool:
        """Whether another attempt may start after a pause: there were few attempts, or the time for repetitions is not over."""
        if execution.attempt < ATTEMPTS:
            return True
        stated = trigger.definition.action
        try:
            seconds = ACTIONS[stated.kind].retry_seconds(stated.parts, self._site)
        except HeadwaterError as error:
            seconds = RETRY_HOURS * 3600.0 if error.transient else 0.0
        return time.time() + pause - execution.created < seconds

    async def _run(self, claim: Claim) -> None:
        execution, trigger, cause = claim.execution, claim.trigger, claim.cause
        try:
            if not await self._begin(claim):
                return
            stated = trigger.definition.action
            order = Order(
                execution.id,
                trigger.name,
                trigger.tenant,
                cause.id,
                execution.depth,
                execution.attempt,
                cause.facts,
                str(trigger.owner.get("name")),
            )
            result = await ACTIONS[stated.kind].run(stated.parts, order, self._site)
        except asyncio.CancelledError:
            await asyncio.shield(self._cut_off(claim))
            raise
        except HeadwaterError as error:
            await self._fail(claim, error)
        except Exception as error:  # noqa: BLE001 - the state must never stay "running" when nothing runs
            _log.warning("the action of trigger %s failed", trigger.name, exc_info=error)
            await self._end(claim, ExecutionState.FAILED, error=f"A fault of ours: {type(error).__name__}.")
        else:
            await self._end(claim, ExecutionState.COMPLETE, result=result)

    async def _begin(self, claim: Claim) -> bool:
        """Check the owner's rights, and write to the audit log. Returns whether the action may start."""
        trigger = claim.trigger
        refusal = await asyncio.to_thread(self._permissions.refusal, trigger)
        line = partial(self._audit, trigger.tenant, "trigger.fire", trigger.name, execution=claim.execution.id, cause=claim.cause.id)
        if refusal is None:
            await asyncio.to_thread(partial(line, decision="allowed", who=str(trigger.owner.get("name"))))
            return True
        await asyncio.to_thread(partial(line, decision="refused", who=str(trigger.owner.get("name")), reason=refusal))
        await asyncio.to_thread(self._store.executions.drop, claim, self.holder, refusal)
        await asyncio.to_thread(self._store.definitions.stop, trigger, refusal)
        return False

    async def _fail(self, claim: Claim, error: HeadwaterError) -> None:
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(claim.execution.attempt - 1, 20))
        if error.transient and await asyncio.to_thread(self._has_time, claim.trigger, claim.execution, pause):
            with suppress(UnavailableError):
                await asyncio.to_thread(self._store.executions.postpone, claim.execution, self.holder, pause, str(error)[:_LONGEST])
            return
        attempts = f" It was given up after {claim.execution.attempt} attempts." if error.transient else ""
        await self._end(claim, ExecutionState.FAILED, error=f"{str(error)[:_LONGEST]}{attempts}")

    async def _cut_off(self, claim: Claim) -> None:
        execution = claim.execution
        with suppress(HeadwaterError):
            if self._may_repeat(claim.trigger, execution):
                await asyncio.to_thread(self._store.executions.postpone, execution, self.holder, 0.0)
            else:
                reason = "The service ended while it ran. A program that it started runs to its own end."
                await asyncio.to_thread(
                    partial(self._store.executions.finish, execution, self.holder, ExecutionState.INTERRUPTED, error=reason)
                )

    async def _end(self, claim: Claim, state: ExecutionState, *, error: str | None = None, result: str | None = None) -> None:
        trigger, execution = claim.trigger, claim.execution
        finish = partial(self._store.executions.finish, execution, self.holder, state, error=error, result=result)
        audit = partial(
            self._audit, trigger.tenant, "trigger.end", trigger.name, execution=execution.id, decision="allowed", state=str(state),
            who=str(trigger.owner.get("name")),
        )  # fmt: skip
        try:
            await asyncio.to_thread(finish)
            await asyncio.to_thread(audit)
        except HeadwaterError as fault:  # the lease of the execution ends, and another process recovers it
            _log.warning("the end of execution %s is not recorded: %s", execution.id, fault)

    def _audit(self, tenant: str, what: str, trigger: str, *, execution: str, decision: str, who: str = "the service", **more: str) -> None:
        line = {"who": who, "tenant": tenant, "what": what, "on": [f"trigger {trigger}"], "execution": execution, "decision": decision}
        append_line(self._site.workspace.home.audit, {**line, **more})
