"""Stores the definitions and states of triggers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from headwater.backend.tables.database import Connection, Database
from headwater.backend.triggers.conditions.time import next_instant
from headwater.backend.triggers.model import Definition, Trigger, TriggerState
from headwater.backend.triggers.store.rows import TRIGGER, document_of, lock_tenant, trigger_of
from headwater.errors import InvalidInputError, NotFoundError

_OF_TRIGGER = ("trigger_clock", "trigger_look", "trigger_part", "trigger_check")
_MOST_LOOKS = 100  # looks that are returned together


class Definitions:
    """The triggers of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, tenant: str, definition: Definition, owner: Mapping[str, Any], *, since: int, opening: int = 0, workflow: str | None = None
    ) -> Trigger:
        """Store a trigger. Log entries up to the offset `since`, and openings of deviations up to the number `opening`, do not fire it.

        `workflow` is the workflow that declares it.

        Raises:
            InvalidInputError: another trigger has this name.
        """
        with self._database.transaction() as connection:
            number = lock_tenant(connection, tenant)
            if connection.run(
                "SELECT 1 FROM trigger_definition WHERE tenant = :tenant AND name = :name", tenant=tenant, name=definition.name
            ):
                raise InvalidInputError(
                    f"There is a trigger {definition.name!r} already.", field="name", hint="Choose another name, or remove it first."
                )
            if not connection.run("SELECT 1 FROM trigger_definition WHERE tenant = :tenant LIMIT 1", tenant=tenant) and since > number:
                # Entries before the first trigger are never needed.
                connection.run("UPDATE trigger_lock SET number = :since WHERE tenant = :tenant", since=since, tenant=tenant)
            made = Trigger(
                uuid4().hex, tenant, definition, owner, TriggerState.ACTIVE, None, connection.now(), since, None, workflow, opening
            )
            insert(connection, made)
        return made

    def tenants(self) -> list[str]:
        """Return the tenants with triggers."""
        has_one = "EXISTS (SELECT 1 FROM trigger_definition d WHERE d.tenant = l.tenant)"
        return [row[0] for row in self._database.ask(f"SELECT l.tenant FROM trigger_lock l WHERE {has_one} ORDER BY l.tenant")]

    def all(self, tenant: str) -> list[Trigger]:
        rows = self._database.ask(f"SELECT {TRIGGER} FROM trigger_definition d WHERE d.tenant = :tenant ORDER BY d.name", tenant=tenant)
        return [trigger_of(row) for row in rows]

    def get(self, tenant: str, name: str) -> Trigger:
        rows = self._database.ask(
            f"SELECT {TRIGGER} FROM trigger_definition d WHERE d.tenant = :tenant AND (d.name = :name OR d.id = :name)"
            " ORDER BY CASE WHEN d.name = :name THEN 0 ELSE 1 END LIMIT 1",
            tenant=tenant, name=name,
        )  # fmt: skip
        if not rows:
            raise NotFoundError(f"There is no trigger {name!r}.", hint="`headwater triggers list` names them.")
        return trigger_of(rows[0])

    def cursor(self, tenant: str) -> int:
        """Return the log offset up to which causes were found."""
        rows = self._database.ask("SELECT number FROM trigger_lock WHERE tenant = :tenant", tenant=tenant)
        return int(rows[0][0]) if rows else 0

    def opening(self, tenant: str) -> int:
        """Return the number of the opening of a deviation up to which causes were found."""
        rows = self._database.ask("SELECT opening FROM trigger_lock WHERE tenant = :tenant", tenant=tenant)
        return int(rows[0][0]) if rows else 0

    def due_looks(self, tenant: str, now: float) -> list[tuple[Trigger, int]]:
        """Return active triggers with the positions of their conditions `stale` at whose dataset a look is due, the longest wait first."""
        rows = self._database.ask(
            f"SELECT l.member, {TRIGGER} FROM trigger_look l JOIN trigger_definition d ON d.id = l.trigger_id"
            " WHERE l.tenant = :tenant AND l.due <= :now AND d.state = 'active' ORDER BY l.due, l.trigger_id, l.member LIMIT :most",
            tenant=tenant, now=now, most=_MOST_LOOKS,
        )  # fmt: skip
        found = [(trigger_of(row[1:]), int(row[0])) for row in rows]
        for trigger in [trigger for trigger, place in found if place < 0]:
            self._place_looks(trigger)
        return [(trigger, place) for trigger, place in found if place >= 0]

    def set_looks(self, looks: Mapping[tuple[str, int], float]) -> None:
        """Store the times of the next looks, by trigger and position."""
        with self._database.transaction() as connection:
            for (identifier, member), due in looks.items():
                connection.run(
                    "UPDATE trigger_look SET due = :due WHERE trigger_id = :id AND member = :member", due=due, id=identifier, member=member
                )

    def _place_looks(self, trigger: Trigger) -> None:
        """Store the looks of a trigger that an earlier version made."""
        with self._database.transaction() as connection:
            lock_tenant(connection, trigger.tenant)
            if connection.run("DELETE FROM trigger_look WHERE trigger_id = :id AND member < 0 RETURNING 1", id=trigger.id):
                _set_looks(connection, trigger)

    def set_state(
        self, trigger: Trigger, state: TriggerState, reason: str | None = None, *, since: int | None = None, opening: int | None = None,
        owner: Mapping[str, Any] | None = None,
    ) -> Trigger:  # fmt: skip
        """Change the state of a trigger. If `since` and `opening` are given, what happened up to then and up to now does not fire it.

        Without `owner`, the stored owner stays: `trigger` may be older than the last change of it.
        """
        with self._database.transaction() as connection:
            lock_tenant(connection, trigger.tenant)
            changed = connection.run(
                "UPDATE trigger_definition SET state = :state, reason = :reason, owner = coalesce(:owner, owner),"
                " since = coalesce(:since, since), opening = coalesce(:opening, opening) WHERE id = :id RETURNING 1",
                state=str(state), reason=reason, owner=json.dumps(dict(owner)) if owner is not None else None, since=since,
                opening=opening, id=trigger.id,
            )  # fmt: skip
            if changed and since is not None:
                _forget_progress(connection, trigger.id)
                _set_clocks(connection, trigger)
                _set_looks(connection, trigger)
        return self.get(trigger.tenant, trigger.id)

    def stop(self, trigger: Trigger, reason: str) -> bool:
        """Stop an active trigger whose owner lost a right. Returns False if it has another owner or state by now."""
        with self._database.transaction() as connection:
            lock_tenant(connection, trigger.tenant)
            rows = connection.run(
                "UPDATE trigger_definition SET state = 'stopped', reason = :reason"
                " WHERE id = :id AND state = 'active' AND owner = :owner RETURNING 1",
                reason=reason, id=trigger.id, owner=json.dumps(dict(trigger.owner)),
            )  # fmt: skip
        return bool(rows)

    def remove(self, trigger: Trigger) -> None:
        """Remove a trigger with its causes and its waiting executions. Running executions are not ended."""
        with self._database.transaction() as connection:
            lock_tenant(connection, trigger.tenant)
            _forget_progress(connection, trigger.id)
            for table in ("trigger_cause", "trigger_past"):
                connection.run(f"DELETE FROM {table} WHERE trigger_id = :id", id=trigger.id)
            connection.run("DELETE FROM trigger_execution WHERE trigger_id = :id AND state <> 'running'", id=trigger.id)
            connection.run("DELETE FROM trigger_definition WHERE id = :id", id=trigger.id)


