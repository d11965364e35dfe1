"""`manual`: only a person, or a request to the trigger's address, fires the trigger. Both can fire triggers of all other kinds too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.triggers.conditions.condition import NameLookup, refuse_unknown
from headwater.backend.triggers.model import Fact, FactKind


class Manual:
    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:  # noqa: ARG002 - see the protocol
        refuse_unknown(stated, (), "manual")
        return {}

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return [(FactKind.MANUAL, trigger)]

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:  # noqa: ARG002
        return True

    def where(self, parts: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        return None

    def describe(self, parts: Mapping[str, Any]) -> str:  # noqa: ARG002
        return "when somebody fires it"
