"""Stores causes. Each cause leads to one execution at most.

Every method works in one transaction that holds the tenant's lock. A cause and its waiting execution are written together. A process that
finds the same cause again is stopped by the unique key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import uuid4

from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.conditions.time import due_instants
from headwater.backend.triggers.model import Cause, Combination, Fact, FactKind, Outcome, Trigger, instant
from headwater.backend.triggers.store.database import Connection, Database
from headwater.backend.triggers.store.rows import CAUSE, TRIGGER, cause_of, lock_tenant, trigger_of
from headwater.errors import InvalidInputError

CHECK_SECONDS = 60.0  # an unfinished check is due again after this time
CHECK_ATTEMPTS = 5
_SKEW = 60.0  # seconds by which the clock of this machine may differ from the database's


@dataclass(frozen=True, slots=True)
class Match:
    """A fact that fulfils a member of a trigger's condition. A predicate over rows is not evaluated yet."""

    trigger: str
    member: int
    fact: Fact


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
            ordered = 0
            if matches:
                turn = _Turn(connection, tenant)
                for match in matches:
                    turn.add(match)
                ordered = turn.ordered
            connection.run("UPDATE trigger_lock SET number = :upto WHERE tenant = :tenant", upto=upto, tenant=tenant)
        return ordered

    def fire(self, trigger: Trigger, fact: Fact) -> Cause:
        """Fire a trigger by hand, whatever its condition. The cause has the id of the fact. An existing cause is returned unchanged."""
        with self._database.transaction() as connection:
            lock_tenant(connection, trigger.tenant)
            turn = _Turn(connection, trigger.tenant)
            turn.fire(trigger.id, fact.id, [fact])
            rows = connection.run(
                f"SELECT {CAUSE} FROM trigger_cause c WHERE c.trigger_id = :id AND c.cause = :cause", id=trigger.id, cause=fact.id
            )
        if not rows:
            raise InvalidInputError(f"The trigger {trigger.name} is {trigger.state}.", field="name", hint="Resume it first.")
        return cause_of(rows[0])

    def tick(self) -> int:
        """Fire the time conditions that are due. Returns the number of executions ordered."""
        ordered = 0
        first = self.next_due()
        if first is None or first > self._database.clock() + _SKEW:
            return 0
        with self._database.transaction() as connection:
            now = connection.now()
        due = "FROM trigger_clock c JOIN trigger_definition d ON d.id = c.trigger_id WHERE c.due <= :now AND d.state = 'active'"
        for (tenant,) in self._database.ask(f"SELECT DISTINCT d.tenant {due}", now=now):
            with self._database.transaction() as connection:
                lock_tenant(connection, tenant)
                turn = _Turn(connection, tenant)
                rows = connection.run(f"SELECT c.trigger_id, c.member, c.due {due} AND d.tenant = :tenant", now=now, tenant=tenant)
                for trigger, member, since in rows:
                    turn.tick(trigger, member, since, now)
                ordered += turn.ordered
        return ordered

    def next_due(self) -> float | None:
        due = self._database.ask("SELECT min(due) FROM trigger_clock")[0][0]
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
                where = _where(trigger, member) or "true"
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
            turn = _Turn(connection, trigger.tenant)
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


