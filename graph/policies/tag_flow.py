"""Carries the tags of columns along the stated lineage of columns. The way of the values decides what becomes of a tag.

Values that are passed on or computed from carry the tag. A hash, a mask or a count lowers the tag to another one, or ends it. A value that
only decides carries a mark. A filter or a join decides about rows, so the dataset gets the mark, and passes it on to datasets made of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from re import Pattern
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.model import Node, NodeKind, kind_of
from headwater.graph.model.declaration import Aspect
from headwater.graph.model.descriptions import descriptions_of, withdrawn
from headwater.graph.policies.flow_graph import FlowGraph, Step
from headwater.graph.policies.selector import dataset_of, read_patterns
from headwater.graph.views.fields import Way
from headwater.graph.views.patterns import expression_of

MARK = "indirect:"  # begins the name of a mark
_MOST_RULES = 1_000
_LONGEST_TAG = 200
_PARTS = ("tag", "masked", "indirect")


class TagState(StrEnum):
    """The state of a tag that reaches a node. BORNE: the node has the tag. REFUSED: a person removed it there."""

    PROPOSED = "proposed"
    BORNE = "borne"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TagRule:
    """A rule for tags whose name, or the key of `key=value`, fits `names`. `masked` and `indirect` name other tags; None ends the tag."""

    names: Pattern[str]
    masked: str | None
    indirect: str | None


@dataclass(frozen=True, slots=True)
class TagRules:
    """Rules. The first rule that fits counts. If none fits, a mask ends the tag, and an indirect way makes it a mark."""

    rules: Sequence[TagRule] = ()

    def carried(self, tag: str, way: Way) -> str | None:
        """Return the tag that goes on. A mark goes on in every way.

        >>> TagRules().carried("pii", Way.DIRECT), TagRules().carried("pii", Way.MASKED), TagRules().carried("pii", Way.INDIRECT)
        ('pii', None, 'indirect:pii')
        """
        if way is Way.DIRECT or tag.startswith(MARK):
            return tag
        key = tag.partition("=")[0]
        rule = next((rule for rule in self.rules if rule.names.match(tag) or rule.names.match(key)), None)
        if rule is None:
            return f"{MARK}{key}" if way is Way.INDIRECT else None
        return rule.indirect if way is Way.INDIRECT else rule.masked


@dataclass(frozen=True, slots=True)
class ReachedTag:
    """A tag that reaches a node from a column, whose own tag is `origin_tag`. `path` leads from the column to the node, over the jobs.

    `way` is the weakest way on the path. It is not `certain` if a step leads over a field of a column, or over a name in another case.
    """

    node: str
    tag: str
    origin: str
    origin_tag: str
    path: Sequence[str]
    way: Way
    certain: bool
    state: TagState


@dataclass(frozen=True, slots=True)
class TagFlow:
    """All tags that reach nodes, by node and tag. `silent` are jobs that read tagged datasets without stating columns."""

    reached: Sequence[ReachedTag]
    silent: Sequence[str]


@dataclass(order=True, frozen=True, slots=True)
class _Place:
    """A tag at a node, with the best path to it: a certain one first, then the shortest."""

    is_unsure: bool
    hops: int
    path: tuple[str, ...]
    tag: str
    origin_tag: str = field(compare=False)
    way: Way = field(compare=False)

    @property
    def node(self) -> str:
        return self.path[-1]


def carry_tags(graph: FlowGraph, rules: TagRules) -> TagFlow:
    """Return the tags that reach columns and datasets from other columns. A refused tag does not go on from where it is refused."""
    own = {identifier: _own_tags(node) for identifier, node in graph.nodes.items() if node.kind is NodeKind.COLUMN}
    heap = [_Place(False, 0, (column,), tag, tag, Way.DIRECT) for column, tags in own.items() for tag in tags]
    heapq.heapify(heap)
    settled: set[tuple[str, str]] = set()
    found: dict[tuple[str, str], ReachedTag] = {}
    while heap:
        place = heapq.heappop(heap)
        state = TagState.BORNE
        if place.hops:
            state = _state(graph.nodes.get(place.node), place.tag)
            if (place.path[0], place.origin_tag) != (place.node, place.tag):
                found.setdefault((place.node, place.tag), _reached(place, state))
        if (place.node, place.tag) in settled:
            continue
        settled.add((place.node, place.tag))
        if state is TagState.REFUSED:
            continue
        for step, end in _steps(graph, place.node):
            tag = place.tag if kind_of(place.node) is NodeKind.DATASET else rules.carried(place.tag, step.way)
            known = (end, tag) in settled and (end, tag) in found
            if tag is not None and not known:
                path = (*place.path, *([step.job] if step.job else []), end)
                unsure, way = place.is_unsure or not step.certain, max(place.way, step.way)
                heapq.heappush(heap, _Place(unsure, place.hops + 1, path, tag, place.origin_tag, way))
    silent = {job for dataset in {dataset_of(node) for node, _ in settled} for job in _silent(graph, dataset)}
    return TagFlow([found[key] for key in sorted(found)], sorted(silent))


def _steps(graph: FlowGraph, node: str) -> Iterator[tuple[Step, str]]:
    """Yield the stated steps out of a column, or out of all columns of a dataset, with their ends."""
    if kind_of(node) is NodeKind.DATASET:
        for column in graph.columns.get(node, ()):
            yield from ((step, dataset_of(step.node)) for step in graph.derived.get(column, ()) if step.node)
        return
    for step in graph.derived_of(node):
        if step.node is not None:
            yield step, step.node


def _silent(graph: FlowGraph, dataset: str) -> Iterator[str]:
    for job in graph.readers.get(dataset, {}):
        if any((job, output) not in graph.explained for output in graph.outputs.get(job, {})):
            yield job


def _reached(place: _Place, state: TagState) -> ReachedTag:
    return ReachedTag(place.node, place.tag, place.path[0], place.origin_tag, place.path, place.way, not place.is_unsure, state)


def _own_tags(node: Node) -> list[str]:
    """Return the tags of a column. A tag with a value is there twice, as `key` and as `key=value`, because masks name either."""
    found = descriptions_of(node)
    return sorted({*found.tags, *found.tag_values})


def _state(node: Node | None, tag: str) -> TagState:
    if node is None:
        return TagState.PROPOSED
    if not withdrawn(node, Aspect.TAG).isdisjoint({tag, tag.partition("=")[0]}):
        return TagState.REFUSED
    found = descriptions_of(node)
    return TagState.BORNE if tag in (*found.tags, *found.tag_values) else TagState.PROPOSED


def parse_tag_rules(document: Mapping[str, Any]) -> TagRules:
    """Read a document of rules: `rules` is a list of {tag, masked, indirect}. A part that is missing or null ends the tag.

    Raises:
        InvalidInputError: the document is invalid. `field` is the place of the fault.
    """
    stated = document.get("rules")
    if set(document) != {"rules"} or not isinstance(stated, list) or not 1 <= len(stated) <= _MOST_RULES:
        raise InvalidInputError(f"A file of tag rules has a list of 1 to {_MOST_RULES:,} rules.", field="rules", hint="Write only `rules`.")
    return TagRules([_rule(each, f"rules[{number}]") for number, each in enumerate(stated)])


def _rule(stated: Any, place: str) -> TagRule:
    if not isinstance(stated, Mapping) or "tag" not in stated:
        raise InvalidInputError("A rule has the part `tag`.", field=place, hint="For example {tag: pii, masked: pii-hashed}.")
    if unknown := sorted(set(stated) - set(_PARTS)):
        raise InvalidInputError(f"A rule has no part {unknown[0]!r}.", field=place, hint=f"The parts are {', '.join(_PARTS)}.")
    for part in ("masked", "indirect"):
        value = stated.get(part)
        if value is not None and not (isinstance(value, str) and value and value.isprintable() and len(value) <= _LONGEST_TAG):
            raise InvalidInputError("That is no tag.", field=f"{place}.{part}", hint=f"Write 1 to {_LONGEST_TAG} letters, or null.")
    return TagRule(expression_of(read_patterns(stated["tag"], f"{place}.tag")), stated.get("masked"), stated.get("indirect"))
