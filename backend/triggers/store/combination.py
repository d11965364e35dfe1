"""Selects the facts that together fulfil a condition of several members (`all_of`)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from headwater.backend.triggers.model import Fact

MOST_PARTS = 100  # limit of stored facts of one member; older ones are dropped
_LATE = 3600.0  # seconds by which a fact may be stored after newer ones: a predicate may be evaluated late


def select_parts(parts: Mapping[int, Sequence[Fact]], members: int, within: float | None) -> list[Fact] | None:
    """Return one fact of each member, in the order of the members, or None if a member has no fact in time.

    All facts lie within `within` seconds of each other. Of several possible sets, the latest is selected. The order in which facts are
    stored does not matter: a predicate over rows is evaluated after facts that happened later.
    """
    if len(parts) < members:
        return None
    ordered = [sorted(parts[member], key=lambda fact: (fact.at, fact.id)) for member in range(members)]
    times = [[fact.at for fact in facts] for facts in ordered]
    if within is None:
        return [facts[-1] for facts in ordered]
    for end in sorted({at for of_member in times for at in of_member}, reverse=True):
        places = [bisect_right(of_member, end) - 1 for of_member in times]
        if all(place >= 0 and of_member[place] >= end - within for place, of_member in zip(places, times, strict=True)):
            return [facts[place] for place, facts in zip(places, ordered, strict=True)]
    return None


def oldest_useful(latest: float, within: float | None) -> float | None:
    """Return the time before which a stored fact can fulfil nothing any more, or None without a window."""
    return None if within is None else latest - 2 * within - _LATE
