"""`must_expire`: data of the nodes in `of`, and data derived from it, may be kept for some time only.

`masked` is the time for values that went through a hash, a mask or a count. `ways` is the weakest way in which data carries the term on.
`headwater retention` lists what is due. A check of flows finds no deviation, because the age of data is no flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.policies.checked_graph import CheckedGraph
from headwater.graph.policies.deviation import Deviation
from headwater.graph.policies.matcher import Selectors
from headwater.graph.policies.periods import read_period
from headwater.graph.policies.rules.rule import Heading, read_parts, read_selectors, read_ways
from headwater.graph.views.fields import Way

_HINT = "Write a number of days, months or years: 30d, P30D, P6M, P7Y."


@dataclass(frozen=True, slots=True)
class RetentionTerm:
    """The longest time to keep data of some nodes. `masked` is None if masked values have no term."""

    of: Selectors
    after: timedelta
    masked: timedelta | None
    ways: Way

    @property
    def groups(self) -> Sequence[Selectors]:
        return [self.of]

    def deviations(self, heading: Heading, checked: CheckedGraph) -> Iterator[Deviation]:  # noqa: ARG002 - see the protocol
        return iter(())


def parse(stated: Any, place: str) -> RetentionTerm:
    parts = read_parts(stated, place, needs=("of", "after"), accepts=("masked", "ways"))
    after = _period(parts["after"], f"{place}.after")
    masked = after if "masked" not in parts else None if parts["masked"] is None else _period(parts["masked"], f"{place}.masked")
    if masked is not None and masked < after:
        raise InvalidInputError(
            "Masked data expires earlier than other data.", field=f"{place}.masked", hint="Write a longer time, or null."
        )
    return RetentionTerm(read_selectors(parts["of"], f"{place}.of"), after, masked, read_ways(parts.get("ways"), f"{place}.ways"))


def _period(value: Any, place: str) -> timedelta:
    found = read_period(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidInputError(f"{str(value)[:40]!r} is no retention term.", field=place, hint=_HINT)
    return found