def insert(connection: Connection, trigger: Trigger) -> None:
    """Store a trigger, and set the clocks of its time conditions."""
    connection.run(
        "INSERT INTO trigger_definition (id, tenant, name, document, owner, state, created, since, workflow, opening)"
        " VALUES (:id, :tenant, :name, :document, :owner, :state, :created, :since, :workflow, :opening)",
        id=trigger.id, tenant=trigger.tenant, name=trigger.name, document=document_of(trigger.definition),
        owner=json.dumps(dict(trigger.owner)), state=str(trigger.state), created=trigger.created, since=trigger.since,
        workflow=trigger.workflow, opening=trigger.opening,
    )  # fmt: skip
    _set_clocks(connection, trigger)
    _set_looks(connection, trigger)


def _forget_progress(connection: Connection, trigger: str) -> None:
    for table in _OF_TRIGGER:
        connection.run(f"DELETE FROM {table} WHERE trigger_id = :id", id=trigger)


def _set_clocks(connection: Connection, trigger: Trigger) -> None:
    """Set the next instant of each time condition, starting from now."""
    now = connection.now()
    for member, parts in time_members(trigger):
        if (due := next_instant(parts, trigger.created, now)) is not None:
            connection.run("INSERT INTO trigger_clock VALUES (:id, :member, :due)", id=trigger.id, member=member, due=due)


def _set_looks(connection: Connection, trigger: Trigger) -> None:
    """Make a look due at the dataset of each condition `stale`."""
    for place, member in enumerate(trigger.definition.condition.members):
        if member.kind == "stale":
            connection.run("INSERT INTO trigger_look VALUES (:id, :member, :tenant, 0)", id=trigger.id, member=place, tenant=trigger.tenant)


def time_members(trigger: Trigger) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """Return the position and the parameters of each time condition."""
    return [(place, member.parts) for place, member in enumerate(trigger.definition.condition.members) if member.kind == "time"]
