"""A flow graph under check, with the selectors that each node fits."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater.graph.model import NodeKind, kind_of
from headwater.graph.policies.flow_graph import FlowGraph, Step
from headwater.graph.policies.matcher import Matcher, Selectors
from headwater.graph.policies.selector import dataset_of
from headwater.graph.views.fields import Way


@dataclass(frozen=True, slots=True)
class FlowPath:
    """The way from a source to a node. `since` is the time at which the last of its flows was first stated."""

    nodes: tuple[str, ...]
    since: str
    certain: bool


@dataclass(slots=True)
class CheckedGraph:
    """A flow graph under check. `now` is the present time in ISO 8601."""

    graph: FlowGraph
    matcher: Matcher
    now: str
    masks: dict[str, int] = field(init=False)
    _ahead: dict[str, int] | None = None

    def __post_init__(self) -> None:
        self.masks = {identifier: self.matcher.mask(node, self.graph.containers_of) for identifier, node in self.graph.nodes.items()}

    def fits(self, selectors: Selectors, identifier: str) -> bool:
        """Whether a node fits one of some selectors."""
        return self.masks.get(identifier, 0) & self.matcher.bits(selectors) != 0

    def find(self, selectors: Selectors) -> list[str]:
        """Return the nodes that fit one of some selectors, in the order of their ids."""
        bits = self.matcher.bits(selectors)
        return sorted(identifier for identifier, mask in self.masks.items() if mask & bits)

    def match(self, selectors: Selectors, identifier: str) -> str | None:
        """Return what fits: the node itself, or the dataset of a column. None if neither fits."""
        if self.fits(selectors, identifier):
            return identifier
        dataset = dataset_of(identifier)
        return dataset if dataset != identifier and self.fits(selectors, dataset) else None

    def ahead(self) -> dict[str, int]:
        """Return for each node the bits of all selectors that a node downstream fits, if all flows count.

        One pass over the graph answers for all rules which sources reach a target at all. Cycles need some more passes.
        """
        if self._ahead is None:
            nexts = {
                node: sorted({end for ends, _ in self._next(node, Way.INDIRECT, is_source=True) for end in ends}) for node in self.masks
            }
            found = dict.fromkeys(nexts, 0)
            order, is_changed = _postorder(nexts), True
            while is_changed:
                is_changed = False
                for node in order:
                    bits = 0
                    for end in nexts[node]:
                        bits |= self._own(end) | (0 if kind_of(end) is NodeKind.JOB else found[end])
                    if bits != found[node]:
                        found[node], is_changed = bits, True
            self._ahead = found
        return self._ahead

    def paths(self, source: str, targets: Selectors, *, ways: Way, through: Selectors = ()) -> Iterator[tuple[str, FlowPath]]:
        """Yield each node that data of a source reaches and that fits `targets`, or its dataset does.

        Each comes with the best path: a certain one first, then the shortest. A dataset passes all of its columns on. No path
        passes a node between its ends that fits `through`.
        """
        wanted, ahead = self.matcher.bits(targets), self.ahead()
        settled: set[str] = set()
        heap: list[tuple[bool, int, tuple[str, ...], str]] = [(False, 0, (source,), "")] if ahead[source] & wanted else []
        while heap:
            is_unsure, hops, path, since = heapq.heappop(heap)
            node = path[-1]
            if node in settled:
                continue
            settled.add(node)
            if node != source:
                if self._own(node) & wanted:
                    yield node, FlowPath(path, since, not is_unsure)
                if kind_of(node) is NodeKind.JOB or (node not in self.graph.columns.get(source, ()) and self._passes(through, node)):
                    continue  # the end of a path: what comes later passed through it
            for nodes, step in self._next(node, ways, is_source=node == source):
                end = nodes[-1]
                if (self._own(end) | ahead[end]) & wanted and not any(self._passes(through, each) for each in nodes[:-1]):
                    heapq.heappush(heap, (is_unsure or not step.certain, hops + len(nodes), (*path, *nodes), max(since, step.since)))

    def _own(self, identifier: str) -> int:
        """Return the bits of the selectors that a node or its dataset fits."""
        return self.masks.get(identifier, 0) | self.masks.get(dataset_of(identifier), 0)

    def _next(self, node: str, ways: Way, *, is_source: bool) -> Iterator[tuple[tuple[str, ...], Step]]:
        """Yield each step out of a node, with the nodes that it reaches: a column of a dataset, a job, or a job and its output."""
        for column in self.graph.columns.get(node, ()):
            yield (column,), Step(None, column, certain=is_source)
        for step in self.graph.steps(node, ways):
            if step.job is not None:
                yield (step.job,), step
            if step.node is not None:
                yield ((step.job, step.node) if step.job is not None else (step.node,)), step

    def _passes(self, through: Selectors, identifier: str) -> bool:
        return bool(through) and self.match(through, identifier) is not None


def _postorder(nexts: dict[str, list[str]]) -> list[str]:
    """Return the nodes so that each comes after the nodes that follow it, except in cycles."""
    order: list[str] = []
    seen: set[str] = set()
    for start, first in nexts.items():
        stack = [(start, iter(first))] if start not in seen else []
        seen.add(start)
        while stack:
            node, ends = stack[-1]
            following = next((end for end in ends if end not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(nexts[following])))
    return order
