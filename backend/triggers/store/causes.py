"""Stores causes. Each cause leads to one execution at most.

Every method works in one transaction that holds the tenant's lock. A cause and its waiting execution are written together. A process that
finds the same cause again is stopped by the unique key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.backend.tables.database import Connection, Database
from headwater.backend.triggers.model import Cause, Fact, Trigger
from headwater.backend.triggers.store.cause_writer import CauseWriter, Match, where_of
from headwater.backend.triggers.store.rows import CAUSE, TRIGGER, cause_of, lock_tenant, trigger_of
from headwater.errors import InvalidInputError

CHECK_SECONDS = 60.0  # an unfinished check is due again after this time
CHECK_ATTEMPTS = 5
_SKEW = 60.0  # seconds by which the clock of this machine may differ from the database's


@dataclass(frozen=True, slots=True)
class Check:
    """A predicate over rows that waits for evaluation."""

    trigger: Trigger
    member: int
    fact: Fact
    where: str
    attempt: int


class Causes:
    """The causes of all triggers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, tenant: str, matches: Sequence[Match], *, after: int, upto: int) -> int:
        """Record the matches of the log entries between two offsets, and move the cursor. Returns the number of executions ordered.

        The method does nothing if the cursor is not at `after`, because another process was faster.
        """
        with self._database.transaction() as connection:
            if lock_tenant(connection, tenant) != after:
                return 0
            ordered = _add(connection, tenant, matches)
            connection.run("UPDATE trigger_lock SET number = :upto WHERE tenant = :tenant", upto=upto, tenant=tenant)
        return ordered

    def record_openings(self, tenant: str, matches: Sequence[Match], *, after: int, upto: int) -> int:
        """Record deviations that opened, and move the cursor over their numbers. Returns the number of executions ordered.

        The method does nothing if the cursor is not at `after`, because another process was faster.
        """
        with self._database.transaction() as connection:
            lock_tenant(connection, tenant)
            moved = connection.run(
                "UPDATE trigger_lock SET opening = :upto WHERE tenant = :tenant AND opening = :after RETURNING 1",
                upto=upto, after=after, tenant=tenant,
            )  # fmt: skip
            return _add(connection, tenant, matches) if moved else 0

    def record_facts(self, tenant: str, matches: Sequence[Match]) -> int:
        """Record facts that no entry of the log states. Returns the number of executions ordered."""
        with self._database.transaction() as connection:
            lock_tenant(connection, tenant)
            return _add(connection, tenant, matches)

    def fire(self, trigger: Trigger, fact: Fact) -> Cause:
        """Fire a trigger by hand, whatever its condition. The cause has the id of the fact. An existing cause is returned unchanged."""
        with self._database.transaction() as connection:
            lock_tenant(connection, trigger.tenant)
            turn = CauseWriter(connection, trigger.tenant)
            turn.fire(trigger.id, fact.id, [fact])
            rows = connection.run(
                f"SELECT {CAUSE} FROM trigger_cause c WHERE c.trigger_id = :id AND c.cause = :cause", id=trigger.id, cause=fact.id
            )
            is_past = not rows and turn.is_known(trigger.id, fact.id)
        if is_past:
            raise InvalidInputError(
                f"The key of this call fired {trigger.name} before, and the cause is removed from its history.", field="key",
                hint="Give another key to fire it again.",
            )  # fmt: skip
        if not rows:
            raise InvalidInputError(f"The trigger {trigger.name} is {trigger.state}.", field="name", hint="Resume it first.")
        return cause_of(rows[0])

    def tick(self, is_idle: Callable[[Trigger], bool] = lambda _: False) -> int:
        """Fire the time conditions that are due. Returns the number of executions ordered.

        `is_idle` decides whether a trigger that waits for a source has nothing to read. Then its instants pass without a cause.
        """
        ordered = 0
        first = self.next_due()
        if first is None or first > self._database.clock() + _SKEW:
            return 0
        with self._database.transaction() as connection:
            now = connection.now()
        due = "FROM trigger_clock c JOIN trigger_definition d ON d.id = c.trigger_id WHERE c.due <= :now AND d.state = 'active'"
        for (tenant,) in self._database.ask(f"SELECT DISTINCT d.tenant {due}", now=now):
            # The look at sources takes time, so it comes before the transaction.
            waiting = self._database.ask(f"SELECT DISTINCT {TRIGGER} {due} AND d.tenant = :tenant", now=now, tenant=tenant)
            idle = {one.id for one in map(trigger_of, waiting) if _has_source(one) and (self._has_execution(one) or is_idle(one))}
            with self._database.transaction() as connection:
                lock_tenant(connection, tenant)
                turn = CauseWriter(connection, tenant)
                rows = connection.run(f"SELECT c.trigger_id, c.member, c.due {due} AND d.tenant = :tenant", now=now, tenant=tenant)
                for trigger, member, since in rows:
                    turn.tick(trigger, member, since, now, is_idle=trigger in idle)
                ordered += turn.ordered
        return ordered

    def _has_execution(self, trigger: Trigger) -> bool:
        """Whether an execution of a trigger waits or runs, which reads what has arrived."""
        query = "SELECT 1 FROM trigger_execution WHERE trigger_id = :id AND state IN ('waiting', 'running') LIMIT 1"
        return bool(self._database.ask(query, id=trigger.id))

    def next_due(self) -> float | None:
        """Return the next instant of an active trigger. The instants of paused ones pass without effect."""
        due = self._database.ask(
            "SELECT min(c.due) FROM trigger_clock c JOIN trigger_definition d ON d.id = c.trigger_id WHERE d.state = 'active'"
        )[0][0]
        return None if due is None else float(due)

    def take_checks(self, tenant: str, most: int) -> list[Check]:
        """Return predicates to evaluate. Each is due again after a minute, unless `settle` records its result."""
        with self._database.transaction() as connection:
            lock_tenant(connection, tenant)
            now = connection.now()
            rows = connection.run(
                f"SELECT k.member, k.fact, k.attempt, {TRIGGER} FROM trigger_check k JOIN trigger_definition d ON d.id = k.trigger_id"
                " WHERE k.tenant = :tenant AND k.due <= :now ORDER BY k.due LIMIT :most",
                tenant=tenant, now=now, most=most,
            )  # fmt: skip
            checks = []
            for member, fact, attempt, *row in rows:
                trigger = trigger_of(row)
                where = where_of(trigger, member) or "true"
                checks.append(Check(trigger, member, Fact.from_json(json.loads(fact)), where, attempt + 1))
                connection.run(
                    "UPDATE trigger_check SET due = :due, attempt = attempt + 1"
                    " WHERE trigger_id = :trigger AND member = :member AND fact_id = :fact",
                    due=now + CHECK_SECONDS, trigger=trigger.id, member=member, fact=checks[-1].fact.id,
                )  # fmt: skip
        return checks

    def has_checks(self, tenant: str) -> bool:
        return bool(self._database.ask("SELECT 1 FROM trigger_check WHERE tenant = :tenant LIMIT 1", tenant=tenant))

    def put_off(self, check: Check, seconds: float) -> None:
        """Postpone the evaluation of a predicate by some seconds."""
        with self._database.transaction() as connection:
            connection.run(
                "UPDATE trigger_check SET due = :due WHERE trigger_id = :trigger AND member = :member AND fact_id = :fact",
                due=connection.now() + seconds, trigger=check.trigger.id, member=check.member, fact=check.fact.id,
            )  # fmt: skip

    def settle(self, check: Check, *, is_met: bool, reason: str | None = None) -> None:
        """Record the result of a predicate. `reason` states why the predicate could not be evaluated."""
        trigger, fact = check.trigger, check.fact
        key = {"trigger": trigger.id, "member": check.member, "fact": fact.id}
        with self._database.transaction() as connection:
            lock_tenant(connection, trigger.tenant)
            deleted = connection.run(
                "DELETE FROM trigger_check WHERE trigger_id = :trigger AND member = :member AND fact_id = :fact RETURNING 1", **key
            )
            if not deleted:
                return
            turn = CauseWriter(connection, trigger.tenant)
            if reason is not None:
                turn.skip(trigger.id, fact.id, [fact], reason)
            elif is_met:
                turn.add(Match(trigger.id, check.member, fact), is_checked=True)

    def of(self, trigger: str, *, first: int, before: float | None = None) -> list[Cause]:
        """Return causes of a trigger, newest first. With `before`, only causes that were recorded before this time."""
        rows = self._database.ask(
            f"SELECT {CAUSE} FROM trigger_cause c WHERE c.trigger_id = :id AND c.recorded < :before"
            " ORDER BY c.recorded DESC, c.cause LIMIT :first",
            id=trigger, before=before if before is not None else 1e18, first=first,
        )  # fmt: skip
        return [cause_of(row) for row in rows]


def _add(connection: Connection, tenant: str, matches: Sequence[Match]) -> int:
    """Process matches, and return the number of executions ordered."""
    if not matches:
        return 0
    turn = CauseWriter(connection, tenant)
    for match in matches:
        turn.add(match)
    return turn.ordered


def _has_source(trigger: Trigger) -> bool:
    return any("source" in member.parts for member in trigger.definition.condition.members if member.kind == "time")
