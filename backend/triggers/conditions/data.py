"""`data`: a run completed a new version of a dataset, or reported a failed quality check of it.

`where` is a predicate that at least one of the new rows must fulfil. `failed_check` is the name of a check, or true for any check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.triggers.conditions.condition import NameLookup, refuse_unknown, text_of
from headwater.backend.triggers.model import Fact, FactKind
from headwater.errors import InvalidInputError
from headwater.graph.model import parse_id


class Data:
    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:
        refuse_unknown(stated, ("dataset", "where", "failed_check"), "data")
        parts: dict[str, Any] = {"dataset": await known.dataset(text_of(stated, "dataset", "data"), "data.dataset")}
        check = stated.get("failed_check")
        if check not in (None, False):
            if check is not True and not (isinstance(check, str) and check):
                raise InvalidInputError(
                    f"data.failed_check is {check!r}.", field="data.failed_check", hint="Give true, or the name of a check."
                )
            parts["failed_check"] = check
        if stated.get("where") is not None:
            if "failed_check" in parts:
                raise InvalidInputError(
                    "A condition is about new rows or about a check, not both.", field="data.where", hint="Leave one of them out."
                )
            parts["where"] = text_of(stated, "where", "data")
            await known.check_predicate(parts["dataset"], parts["where"])
        return parts

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002 - see the protocol
        return [(FactKind.CHECK if "failed_check" in parts else FactKind.VERSION, parts["dataset"])]

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:
        return parts.get("failed_check", True) in (True, fact.details.get("check"))

    def where(self, parts: Mapping[str, Any]) -> str | None:
        where = parts.get("where")
        return str(where) if where is not None else None

    def describe(self, parts: Mapping[str, Any]) -> str:
        name = parse_id(parts["dataset"])[1][1]
        if "failed_check" in parts:
            return f"when {'a check' if parts['failed_check'] is True else 'the check ' + parts['failed_check']} of {name} fails"
        return f"when {name} has new rows that a predicate selects" if "where" in parts else f"when {name} has a new version"
