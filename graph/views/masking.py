"""Masks: decides which nodes of a view are hidden. The focus is never hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headwater.graph.model import Node, NodeKind, bare_name, parse_id
from headwater.graph.model.declaration import Aspect
from headwater.graph.model.descriptions import TAGGED, descriptions_of, withdrawn
from headwater.graph.views.levels import kind_of
from headwater.graph.views.patterns import all_like, like
from headwater.graph.views.request import Mask, MaskBy

Nodes = Mapping[str, Node]
Chain = Callable[[str], Sequence[str]]

_NAMESPACED = {
    NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.VERSION, NodeKind.COLUMN, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB,
}  # fmt: skip
_OF_PROPERTIES = {MaskBy.TAG, MaskBy.OWNER, MaskBy.LAYER}


def needs_nodes(masks: Iterable[Mask]) -> bool:
    """Return whether a mask depends on properties of nodes."""
    return any(mask.by in _OF_PROPERTIES for mask in masks)


def needs_names(masks: Iterable[Mask]) -> bool:
    """Return whether masks depend on names of nodes, and on no other property."""
    return any(mask.by is MaskBy.NAME for mask in masks) and not needs_nodes(masks)


def hides(masks: Sequence[Mask], identifier: str, chain: Chain, nodes: Nodes) -> bool:
    return Hiding(masks, lambda node: tuple(chain(node)[1:]), nodes).hidden([identifier])[0]


class Hiding:
    """Decides which nodes are hidden. `above` returns the containers of a node; `names` are names of nodes that are not among `nodes`."""

    def __init__(
        self, masks: Sequence[Mask], above: Callable[[str], tuple[str, ...]], nodes: Nodes, names: Mapping[str, str] | None = None
    ) -> None:
        self._masks, self._above, self._nodes, self._names = masks, above, nodes, names or {}
        self._containers: dict[tuple[int, tuple[str, ...]], bool] = {}  # thousands of nodes have the same containers

    def hidden(self, identifiers: Sequence[str], above: Sequence[tuple[str, ...]] = ()) -> list[bool]:
        """Return for each node whether one of the masks hides it. `above` may give the containers of each node."""
        hidden = [False] * len(identifiers)
        for number, mask in enumerate(self._masks):
            if mask.by is MaskBy.NAME:
                matches = self._by_name(number, mask, identifiers, above or [self._above(identifier) for identifier in identifiers])
            else:
                matches = [self._matches(number, mask, identifier) for identifier in identifiers]
            hidden = [before or match is not mask.negated for before, match in zip(hidden, matches, strict=True)]
        return hidden

    def _by_name(self, number: int, mask: Mask, identifiers: Sequence[str], above: Sequence[tuple[str, ...]]) -> list[bool]:
        """Match the names of all nodes at once. A node also matches if one of its containers does."""
        get = self._names.get
        names = [self._name_of(identifier) if (name := get(identifier)) is None else name for identifier in identifiers]
        inherited = {containers: self._inherits(number, mask, containers) for containers in set(above)}
        return [match or inherited[containers] for match, containers in zip(all_like(mask.values, names), above, strict=True)]

    def _name_of(self, identifier: str) -> str:
        node = self._nodes.get(identifier)
        return node.name if node else bare_name(identifier)

    def _inherits(self, number: int, mask: Mask, above: tuple[str, ...]) -> bool:
        found = self._containers[number, above] = any(self._one(mask, each) for each in above)
        return found

    def _matches(self, number: int, mask: Mask, identifier: str) -> bool:
        if mask.by is MaskBy.KIND:
            return kind_of(identifier) in mask.values
        above = self._above(identifier)
        if mask.by is MaskBy.NAMESPACE:
            return any(like(mask.values, parse_id(each)[1][0]) for each in (identifier, *above) if kind_of(each) in _NAMESPACED)
        if mask.by is MaskBy.TAG and kind_of(identifier) is NodeKind.COLUMN and (column := self._nodes.get(identifier)):
            dataset = self._nodes.get(above[0])
            if not field_tags(column, dataset).isdisjoint(mask.values):
                return True
        if self._one(mask, identifier):
            return True
        found = self._containers.get((number, above))
        return self._inherits(number, mask, above) if found is None else found

    def _one(self, mask: Mask, identifier: str) -> bool:
        if mask.by is MaskBy.NODE:
            return identifier in mask.values
        if mask.by is MaskBy.NAME:
            name = self._names.get(identifier)
            return like(mask.values, self._name_of(identifier) if name is None else name)
        node = self._nodes.get(identifier)
        if node is None:
            return False
        if mask.by is MaskBy.LAYER:
            return layer_of(node) in mask.values
        if mask.by is MaskBy.OWNER:
            return not set(mask.values).isdisjoint(owners_of(node))
        return not tags_of(node).isdisjoint(mask.values)


def tags_of(node: Node) -> set[str]:
    """Return the tags of a node: from users, from OpenLineage's tags facet (as `key` and `key=value`), or from a list of texts.

    Tags of a column, and tags that producers stated of a dataset's partitions, are returned with every value that they ever had.
    """
    once = {name.removeprefix(TAGGED) for name in node.properties if name.startswith(TAGGED)}
    return _without_withdrawn(node, {*descriptions_of(node).tags, *_tags(node, None), *once})


def field_tags(column: Node, dataset: Node | None) -> set[str]:
    """Return the tags of a column: its own, and those that its dataset's facet states for the field."""
    return _without_withdrawn(column, tags_of(column) | (_tags(dataset, column.name) if dataset else set()))


def owners_of(node: Node) -> list[str]:
    """Return the owners of a node: from users, from OpenLineage's ownership facet, or from a list of texts `owners`."""
    plain = [owner for owner in _list(node.properties.get("owners")) if isinstance(owner, str)]
    return list(dict.fromkeys([*descriptions_of(node).owners, *plain]))


def layer_of(node: Node) -> str | None:
    """Return the layer of a node: its property `layer`, else the value of its tag `layer`."""
    layer: Any = node.properties.get("layer")
    if isinstance(layer, str):
        return layer
    return next((tag.partition("=")[2] for tag in sorted(tags_of(node)) if tag.startswith("layer=")), None)


def _without_withdrawn(node: Node, tags: set[str]) -> set[str]:
    """Remove tags that users have withdrawn, by key or as `key=value`."""
    gone = withdrawn(node, Aspect.TAG)
    return {tag for tag in tags if not gone & {tag, tag.partition("=")[0]}} if gone else tags


def _tags(node: Node, field: str | None) -> set[str]:
    stated = node.properties.get("tags")
    found: set[str] = set()
    for entry in _list(stated.get("tags") if isinstance(stated, Mapping) else stated):
        if isinstance(entry, str) and field is None:
            found.add(entry)
        elif isinstance(entry, Mapping) and (entry.get("field") or None) == field and isinstance(entry.get("key"), str):
            found |= {entry["key"], f"{entry['key']}={entry.get('value')}"}
    return found


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
