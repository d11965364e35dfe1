"""Removes old causes with their executions.

A removed cause can never fire again: a digest of it stays, because its event may arrive once more. Causes of instants need no digest,
because clocks only move on.
"""

from __future__ import annotations

import json

from headwater.backend.tables.database import Connection, Database
from headwater.backend.triggers.model import ENDED, FactKind, Trigger
from headwater.backend.triggers.store.cause_writer import add_past
from headwater.backend.triggers.store.rows import TRIGGER, lock_tenant, trigger_of

_KEPT = 10  # causes of each trigger that stay, however old they are
_MOST = 500  # causes in one transaction
_DAY = 86_400.0


class Retention:
    """Removes causes that ended more than some days ago."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def prune(self, days: float) -> int:
        """Remove some of the causes that are older than `days`, and return their number. Zero means that none is left to remove."""
        removed = 0
        for row in self._database.ask(f"SELECT {TRIGGER} FROM trigger_definition d"):
            trigger = trigger_of(row)
            with self._database.transaction() as connection:
                lock_tenant(connection, trigger.tenant)
                # A cause within a window or a cool-down still matters.
                window = max(trigger.definition.condition.within or 0.0, trigger.definition.limits.cool_down)
                removed += _prune(connection, trigger, connection.now() - max(days * _DAY, window))
        return removed


def _prune(connection: Connection, trigger: Trigger, before: float) -> int:
    ended = ", ".join(f"'{state}'" for state in ENDED)
    rows = connection.run(
        "SELECT c.cause, c.facts, c.execution FROM trigger_cause c LEFT JOIN trigger_execution e ON e.id = c.execution"
        f" WHERE c.trigger_id = :id AND c.recorded < :before AND (e.id IS NULL OR e.state IN ({ended})) AND c.cause NOT IN"
        " (SELECT cause FROM trigger_cause WHERE trigger_id = :id ORDER BY recorded DESC, cause LIMIT :kept)"
        " ORDER BY c.recorded LIMIT :most",
        id=trigger.id, before=before, kept=_KEPT, most=_MOST,
    )  # fmt: skip
    for cause, facts, execution in rows:
        if any(fact["kind"] != FactKind.INSTANT for fact in json.loads(facts)):
            add_past(connection, trigger.id, cause)
        connection.run("DELETE FROM trigger_cause WHERE trigger_id = :id AND cause = :cause", id=trigger.id, cause=cause)
        if execution is not None:
            connection.run("DELETE FROM trigger_execution WHERE id = :id", id=execution)
    return len(rows)
