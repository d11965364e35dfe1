"""`must_have`: each node in `of` has an owner, tags, terms, quality checks, or a write that is recent enough."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from re import Pattern
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.model import Node, NodeKind
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.policies.checked_graph import CheckedGraph
from headwater.graph.policies.deviation import Deviation
from headwater.graph.policies.matcher import Selectors
from headwater.graph.policies.rules.rule import Heading, read_parts, read_selectors, shown
from headwater.graph.policies.selector import read_patterns
from headwater.graph.views.patterns import expression_of

_PARTS = ("owner", "tag", "term", "description", "check", "freshness")
_DURATION = re.compile(r"([1-9][0-9]{0,5})\s*(m|h|d)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True, slots=True)
class RequiredFacts:
    """A node must fit one pattern of each part. `age` is the greatest age of the last write."""

    of: Selectors
    patterns: dict[str, tuple[str, ...]]
    age: timedelta | None
    stated_age: str
    expressions: Mapping[str, Pattern[str]]

    @property
    def groups(self) -> Sequence[Selectors]:
        return [self.of]

    def deviations(self, heading: Heading, checked: CheckedGraph) -> Iterator[Deviation]:
        for identifier in checked.find(self.of):
            node = checked.graph.nodes[identifier]
            facts = self._facts(node, checked)
            for part, patterns in self.patterns.items():
                if not any(map(self.expressions[part].match, facts[part])):
                    wanted = "" if patterns == ("*",) else f" {' or '.join(patterns)}"
                    yield heading.deviation(identifier, f"The {shown(identifier)} has no {part}{wanted}.")
            if self.age is not None and node.kind is NodeKind.DATASET and _age(identifier, checked) > self.age:
                yield heading.deviation(identifier, f"The {shown(identifier)} was not written within {self.stated_age}.")

    def _facts(self, node: Node, checked: CheckedGraph) -> dict[str, Sequence[str]]:
        found = descriptions_of(node)
        return {
            "owner": (*found.owners, *found.stewards), "tag": (*found.tags, *found.tag_values), "term": found.terms,
            "description": (found.description,) if found.description else (), "check": sorted(checked.graph.checks.get(node.id, ())),
        }  # fmt: skip


def _age(dataset: str, checked: CheckedGraph) -> timedelta:
    """Return the time since the last write of a dataset."""
    written = checked.graph.written.get(dataset)
    return datetime.fromisoformat(checked.now) - datetime.fromisoformat(written) if written else timedelta.max


def parse(stated: Any, place: str) -> RequiredFacts:
    parts = read_parts(stated, place, needs=("of",), accepts=_PARTS)
    wanted = {part: value for part, value in parts.items() if part != "of"}
    if not wanted:
        raise InvalidInputError("The rule demands nothing.", field=place, hint=f"Write at least one of {', '.join(_PARTS)}.")
    age = wanted.pop("freshness", None)
    patterns = {part: ("*",) if value is True else read_patterns(value, f"{place}.{part}") for part, value in wanted.items()}
    of = read_selectors(parts["of"], f"{place}.of")
    if age is not None and not all(NodeKind.DATASET in selector.kinds for selector in of):
        raise InvalidInputError("Only datasets can be fresh.", field=f"{place}.freshness", hint="Select datasets in `of`.")
    expressions = {part: expression_of(each) for part, each in patterns.items()}
    return RequiredFacts(of, patterns, _duration(age, f"{place}.freshness"), str(age), expressions)


def _duration(value: Any, place: str) -> timedelta | None:
    if value is None:
        return None
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidInputError(f"{str(value)[:40]!r} is no duration.", field=place, hint="Write minutes, hours or days: 30m, 24h, 7d.")
    return int(found[1]) * _UNITS[found[2]]
