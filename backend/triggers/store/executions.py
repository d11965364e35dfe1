"""Stores executions: the process that runs each of them, and their results.

A process claims a waiting execution, and renews its lease while the action runs. An ended lease shows that the process is gone. The
execution then runs again if its action may be repeated, and is interrupted otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import sample

from headwater.backend.tables.database import Connection, Database
from headwater.backend.triggers.model import Cause, Execution, ExecutionState, Trigger
from headwater.backend.triggers.store.rows import CAUSE, EXECUTION, TRIGGER, cause_of, execution_of, lock_tenant, trigger_of

LEASE = 15.0  # seconds
INTERRUPTED = "The process that ran it ended before its end."


@dataclass(frozen=True, slots=True)
class Claim:
    """An execution that a process may run now, with its trigger and cause. The trigger's owner is the owner at the time of the cause."""

    execution: Execution
    trigger: Trigger
    cause: Cause


class Executions:
    """The executions of all triggers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tenants(self) -> list[str]:
        rows = self._database.ask("SELECT DISTINCT tenant FROM trigger_execution WHERE state IN ('waiting', 'running')")
        return [row[0] for row in rows]

    def claim(self, tenant: str, holder: str, *, most: int, may_run: Callable[[Trigger], bool]) -> list[Claim]:
        """Start waiting executions, oldest first, and return them. `may_run` decides whether this process can run a trigger's action."""
        with self._database.transaction() as connection:
            lock_tenant(connection, tenant)
            now = connection.now()
            counted = "SELECT trigger_id, count(*) FROM trigger_execution WHERE state = 'running' AND tenant = :tenant GROUP BY trigger_id"
            running = {row[0]: int(row[1]) for row in connection.run(counted, tenant=tenant)}
            waiting = connection.run(
                f"SELECT DISTINCT {TRIGGER} FROM trigger_definition d JOIN trigger_execution e ON e.trigger_id = d.id"
                " WHERE e.state = 'waiting' AND e.due <= :now AND e.tenant = :tenant AND d.state = 'active'",
                now=now, tenant=tenant,
            )  # fmt: skip
            claims: list[Claim] = []
            for trigger in sample(found := [trigger_of(row) for row in waiting], len(found)):  # no trigger is always the last
                free = min(most - len(claims), trigger.definition.limits.concurrent - running.get(trigger.id, 0))
                if free <= 0 or not may_run(trigger):
                    continue
                rows = connection.run(
                    f"SELECT {CAUSE}, {EXECUTION}, e.owner FROM trigger_execution e JOIN trigger_cause c"
                    " ON c.trigger_id = e.trigger_id AND c.cause = e.cause"
                    " WHERE e.trigger_id = :trigger AND e.state = 'waiting' AND e.due <= :now ORDER BY e.created, e.id LIMIT :free",
                    trigger=trigger.id, now=now, free=free,
                )  # fmt: skip
                claims += [Claim(execution_of(row[8:-1]), replace(trigger, owner=json.loads(row[-1])), cause_of(row[:8])) for row in rows]
            for claim in claims:
                connection.run(
                    "UPDATE trigger_execution SET state = 'running', holder = :holder, lease = :lease, attempt = attempt + 1,"
                    " started = coalesce(started, :now) WHERE id = :id",
                    holder=holder, lease=now + LEASE, now=now, id=claim.execution.id,
                )  # fmt: skip
        return [Claim(self.get(tenant, claim.execution.id) or claim.execution, claim.trigger, claim.cause) for claim in claims]

    def renew(self, holder: str, identifiers: Sequence[str]) -> None:
        with self._database.transaction() as connection:
            until = connection.now() + LEASE
            for identifier in identifiers:
                connection.run(
                    "UPDATE trigger_execution SET lease = :until WHERE id = :id AND holder = :holder AND state = 'running'",
                    until=until, holder=holder, id=identifier,
                )  # fmt: skip

    def recover(self, may_repeat: Callable[[Trigger, Execution], bool]) -> list[Execution]:
        """Take over executions whose lease has ended. Repeatable ones wait again; the others are interrupted, and are returned."""
        with self._database.transaction() as connection:
            now = connection.now()
        interrupted: list[Execution] = []
        rows = self._database.ask("SELECT DISTINCT tenant FROM trigger_execution WHERE state = 'running' AND lease < :now", now=now)
        for (tenant,) in rows:
            with self._database.transaction() as connection:
                lock_tenant(connection, tenant)
                lost = connection.run(
                    f"SELECT {EXECUTION} FROM trigger_execution e WHERE e.state = 'running' AND e.lease < :now AND e.tenant = :tenant",
                    now=now, tenant=tenant,
                )  # fmt: skip
                for execution in map(execution_of, lost):
                    of = connection.run(f"SELECT {TRIGGER} FROM trigger_definition d WHERE d.id = :id", id=execution.trigger)
                    if of and may_repeat(trigger_of(of[0]), execution):
                        connection.run(
                            "UPDATE trigger_execution SET state = 'waiting', due = :now WHERE id = :id", now=now, id=execution.id
                        )
                        continue
                    connection.run(
                        "UPDATE trigger_execution SET state = 'interrupted', ended = :now, error = :error WHERE id = :id",
                        now=now, error=INTERRUPTED, id=execution.id,
                    )  # fmt: skip
                    interrupted.append(execution)
        return interrupted

    def finish(
        self, execution: Execution, holder: str, state: ExecutionState, *, error: str | None = None, result: str | None = None
    ) -> bool:
        """Record the end of an attempt. Returns False if another process has the execution by now.

        A process that lost its lease but finished the action replaces the state `interrupted`.
        """
        with self._database.transaction() as connection:
            return _finish(connection, execution, holder, state, error, result)

    def postpone(self, execution: Execution, holder: str, seconds: float, error: str | None = None) -> None:
        """Let an execution wait for another attempt."""
        with self._database.transaction() as connection:
            connection.run(
                "UPDATE trigger_execution SET state = 'waiting', due = :due, error = :error, lease = NULL"
                " WHERE id = :id AND holder = :holder AND attempt = :attempt AND state = 'running'",
                due=connection.now() + seconds, error=error, id=execution.id, holder=holder, attempt=execution.attempt,
            )  # fmt: skip

    def drop(self, claim: Claim, holder: str, reason: str) -> None:
        """End an execution that must not start, and mark its cause as skipped, in one transaction."""
        with self._database.transaction() as connection:
            if _finish(connection, claim.execution, holder, ExecutionState.FAILED, reason, None):
                connection.run(
                    "UPDATE trigger_cause SET outcome = 'skipped', reason = :reason WHERE trigger_id = :trigger AND cause = :cause",
                    reason=reason, trigger=claim.trigger.id, cause=claim.cause.id,
                )  # fmt: skip

    def get(self, tenant: str, identifier: str) -> Execution | None:
        rows = self._database.ask(
            f"SELECT {EXECUTION} FROM trigger_execution e WHERE e.id = :id AND e.tenant = :tenant", id=identifier, tenant=tenant
        )
        return execution_of(rows[0]) if rows else None

    def of(self, identifiers: Sequence[str]) -> dict[str, Execution]:
        found = {}
        for identifier in dict.fromkeys(identifiers):
            for row in self._database.ask(f"SELECT {EXECUTION} FROM trigger_execution e WHERE e.id = :id", id=identifier):
                found[identifier] = execution_of(row)
        return found

    def depths(self, tenant: str, runs: Sequence[str]) -> dict[str, int]:
        """Return the depths of the executions among some runs. Programs name the execution as the parent of their run."""
        found: dict[str, int] = {}
        for start in range(0, len(runs), 100):
            some = runs[start : start + 100]
            names = {f"r{number}": run for number, run in enumerate(some)}
            rows = self._database.ask(
                f"SELECT id, depth FROM trigger_execution WHERE tenant = :tenant AND id IN ({', '.join(f':{name}' for name in names)})",
                tenant=tenant, **names,
            )  # fmt: skip
            found |= {identifier: int(depth) for identifier, depth in rows}
        return found


def _finish(
    connection: Connection, execution: Execution, holder: str, state: ExecutionState, error: str | None, result: str | None
) -> bool:
    """Record the end of an attempt within a transaction. Return False if another process has the execution by now."""
    rows = connection.run(
        "UPDATE trigger_execution SET state = :state, ended = :now, error = :error, result = :result, lease = NULL"
        " WHERE id = :id AND holder = :holder AND attempt = :attempt AND state IN ('running', 'interrupted') RETURNING 1",
        state=str(state),
        now=connection.now(), error=error, result=result, id=execution.id, holder=holder, attempt=execution.attempt,
    )  # fmt: skip
    return bool(rows)
