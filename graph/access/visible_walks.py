"""Computes the part of a walk over visible nodes only, from the result of the whole walk.

A node within some hops over visible nodes is within as many hops over all nodes. So the store walks as usual, and the visible part of the
result is walked again in memory. The limit applies to visible nodes, so that the end of an answer does not reveal how much is hidden.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.graph.access.visible_properties import shown_fact
from headwater.graph.model import Node
from headwater.graph.stores.protocol import Cone, Direction, Subgraph

WALKED = 200_000  # visible and hidden nodes that a restricted caller's walk may visit


@dataclass(frozen=True, slots=True)
class Reached:
    """The visible nodes that a walk reached: hops by node in each direction. `beyond` are the nodes one hop beyond the depth."""

    hops: dict[Direction, dict[str, int]]
    beyond: set[str]

    def nearest(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for hops in self.hops.values():
            for identifier, away in hops.items():
                found[identifier] = min(away, found.get(identifier, away))
        return found


def walked(edges: Iterable[tuple[str, str]], focus: Sequence[str], direction: Direction, depth: int, seen: Collection[str]) -> Reached:
    """Walk from the focus over edges (source, destination) between visible nodes."""
    kept = [(src, dst) for src, dst in edges if src in seen and dst in seen]
    start = [identifier for identifier in dict.fromkeys(focus) if identifier in seen]
    hops: dict[Direction, dict[str, int]] = {}
    beyond: set[str] = set()
    for way in direction.ways():
        steps: dict[str, list[str]] = {}
        for src, dst in kept:
            near, far = (dst, src) if way is Direction.UPSTREAM else (src, dst)
            steps.setdefault(near, []).append(far)
        found = dict.fromkeys(start, 0)
        frontier = start
        for away in range(1, depth + 1):
            frontier = list(dict.fromkeys(far for near in frontier for far in steps.get(near, ()) if far not in found))
            if not frontier:
                break
            found.update(dict.fromkeys(frontier, away))
        hops[way] = found
        beyond |= {far for near in frontier for far in steps.get(near, ()) if far not in found}
    reached = Reached(hops, beyond)
    reached.beyond.difference_update(reached.nearest())
    return reached


def ordered(reached: Reached) -> list[str]:
    """Return the reached nodes, nearest first, then by id."""
    hops = reached.nearest()
    return sorted(hops, key=lambda identifier: (hops[identifier], identifier))


def subgraph(whole: Subgraph, reached: Reached, nodes: Sequence[Node], limit: int) -> Subgraph:
    """Return the visible part of an answer. `nodes` are all reached nodes, nearest first; nodes and edges have only visible properties."""
    kept = nodes[:limit]
    ids = {node.id for node in kept}
    hops = reached.nearest()
    cut = len(nodes) - len(kept)
    is_whole = not whole.truncated
    return Subgraph(
        nodes=kept,
        edges=[edge for edge in whole.edges if edge.src in ids and edge.dst in ids],
        distance={node.id: hops[node.id] for node in kept},
        truncated=cut or int(not is_whole),
        counted=is_whole and whole.counted,
    )


def cone(whole: Cone, reached: Reached, limit: int, seen: Collection[str], runs: Collection[str]) -> Cone:
    """Return the visible part of a cone. `seen` are ids of the cone, including containers; `runs` are the runs that may be named."""
    order = ordered(reached)
    kept = order[:limit]
    numbers = {identifier: number for number, identifier in enumerate(kept)}
    old = {identifier: number for number, identifier in enumerate(whole.ids)}
    pairs, facts = [], []
    for place, (src, dst) in enumerate(whole.pairs.tolist()):
        ends = numbers.get(whole.ids[src]), numbers.get(whole.ids[dst])
        if None not in ends:
            pairs.append(ends)
            if whole.facts:
                facts.append(shown_fact(whole.facts[place], runs))
    contains = _containers(whole, numbers, seen)
    ids = list(numbers)
    return Cone(
        ids=ids,
        reached=len(kept),
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        facts=facts,
        contains=np.array(contains, dtype=np.int64).reshape(-1, 2),
        upstream=_hops(reached, Direction.UPSTREAM, numbers),
        downstream=_hops(reached, Direction.DOWNSTREAM, numbers),
        beyond=len(order) - len(kept) + len(reached.beyond),
        names=[whole.names[old[identifier]] for identifier in ids] if whole.names else (),
        known=None,  # the index's nodes include hidden properties
    )


def _containers(whole: Cone, numbers: dict[str, int], seen: Collection[str]) -> list[tuple[int, int]]:
    """Return the containers of the kept nodes on all levels. Each gets the next number."""
    above: dict[str, list[str]] = {}
    for container, child in whole.contains.tolist():
        if whole.ids[container] in seen:
            above.setdefault(whole.ids[child], []).append(whole.ids[container])
    rows: list[tuple[int, int]] = []
    waiting, done = list(numbers), set(numbers)
    for child in waiting:  # the list grows during the loop, by containers of containers
        for container in above.get(child, ()):
            numbers.setdefault(container, len(numbers))
            rows.append((numbers[container], numbers[child]))
            if container not in done:
                done.add(container)
                waiting.append(container)
    return rows


def _hops(reached: Reached, way: Direction, numbers: dict[str, int]) -> dict[int, int]:
    return {numbers[identifier]: away for identifier, away in reached.hops.get(way, {}).items() if identifier in numbers}