class _Turn:
    """One transaction that holds the tenant's lock."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self.ordered = 0
        self._now = connection.now()
        rows = connection.run(f"SELECT {TRIGGER} FROM trigger_definition d WHERE d.tenant = :tenant AND d.state = 'active'", tenant=tenant)
        self._triggers = {trigger.id: trigger for trigger in map(trigger_of, rows)}
        self._last_fired = {trigger.id: trigger.last_fired for trigger in self._triggers.values()}
        self._followers: dict[str, list[tuple[str, int]]] = {}
        for trigger in self._triggers.values():
            for place, member in enumerate(trigger.definition.condition.members):
                for kind, subject in KINDS[member.kind].subjects(member.parts, trigger.id):
                    if kind is FactKind.FIRED:
                        self._followers.setdefault(subject, []).append((trigger.id, place))

    def add(self, match: Match, *, is_checked: bool = False) -> None:
        """Process a fact that fulfils a member of a condition."""
        trigger, fact = self._triggers.get(match.trigger), match.fact
        if trigger is None:
            return  # paused, stopped or removed
        if _where(trigger, match.member) is not None and not is_checked:
            self._connection.run(
                "INSERT INTO trigger_check VALUES (:trigger, :member, :id, :tenant, :fact, :due, 0) ON CONFLICT DO NOTHING",
                trigger=trigger.id, member=match.member, id=fact.id, tenant=trigger.tenant, fact=json.dumps(fact.to_json()),
                due=self._now,
            )  # fmt: skip
            return
        condition = trigger.definition.condition
        if condition.combination is Combination.ALL:
            self._combine(trigger, match)
        elif condition.combination is Combination.ANY and condition.within is not None and self._joins(trigger, fact):
            return
        else:
            self.fire(trigger.id, fact.id, [fact])

    def tick(self, identifier: str, member: int, due: float, now: float) -> None:
        """Process a time condition that is due."""
        trigger = self._triggers.get(identifier)
        if trigger is None:
            return
        instants = due_instants(trigger.definition.condition.members[member].parts, trigger.created, due, now)
        where = "WHERE trigger_id = :id AND member = :member"
        if instants.following is None:
            self._connection.run(f"DELETE FROM trigger_clock {where}", id=identifier, member=member)
        else:
            self._connection.run(f"UPDATE trigger_clock SET due = :due {where}", due=instants.following, id=identifier, member=member)
        if instants.skipped is not None:
            at = instants.skipped
            self.skip(
                identifier, instant(at), [_at(identifier, at)], "no service ran at this time, nor at the times before it that are missing"
            )
        for at in instants.fire:
            self.add(Match(identifier, member, _at(identifier, at)))

    def fire(self, identifier: str, cause: str, facts: Sequence[Fact]) -> None:
        """Record a cause, and order its execution unless a limit of the trigger forbids it."""
        trigger = self._triggers.get(identifier)
        if trigger is None or self._is_known(identifier, cause):
            return
        limits, at = trigger.definition.limits, max(fact.at for fact in facts)
        depth = max(fact.depth for fact in facts) + 1
        last = self._last_fired[identifier]
        if depth > limits.chain:
            self._write(trigger, cause, at, depth, facts, reason=f"the chain of causes is longer than {limits.chain}")
            return
        if last is not None and abs(at - last) < limits.cool_down:
            self._write(trigger, cause, at, depth, facts, reason=f"it fired less than {limits.cool_down:g} s before")
            return
        execution = str(uuid4())
        self._write(trigger, cause, at, depth, facts, execution=execution)
        self._connection.run(
            "INSERT INTO trigger_execution (id, tenant, trigger_id, cause, depth, state, attempt, due, created)"
            " VALUES (:id, :tenant, :trigger, :cause, :depth, 'waiting', 0, :now, :now)",
            id=execution, tenant=trigger.tenant, trigger=identifier, cause=cause, depth=depth, now=self._now,
        )  # fmt: skip
        self._last_fired[identifier] = latest = at if last is None else max(at, last)
        self._connection.run("UPDATE trigger_definition SET last_fired = :at WHERE id = :id", at=latest, id=identifier)
        self.ordered += 1
        for follower, member in self._followers.get(identifier, ()):
            name = {"trigger": trigger.name}
            self.add(Match(follower, member, Fact(FactKind.FIRED, identifier, f"{identifier} {cause}", at, depth, details=name)))

    def skip(self, identifier: str, cause: str, facts: Sequence[Fact], reason: str) -> None:
        """Record a cause that does not fire."""
        trigger = self._triggers.get(identifier)
        if trigger is not None and not self._is_known(identifier, cause):
            self._write(trigger, cause, max(fact.at for fact in facts), max(fact.depth for fact in facts) + 1, facts, reason=reason)

    def _combine(self, trigger: Trigger, match: Match) -> None:
        """Store the fact until each member of the condition has a fact within the window.

        Then the trigger fires, and these facts are deleted.
        """
        fact, condition = match.fact, trigger.definition.condition
        self._connection.run(
            "INSERT INTO trigger_part VALUES (:trigger, :member, :id, :at, :fact) ON CONFLICT DO NOTHING",
            trigger=trigger.id, member=match.member, id=fact.id, at=fact.at, fact=json.dumps(fact.to_json()),
        )  # fmt: skip
        if condition.within is not None:
            oldest = fact.at - condition.within
            self._connection.run("DELETE FROM trigger_part WHERE trigger_id = :id AND at < :oldest", id=trigger.id, oldest=oldest)
        rows = self._connection.run("SELECT member, fact FROM trigger_part WHERE trigger_id = :id ORDER BY at, fact_id", id=trigger.id)
        latest = {int(member): Fact.from_json(json.loads(stated)) for member, stated in rows}
        if len(latest) < len(condition.members):
            return
        facts = [latest[member] for member in sorted(latest)]
        self._connection.run("DELETE FROM trigger_part WHERE trigger_id = :id", id=trigger.id)
        self.fire(trigger.id, sha256("\n".join(one.id for one in facts).encode()).hexdigest()[:32], facts)

    def _joins(self, trigger: Trigger, fact: Fact) -> bool:
        """Add the fact to a cause that fired within the window before it. Returns whether there was such a cause."""
        within = trigger.definition.condition.within or 0.0
        rows = self._connection.run(
            "SELECT cause, facts FROM trigger_cause WHERE trigger_id = :id AND outcome = 'fired' AND at > :since AND at <= :at"
            " ORDER BY at DESC LIMIT 1",
            id=trigger.id, since=fact.at - within, at=fact.at,
        )  # fmt: skip
        if not rows:
            return False
        cause, facts = rows[0][0], json.loads(rows[0][1])
        if fact.id not in {one["id"] for one in facts} and len(facts) < _MOST_FACTS:
            self._connection.run(
                "UPDATE trigger_cause SET facts = :facts WHERE trigger_id = :id AND cause = :cause",
                facts=json.dumps([*facts, fact.to_json()]), id=trigger.id, cause=cause,
            )  # fmt: skip
        return True

    def _is_known(self, trigger: str, cause: str) -> bool:
        return bool(self._connection.run("SELECT 1 FROM trigger_cause WHERE trigger_id = :id AND cause = :cause", id=trigger, cause=cause))

    def _write(
        self, trigger: Trigger, cause: str, at: float, depth: int, facts: Sequence[Fact], *, reason: str | None = None,
        execution: str | None = None,
    ) -> None:  # fmt: skip
        self._connection.run(
            "INSERT INTO trigger_cause (trigger_id, cause, at, recorded, depth, outcome, reason, facts, execution)"
            " VALUES (:trigger, :cause, :at, :recorded, :depth, :outcome, :reason, :facts, :execution)",
            trigger=trigger.id, cause=cause, at=at, recorded=self._now, depth=depth, reason=reason, execution=execution,
            outcome=str(Outcome.SKIPPED if execution is None else Outcome.FIRED), facts=json.dumps([fact.to_json() for fact in facts]),
        )  # fmt: skip


_MOST_FACTS = 100  # limit of facts in a cause


def _where(trigger: Trigger, member: int) -> str | None:
    stated = trigger.definition.condition.members[member]
    return KINDS[stated.kind].where(stated.parts)


def _at(trigger: str, at: float) -> Fact:
    return Fact(FactKind.INSTANT, trigger, instant(at), at)
