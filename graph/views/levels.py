"""Zooming: finds the container that represents a node at the requested levels.

A node is shown as its innermost container of the level. A node without one (a job outside of all pipelines) is shown as its outermost
container that is finer than the level. A node that is coarser than the level (a dataset without known columns) is shown as itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headwater.graph.model import NodeKind
from headwater.graph.views.request import ACTORS, DATA, ViewRequest

_KINDS = {kind.value: kind for kind in NodeKind}
_DATA = {kind: level for level, kind in enumerate(DATA)}
_ACTORS = {kind: level for level, kind in enumerate(ACTORS)}
_RANK = _DATA | _ACTORS
_DATASET = f"{NodeKind.DATASET}:"
_JOB = f"{NodeKind.JOB}:"
_BY_ID = {NodeKind.DATASET: 1, NodeKind.VERSION: 2, NodeKind.COLUMN: 2}  # number of parts of the id that name the container


def kind_of(identifier: str) -> NodeKind:
    """Return the kind of a node from its id."""
    return _KINDS[identifier[: identifier.index(":")]]


class Zoom:
    """Lifts nodes to the levels of a request. `parents` are the containers that ids do not state."""

    def __init__(self, request: ViewRequest, parents: Mapping[str, Sequence[str]]) -> None:
        self._request = request
        self._parents = parents
        self._chains: dict[str, tuple[str, ...]] = {}
        self._containers: dict[str, tuple[str, ...]] = {}
        self._platforms: dict[str, tuple[str, ...]] = {}  # containers of a dataset, by its namespace
        self._lifted: dict[tuple[NodeKind, tuple[str, ...]], str | None] = {}
        self._plain = not request.open
        self._shared: dict[tuple[str, ...], list[str]] = {}

    def lift_all(self, ids: Sequence[str], atoms: Iterable[int]) -> dict[int, str]:
        """Return for each atom the id of the visible node that represents it."""
        data, actors, plain = self._request.data, self._request.actors, self._plain
        lifted: dict[int, str] = {}
        shared: dict[tuple[str, ...], str] = {}  # the result for jobs with the same containers
        datasets, jobs, parents = plain and data is NodeKind.DATASET, plain and actors is not NodeKind.JOB, self._parents
        for atom in atoms:  # tens of thousands: the frequent cases are decided here, without a call
            identifier = ids[atom]
            if datasets and identifier.startswith(_DATASET):
                lifted[atom] = identifier
                continue
            if jobs and identifier.startswith(_JOB):
                known = shared.get(tuple(parents.get(identifier, ())))
                if known is not None:
                    lifted[atom] = known
                    continue
            kind = _KINDS[identifier[: identifier.index(":")]]
            if plain and (kind is data or kind is actors):
                lifted[atom] = identifier
            elif plain and kind is NodeKind.DATASET and data is NodeKind.PLATFORM:
                lifted[atom] = "platform:" + identifier.split(":", 2)[1]
            elif plain and kind is NodeKind.JOB:
                above = tuple(parents.get(identifier, ()))
                found = shared.get(above)
                if found is None:
                    found = self._lift(identifier, kind, actors)
                    if found != identifier:
                        shared[above] = found
                lifted[atom] = found
            else:
                lifted[atom] = self._lift(identifier, kind, data if kind in _DATA else actors)
        return lifted

    def chain(self, identifier: str) -> tuple[str, ...]:
        """Return the node and its containers, innermost first."""
        known = self._chains.get(identifier)
        if known is None:
            known = self._chains[identifier] = (identifier, *self._above(identifier))
        return known

    def above(self, identifier: str) -> tuple[str, ...]:
        """Return the containers of a node, innermost first. Datasets with the same container share one tuple."""
        known = self._containers.get(identifier)
        if known is None:
            if identifier.startswith(_DATASET) and identifier not in self._parents:
                namespace = identifier[len(_DATASET) : identifier.index(":", len(_DATASET))]
                platform = self._platforms.get(namespace)
                known = self._platforms[namespace] = self.chain(f"platform:{namespace}") if platform is None else platform
            else:
                known = self.chain(identifier)[1:]
            self._containers[identifier] = known
        return known

    def above_all(self, identifiers: Sequence[str]) -> list[tuple[str, ...]]:
        """Return `above` for each of many nodes, faster than one call for each."""
        above, parents, platforms, start = self.above, self._parents, self._platforms, len(_DATASET)
        found: list[tuple[str, ...]] = []
        for identifier in identifiers:
            known = None
            if identifier.startswith(_DATASET) and identifier not in parents:
                known = platforms.get(identifier[start : identifier.index(":", start)])
            found.append(above(identifier) if known is None else known)
        return found

    def _lift(self, identifier: str, kind: NodeKind, level: NodeKind) -> str:
        if not self._plain:
            return self._lift_opened(identifier, kind, level)
        if _RANK[kind] < _RANK[level]:
            return identifier
        if kind in _BY_ID:
            return _at(self.chain(identifier), level) or _outermost_finer(self.chain(identifier), level)
        # Thousands of nodes have the same containers, so the result is cached.
        above = tuple(self._parents.get(identifier, ()))
        key = (level, above)
        if key not in self._lifted:
            containers = self.chain(identifier)[1:]
            self._lifted[key] = _at(containers, level) or _finer(containers, level)
        return self._lifted[key] or identifier

    def _lift_opened(self, identifier: str, kind: NodeKind, level: NodeKind) -> str:
        chain = self.chain(identifier)
        opened = next((container for container in chain[1:] if container in self._request.open), None)
        if opened is not None:  # the innermost container decides
            level = self._request.open[opened]
        elif _RANK[kind] >= _RANK[level]:
            level = self._request.open.get(identifier, level)
        return _at(chain, level) or _outermost_finer(chain, level)

    def _above(self, identifier: str) -> list[str]:
        kind = kind_of(identifier)
        if parts := _BY_ID.get(kind):
            # Parts are encoded alike in every id, so they need no decoding.
            above = NodeKind.PLATFORM if parts == 1 else NodeKind.DATASET
            named = self.chain(":".join([above, *identifier.split(":", parts + 1)[1 : parts + 1]]))
            declared = self._parents.get(identifier)
            return [*self._climb([*declared, *named])] if declared else list(named)
        parents = tuple(self._parents.get(identifier, ()))
        if parents not in self._shared:
            self._shared[parents] = self._climb(parents)
        return self._shared[parents]

    def _climb(self, parents: Sequence[str]) -> list[str]:
        """Return all containers above some containers, innermost first. A cycle of containment ends where it closes."""
        distance = dict.fromkeys(sorted(parents), 1)
        frontier = list(distance)
        while frontier:
            found = sorted({parent for child in frontier for parent in self._parents.get(child, ())} - distance.keys())
            distance.update((parent, len(distance) + 1) for parent in found)
            frontier = found
        with_chain = [container for container in distance if kind_of(container) in _BY_ID]
        for container in with_chain:
            for outer in self.chain(container)[1:]:
                distance.setdefault(outer, len(distance))
        return sorted(distance, key=lambda container: (-_RANK[kind_of(container)], distance[container]))


def levels_among(identifiers: Iterable[str], zoom: Zoom) -> set[NodeKind]:
    return {kind_of(each) for identifier in identifiers for each in zoom.chain(identifier)}


def _at(chain: Sequence[str], level: NodeKind) -> str | None:
    return next((container for container in chain if kind_of(container) is level), None)


def _outermost_finer(chain: Sequence[str], level: NodeKind) -> str:
    return _finer(chain, level) or chain[0]


def _finer(chain: Sequence[str], level: NodeKind) -> str | None:
    finer = [container for container in chain if _RANK[kind_of(container)] > _RANK[level]]
    return finer[-1] if finer else None
