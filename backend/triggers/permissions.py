"""The rights that the owner of a trigger needs for its action, and for a predicate over rows.

Whether a predicate over rows fires reveals something about values. A predicate therefore needs the right to see values. If any column is
masked, the predicate also needs the right to see masked columns. Questions with a predicate need the same rights.
"""

from __future__ import annotations

from headwater.backend.access.masks import Masks
from headwater.backend.triggers.actions import ACTIONS
from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.model import Definition, Trigger
from headwater.backend.triggers.owners import Owners
from headwater.graph.access.scopes import Scope


class Permissions:
    def __init__(self, owners: Owners, masks: Masks) -> None:
        self._owners = owners
        self._masks = masks

    def refusal(self, trigger: Trigger) -> str | None:
        """Return the reason why the owner lacks rights for the trigger, or None. Raises `UnavailableError`."""
        action = trigger.definition.action
        needed = set(ACTIONS[action.kind].needs(action.parts))
        if has_predicate(trigger.definition):
            needed.add(Scope.RECORDS)
        if Scope.RECORDS in needed and self._masks.of(trigger.tenant):
            needed.add(Scope.UNMASKED)
        return self._owners.refusal(trigger.owner, trigger.tenant, frozenset(needed))


def has_predicate(definition: Definition) -> bool:
    return any(KINDS[member.kind].where(member.parts) is not None for member in definition.condition.members)
