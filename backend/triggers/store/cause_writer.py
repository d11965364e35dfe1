"""Writes causes of triggers, and the executions that they start.

A cause starts one execution at most. A cause that is already recorded, or whose digest is in the table `trigger_past`, is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import uuid4

from headwater.backend.tables.database import Connection
from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.conditions.time import due_instants
from headwater.backend.triggers.model import Combination, Fact, FactKind, Outcome, Trigger, instant
from headwater.backend.triggers.store.combination import MOST_PARTS, oldest_useful, select_parts
from headwater.backend.triggers.store.rows import TRIGGER, trigger_of

_MOST_FACTS = 100  # limit of facts in a cause


@dataclass(frozen=True, slots=True)
class Match:
    """A fact that fulfils a member of a trigger's condition. A predicate over rows is not evaluated yet."""

    trigger: str
    member: int
    fact: Fact


class CauseWriter:
    """Writes causes and their executions in one transaction that holds the tenant's lock."""

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
        if where_of(trigger, match.member) is not None and not is_checked:
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

    def tick(self, identifier: str, member: int, due: float, now: float, *, is_idle: bool = False) -> None:
        """Process a time condition that is due. If its trigger `is_idle`, only the clock moves on."""
        trigger = self._triggers.get(identifier)
        if trigger is None:
            return
        instants = due_instants(trigger.definition.condition.members[member].parts, trigger.created, due, now)
        where = "WHERE trigger_id = :id AND member = :member"
        if instants.following is None:
            self._connection.run(f"DELETE FROM trigger_clock {where}", id=identifier, member=member)
        else:
            self._connection.run(f"UPDATE trigger_clock SET due = :due {where}", due=instants.following, id=identifier, member=member)
        if is_idle:
            return
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
        if trigger is None or self.is_known(identifier, cause):
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
            "INSERT INTO trigger_execution (id, tenant, trigger_id, cause, depth, state, attempt, due, created, owner)"
            " VALUES (:id, :tenant, :trigger, :cause, :depth, 'waiting', 0, :now, :now, :owner)",
            id=execution, tenant=trigger.tenant, trigger=identifier, cause=cause, depth=depth, now=self._now,
            owner=json.dumps(dict(trigger.owner)),
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
        if trigger is not None and not self.is_known(identifier, cause):
            self._write(trigger, cause, max(fact.at for fact in facts), max(fact.depth for fact in facts) + 1, facts, reason=reason)

    def _combine(self, trigger: Trigger, match: Match) -> None:
        """Store the fact until each member of the condition has a fact within the window. Then the trigger fires.

        A fact counts once, also if its event arrives again. Facts of a member that are older than its used fact are dropped.
        """
        fact, condition, member = match.fact, trigger.definition.condition, match.member
        if self._is_past(trigger.id, _part_key(member, fact)):
            return
        self._connection.run(
            "INSERT INTO trigger_part VALUES (:trigger, :member, :id, :at, :fact) ON CONFLICT DO NOTHING",
            trigger=trigger.id, member=member, id=fact.id, at=fact.at, fact=json.dumps(fact.to_json()),
        )  # fmt: skip
        self._drop_parts(trigger.id, member, condition.within)
        parts: dict[int, list[Fact]] = {}
        for place, stated in self._connection.run("SELECT member, fact FROM trigger_part WHERE trigger_id = :id", id=trigger.id):
            parts.setdefault(int(place), []).append(Fact.from_json(json.loads(stated)))
        facts = select_parts(parts, len(condition.members), condition.within)
        if facts is None:
            return
        for place, used in enumerate(facts):
            self._connection.run(
                "DELETE FROM trigger_part WHERE trigger_id = :id AND member = :member AND at <= :at",
                id=trigger.id, member=place, at=used.at,
            )  # fmt: skip
            if used.kind is not FactKind.INSTANT:  # an instant occurs once
                add_past(self._connection, trigger.id, _part_key(place, used))
        self.fire(trigger.id, sha256("\n".join(one.id for one in facts).encode()).hexdigest()[:32], facts)

    def _drop_parts(self, trigger: str, member: int, within: float | None) -> None:
        """Delete facts that are too old for the window, and all but the latest facts of a member."""
        latest = self._connection.run("SELECT max(at) FROM trigger_part WHERE trigger_id = :id", id=trigger)[0][0]
        if (oldest := oldest_useful(latest, within)) is not None:
            self._connection.run("DELETE FROM trigger_part WHERE trigger_id = :id AND at < :oldest", id=trigger, oldest=oldest)
        self._connection.run(
            "DELETE FROM trigger_part WHERE trigger_id = :id AND member = :member AND fact_id NOT IN (SELECT fact_id FROM trigger_part"
            " WHERE trigger_id = :id AND member = :member ORDER BY at DESC, fact_id DESC LIMIT :most)",
            id=trigger, member=member, most=1 if within is None else MOST_PARTS,
        )  # fmt: skip

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

    def is_known(self, trigger: str, cause: str) -> bool:
        rows = self._connection.run("SELECT 1 FROM trigger_cause WHERE trigger_id = :id AND cause = :cause", id=trigger, cause=cause)
        return bool(rows) or self._is_past(trigger, cause)

    def _is_past(self, trigger: str, key: str) -> bool:
        return bool(
            self._connection.run(
                "SELECT 1 FROM trigger_past WHERE trigger_id = :id AND digest = :digest", id=trigger, digest=past_digest(key)
            )
        )

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


def past_digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:32]


def add_past(connection: Connection, trigger: str, key: str) -> None:
    """Note that a cause, or a fact of a combination, must not count again."""
    connection.run("INSERT INTO trigger_past VALUES (:trigger, :digest) ON CONFLICT DO NOTHING", trigger=trigger, digest=past_digest(key))


def _part_key(member: int, fact: Fact) -> str:
    return f"part {member} {fact.id}"


def where_of(trigger: Trigger, member: int) -> str | None:
    stated = trigger.definition.condition.members[member]
    return KINDS[stated.kind].where(stated.parts)


def _at(trigger: str, at: float) -> Fact:
    return Fact(FactKind.INSTANT, trigger, instant(at), at)
