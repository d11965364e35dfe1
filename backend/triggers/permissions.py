"""What the owner of a trigger may do now: the scopes of its action, and of a predicate over rows.

A predicate over rows tells something of their values, also by whether the trigger fires. So it needs the right to see values, and those of
masked columns if any column is masked, as a question with a predicate does.
"""

from __future__ import annotations

from headwater.backend.access.masks import Masks
from headwater.backend.triggers.actions import ACTIONS
from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.model import Definition, Trigger
from headwater.backend.triggers.owners import Owners
from headwater.graph.access.scopes import Scope


class Permissions:
    """Looks up the rights of owners."""

    def __init__(self, owners: Owners, masks: Masks) -> None:
        self._owners = owners
        self._masks = masks

    def refusal(self, trigger: Trigger) -> str | None:
        """Return why the owner may not do what the trigger does; None if he may. Raises `UnavailableError`."""
        action = trigger.definition.action
        needed = set(ACTIONS[action.kind].needs(action.parts))
        if has_predicate(trigger.definition):
            needed.add(Scope.RECORDS)
        if Scope.RECORDS in needed and self._masks.of(trigger.tenant):
            needed.add(Scope.UNMASKED)
        return self._owners.refusal(trigger.owner, trigger.tenant, frozenset(needed))


def has_predicate(definition: Definition) -> bool:
    """Whether a condition has a predicate over rows."""
    return any(KINDS[member.kind].where(member.parts) is not None for member in definition.condition.members)
