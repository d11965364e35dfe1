"""The interface of a kind of rule, and what all kinds share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headwater.errors import InvalidInputError
from headwater.graph.model import NodeKind, bare_name, parse_id
from headwater.graph.policies.checked_graph import CheckedGraph
from headwater.graph.policies.deviation import Deviation, Severity
from headwater.graph.policies.matcher import Selectors
from headwater.graph.policies.selector import Selector
from headwater.graph.views.fields import Way

_MOST_SELECTORS = 50
_WAYS = {way.name.lower(): way for way in Way}


@dataclass(frozen=True, slots=True)
class Heading:
    """The name, severity, owner and description of a rule of any kind."""

    name: str
    severity: Severity
    owner: str | None
    description: str | None

    def deviation(
        self, target: str, message: str, *, source: str = "", path: Sequence[str] = (), since: str = "", certain: bool = True
    ) -> Deviation:
        """Return a deviation from this rule."""
        return Deviation(self.name, self.severity, self.owner, source, target, message, tuple(path) or (target,), since, certain)


class Rule(Protocol):
    """A rule of one kind. `groups` are its selectors; without a node for each of the first two, there is no deviation."""

    @property
    def groups(self) -> Sequence[Selectors]: ...

    def deviations(self, heading: Heading, checked: CheckedGraph) -> Iterator[Deviation]: ...


def read_parts(stated: Any, place: str, *, needs: Sequence[str], accepts: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the parts of a rule, after a check of their names.

    Raises:
        InvalidInputError: a part is missing or unknown.
    """
    if not isinstance(stated, Mapping):
        raise InvalidInputError("The parts of the rule are missing.", field=place, hint=f"Write {', '.join(needs)}.")
    if missing := [part for part in needs if part not in stated]:
        raise InvalidInputError(f"The part {missing[0]!r} is missing.", field=place, hint=f"Write {', '.join(needs)}.")
    if unknown := sorted(set(stated) - {*needs, *accepts}):
        raise InvalidInputError(f"There is no part {unknown[0]!r}.", field=place, hint=f"The parts are {', '.join([*needs, *accepts])}.")
    return stated


def read_selectors(stated: Any, place: str) -> Selectors:
    """Return the selectors of a part: one, or a list of alternatives."""
    if isinstance(stated, list) and 0 < len(stated) <= _MOST_SELECTORS:
        return tuple(Selector.parse(each, f"{place}[{number}]") for number, each in enumerate(stated))
    return (Selector.parse(stated, place),)


def read_ways(stated: Any, place: str) -> Way:
    """Return the weakest way that counts as a flow of values; that of masked values by default."""
    if stated is None:
        return Way.MASKED
    if stated not in _WAYS:
        raise InvalidInputError(f"{str(stated)[:40]!r} is no way.", field=place, hint=f"The ways are {', '.join(_WAYS)}.")
    return _WAYS[stated]


def shown(identifier: str) -> str:
    """Return kind and name of a node for a message."""
    kind, parts = parse_id(identifier)
    return f"column {parts[2]} of {parts[1]}" if kind == NodeKind.COLUMN else f"{kind} {bare_name(identifier)}"
