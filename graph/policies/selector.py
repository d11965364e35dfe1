"""Selectors: the part of a rule that names datasets, columns or jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from re import Pattern
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.model import Node, NodeKind, bare_name, kind_of, node_id, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.views.patterns import expression_of

PARTS = ("dataset", "column", "job", "namespace", "within", "tag", "owner", "term")
_NAMED = ("column", "job", "dataset")
_DESCRIBED = ("tag", "owner", "term")
_MOST_PATTERNS = 50
_LONGEST = 500  # characters of a pattern
_SHOWN = 80

Described = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # tags, owners, terms


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """Patterns by part. A node fits if it fits all parts, and it fits a part if it fits one of the part's patterns.

    `column` selects columns, `job` selects jobs, `dataset` selects datasets. A selector without these three selects datasets, and also the
    columns and jobs that bear a tag, an owner or a term by themselves.
    """

    parts: Mapping[str, tuple[str, ...]]
    _expressions: Mapping[str, Pattern[str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_expressions", {part: expression_of(patterns) for part, patterns in self.parts.items()})

    @classmethod
    def parse(cls, stated: Any, place: str) -> Selector:
        """Read a selector of a policy's file. A text is a pattern for names of datasets.

        Raises:
            InvalidInputError: the selector is empty, or has an unknown part or an invalid pattern.
        """
        if isinstance(stated, str):
            stated = {"dataset": stated}
        if not isinstance(stated, Mapping) or not stated:
            raise InvalidInputError("A selector is missing.", field=place, hint=f"Write a pattern, or parts of {', '.join(PARTS)}.")
        if unknown := sorted(set(stated) - set(PARTS)):
            raise InvalidInputError(f"A selector has no part {unknown[0]!r}.", field=place, hint=f"The parts are {', '.join(PARTS)}.")
        if "job" in stated and {"dataset", "column"} & set(stated):
            raise InvalidInputError("A selector names jobs, or datasets and columns, but not both.", field=place, hint="Write two rules.")
        return cls({part: read_patterns(value, f"{place}.{part}") for part, value in stated.items()})

    @property
    def kinds(self) -> frozenset[NodeKind]:
        """Return the kinds of nodes that the selector can fit."""
        if "column" in self.parts:
            return frozenset({NodeKind.COLUMN})
        if "job" in self.parts:
            return frozenset({NodeKind.JOB})
        if "dataset" in self.parts or not any(part in self.parts for part in _DESCRIBED):
            return frozenset({NodeKind.DATASET})
        return frozenset({NodeKind.DATASET, NodeKind.COLUMN, NodeKind.JOB})

    def fits_id(self, identifier: str) -> bool:
        """Whether a node fits the parts about its kind and names."""
        if kind_of(identifier) not in self.kinds:
            return False
        names = names_of(identifier)
        return all(part not in names or expression.match(names[part]) for part, expression in self._expressions.items())

    def prefixes(self) -> list[tuple[str, str]]:
        """Return parts and lower-case texts: each node that fits has a name of such a part that begins with the text. Empty if unknown."""
        for part in _NAMED:
            found = [(part, _literal_begin(pattern).lower()) for pattern in self.parts.get(part, ())]
            if found and all(text and text.isascii() for _, text in found):
                return found
        return []

    def fits_described(self, described: Described) -> bool:
        """Whether the descriptions of a node fit. Described are tags, owners and terms."""
        values = dict(zip(_DESCRIBED, described, strict=True))
        return all(any(map(self._expressions[part].match, values[part])) for part in _DESCRIBED if part in self.parts)

    def fits_containers(self, containers: Sequence[str]) -> bool:
        """Whether one of the containers of a node fits, by id or by name."""
        expression = self._expressions.get("within")
        return expression is None or any(expression.match(each) or expression.match(bare_name(each)) for each in containers)

    def __str__(self) -> str:
        return ", ".join(f"{part} {' or '.join(patterns)}" for part, patterns in self.parts.items())


def read_patterns(value: Any, place: str) -> tuple[str, ...]:
    patterns = value if isinstance(value, list) else [value]
    if not patterns or len(patterns) > _MOST_PATTERNS or not all(isinstance(each, str) for each in patterns):
        raise InvalidInputError(f"Write a pattern, or a list of 1 to {_MOST_PATTERNS} patterns.", field=place)
    for pattern in patterns:
        if not pattern or len(pattern) > _LONGEST or not pattern.isprintable():
            raise InvalidInputError(f"{pattern[:_SHOWN]!r} is no pattern.", field=place, hint=f"Write 1 to {_LONGEST} letters, as gold.*.")
    return tuple(patterns)


def _literal_begin(pattern: str) -> str:
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0]


def names_of(identifier: str) -> Mapping[str, str]:
    kind, parts = parse_id(identifier)
    names = {"namespace": parts[0], kind: bare_name(identifier)}
    return names | {"dataset": parts[1]} if kind == NodeKind.COLUMN else names


def described_of(node: Node) -> Described:
    found = descriptions_of(node)
    return (*found.tags, *found.tag_values), (*found.owners, *found.stewards), found.terms


@lru_cache(1 << 16)
def dataset_of(column: str) -> str:
    """Return the dataset of a column; any other id unchanged."""
    if kind_of(column) is not NodeKind.COLUMN:
        return column
    return node_id(NodeKind.DATASET, *parse_id(column)[1][:2])
