"""Finds cycles of triggers when a trigger is created. The lineage shows the facts that each trigger causes.

Cycles outside of the lineage, for example through a webhook, end at the limit of the chain.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.backend.triggers.actions import ACTIONS
from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.model import Definition, FactKind, Trigger
from headwater.errors import InvalidInputError
from headwater.graph.stores import GraphStore

NEW = "the new trigger"  # used instead of an id


async def check_cycles(graph: GraphStore, tenant: str, new: Definition, others: Sequence[Trigger]) -> None:
    """Check that a new trigger closes no cycle.

    Raises:
        InvalidInputError: the trigger closes a cycle. The message names the triggers of the cycle.
    """
    definitions = {NEW: new, **{other.id: other.definition for other in others}}
    waits: dict[tuple[FactKind, str], list[str]] = {}
    for identifier, definition in definitions.items():
        for member in definition.condition.members:
            for subject in KINDS[member.kind].subjects(member.parts, identifier):
                waits.setdefault(subject, []).append(identifier)
    path: list[str] = []
    seen: set[str] = set()

    async def follow(identifier: str) -> None:
        path.append(identifier)
        action = definitions[identifier].action
        effects = [*await ACTIONS[action.kind].effects(action.parts, graph, tenant), (FactKind.FIRED, identifier)]
        for following in dict.fromkeys(one for effect in effects for one in waits.get(effect, ())):
            if following == NEW:
                names = [definitions[one].name for one in (*path, NEW)]
                raise InvalidInputError(
                    f"The trigger would fire itself: {' → '.join(names)}.", field="when", hint="Leave one of these triggers out."
                )
            if following not in seen:
                seen.add(following)
                await follow(following)
        path.pop()

    await follow(NEW)
