"""Zooming: which container stands for a node at the levels asked for.

A node is shown as its innermost container of the level. Where it has none (a job outside all pipelines), as the outermost of its own that
is finer than the level; where it is coarser than the level itself (a dataset of which no column is known), as itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.views.request import ACTORS, DATA, ViewRequest

_KINDS = {kind.value: kind for kind in NodeKind}
_DATA = {kind: level for level, kind in enumerate(DATA)}
_ACTORS = {kind: level for level, kind in enumerate(ACTORS)}
_RANK = _DATA | _ACTORS
_BY_ID = {NodeKind.DATASET: 1, NodeKind.VERSION: 2, NodeKind.COLUMN: 2}  # how many parts of the id name the container


def kind_of(identifier: str) -> NodeKind:
    """The kind of a node that is in a graph, by its id."""
    return _KINDS[identifier[: identifier.index(":")]]


class Zoom:
    """Lifts nodes to the levels of a request. `parents` are the containers that ids do not tell."""

    def __init__(self, request: ViewRequest, parents: Mapping[str, Sequence[str]]) -> None:
        self._request = request
        self._parents = parents
        self._chains: dict[str, tuple[str, ...]] = {}
        self._lifted: dict[tuple[str, ...], str | None] = {}
        self._plain = not request.open

    def lift(self, identifier: str) -> str:
        """The id of what stands for the node in the view."""
        kind = kind_of(identifier)
        level = self._request.data if kind in _DATA else self._request.actors
        if self._plain:
            if kind is level:
                return identifier
            if kind is NodeKind.DATASET and level is NodeKind.PLATFORM:
                return "platform:" + identifier.split(":", 2)[1]
        return self._lift(identifier, kind, level)

    def chain(self, identifier: str) -> tuple[str, ...]:
        """The node and its containers, innermost first."""
        known = self._chains.get(identifier)
        if known is None:
            known = self._chains[identifier] = (identifier, *self._above(identifier))
        return known

    def _lift(self, identifier: str, kind: NodeKind, level: NodeKind) -> str:
        if _RANK[kind] < _RANK[level] and self._plain:
            return identifier
        containers = self.chain(identifier)[1:]
        if self._plain:
            # Thousands of nodes share their containers: what those come to is worked out once.
            if containers not in self._lifted:
                self._lifted[containers] = _at(containers, level)
            found = self._lifted[containers]
            return found if found is not None else _outermost_finer((identifier, *containers), level)
        for container in containers:  # innermost first: the closest opened container decides
            if container in self._request.open:
                level = self._request.open[container]
                break
        else:
            level = self._request.open.get(identifier, level) if _RANK[kind] >= _RANK[level] else level
        chain = (identifier, *containers)
        return _at(chain, level) or _outermost_finer(chain, level)

    def _above(self, identifier: str) -> list[str]:
        kind = kind_of(identifier)
        if parts := _BY_ID.get(kind):
            above = {1: NodeKind.PLATFORM, 2: NodeKind.DATASET}[parts]
            container = node_id(above, *parse_id(identifier)[1][:parts])
            return list(self.chain(container))
        distance = {identifier: 0}
        frontier = [identifier]
        while frontier:
            found = sorted({parent for child in frontier for parent in self._parents.get(child, ())} - distance.keys())
            distance.update((parent, len(distance)) for parent in found)
            frontier = found
        del distance[identifier]
        told = [container for container in distance if kind_of(container) in _BY_ID]
        for container in told:
            for outer in self.chain(container)[1:]:
                distance.setdefault(outer, len(distance))
        return sorted(distance, key=lambda container: (-_RANK[kind_of(container)], distance[container]))


def levels_among(identifiers: Iterable[str], zoom: Zoom) -> set[NodeKind]:
    """The levels that the nodes and their containers are of."""
    return {kind_of(each) for identifier in identifiers for each in zoom.chain(identifier)}


def _at(chain: Sequence[str], level: NodeKind) -> str | None:
    return next((container for container in chain if kind_of(container) is level), None)


def _outermost_finer(chain: Sequence[str], level: NodeKind) -> str:
    finer = [container for container in chain if _RANK[kind_of(container)] > _RANK[level]]
    return finer[-1] if finer else chain[0]
