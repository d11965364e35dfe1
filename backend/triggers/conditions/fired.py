"""`trigger`: another trigger fired. The conditions `all_of` and `any_of` accept the name of a trigger as a short form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.triggers.conditions.condition import NameLookup, refuse_unknown, text_of
from headwater.backend.triggers.model import Fact, FactKind


class Fired:
    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:
        refuse_unknown(stated, ("name",), "trigger")
        name = text_of(stated, "name", "trigger")
        return {"trigger": await known.trigger(name, "trigger.name"), "name": name}

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002 - see the protocol
        return [(FactKind.FIRED, parts["trigger"])]

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:  # noqa: ARG002
        return True

    def where(self, parts: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        return None

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"when the trigger {parts['name']} fires"
