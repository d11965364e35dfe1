"""`stale`: a dataset has had no new version for some time. A trigger fires once for each last version, however long the silence lasts.

A dataset that has no version at all is stale when the time has passed since the trigger was created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.triggers.conditions.condition import NameLookup, refuse_unknown, text_of
from headwater.backend.triggers.durations import parse_duration
from headwater.backend.triggers.model import Fact, FactKind
from headwater.errors import InvalidInputError
from headwater.graph.model import parse_id

_LEAST = 1.0  # seconds
_MOST_LOOKS = 600.0  # seconds between two looks at a dataset that is stale


class Stale:
    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:
        refuse_unknown(stated, ("dataset", "after"), "stale")
        if "after" not in stated:
            raise InvalidInputError("stale needs after.", field="stale.after", hint="For example 24h.")
        after = parse_duration(stated["after"], "stale.after")
        if after < _LEAST:
            raise InvalidInputError("The shortest time is 1s.", field="stale.after", hint="Write it as 1s or longer.")
        return {"dataset": await known.dataset(text_of(stated, "dataset", "stale"), "stale.dataset"), "after": after}

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002 - see the protocol
        return [(FactKind.STALE, parts["dataset"])]

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:  # noqa: ARG002
        return True

    def where(self, parts: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        return None

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"when {parse_id(parts['dataset'])[1][1]} has had no new version for {_duration(parts['after'])}"


def stale_fact(dataset: str, written: float | None, begin: float, after: float, now: float) -> Fact | None:
    """Return the fact that a dataset is stale, or None. `written` is the time of its last version, `begin` that of the trigger.

    >>> stale_fact("dataset:a:b", 10.0, 0.0, 5.0, 15.0).id, stale_fact("dataset:a:b", 10.0, 0.0, 5.0, 14.0)
    ('stale dataset:a:b 10.0', None)
    """
    last = begin if written is None else written
    if now < last + after:
        return None
    return Fact(FactKind.STALE, dataset, f"stale {dataset} {last}", last + after)


def next_look(written: float | None, begin: float, after: float, now: float) -> float:
    """Return when to look at a dataset again."""
    due = (begin if written is None else written) + after
    return due if due > now else now + min(after, _MOST_LOOKS)


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length and seconds % length == 0:
            return f"{seconds / length:g} {unit}"
    return f"{seconds / 3_600:g} hours" if seconds > 3_600 else f"{seconds:g} seconds"
