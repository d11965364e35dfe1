"""Finds the pairs of a relation that lie on a circle. Time and memory are linear in the number of pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


def on_circles(pairs: Iterable[tuple[T, T]]) -> list[tuple[T, T]]:
    """Return the pairs that lie on a circle, in their order."""
    listed = list(dict.fromkeys(pairs))
    following: dict[T, list[T]] = {}
    for first, second in listed:
        following.setdefault(first, []).append(second)
    component = components(following)
    return [pair for pair in listed if component.get(pair[0]) == component.get(pair[1]) and component.get(pair[0]) is not None]


def components(following: Mapping[T, Sequence[T]]) -> dict[T, int]:
    """Return the strongly connected component of each node on a circle. Other nodes are left out."""
    search = _Search(following)
    for root in following:
        search.run(root)
    return search.found


class _Search(Generic[T]):
    """Tarjan's algorithm (1972), without recursion."""

    def __init__(self, following: Mapping[T, Sequence[T]]) -> None:
        self.found: dict[T, int] = {}
        self._following = following
        self._index: dict[T, int] = {}
        self._low: dict[T, int] = {}
        self._stack: list[T] = []
        self._on_stack: set[T] = set()
        self._components = 0

    def run(self, root: T) -> None:
        if root in self._index:
            return
        work = [self._met(root)]
        while work:
            node, nexts = work[-1]
            after = next((after for after in nexts if self._leads_on(node, after)), None)
            if after is not None:
                work.append(self._met(after))
                continue
            work.pop()
            if self._low[node] == self._index[node]:
                self._close(node)
            if work:
                above = work[-1][0]
                self._low[above] = min(self._low[above], self._low[node])

    def _met(self, node: T) -> tuple[T, Iterator[T]]:
        self._index[node] = self._low[node] = len(self._index)
        self._stack.append(node)
        self._on_stack.add(node)
        return node, iter(self._following.get(node, ()))

    def _leads_on(self, node: T, after: T) -> bool:
        if after not in self._index:
            return True
        if after in self._on_stack:
            self._low[node] = min(self._low[node], self._index[after])
        return False

    def _close(self, node: T) -> None:
        members: list[T] = []
        while not members or members[-1] != node:
            members.append(self._stack.pop())
            self._on_stack.discard(members[-1])
        if len(members) > 1 or node in self._following.get(node, ()):
            self.found.update(dict.fromkeys(members, self._components))
            self._components += 1
