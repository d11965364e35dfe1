"""Strongly connected components of a graph, each component after all components that it leads to.

Tarjan's algorithm without recursion, because a lineage may be longer than Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def components(nodes: Iterable[int], steps: Callable[[int], Iterable[int]]) -> list[list[int]]:
    """Return the components of the nodes. `steps` may only lead to nodes in `nodes`."""
    search = _Search(steps)
    for node in nodes:
        if node not in search.index:
            search.walk(node)
    return search.found


class _Search:
    def __init__(self, steps: Callable[[int], Iterable[int]]) -> None:
        self.found: list[list[int]] = []
        self.index: dict[int, int] = {}
        self._steps = steps
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        self._on_stack: set[int] = set()

    def walk(self, root: int) -> None:
        work = [(root, self._enter(root))]
        low, index = self._low, self.index
        while work:
            node, following = work[-1]
            for other in following:
                if other not in index:
                    work.append((other, self._enter(other)))
                    break
                if other in self._on_stack and index[other] < low[node]:
                    low[node] = index[other]
            else:
                work.pop()
                if work and low[node] < low[work[-1][0]]:
                    low[work[-1][0]] = low[node]
                if low[node] == index[node]:
                    self._leave(node)

    def _enter(self, node: int) -> Iterator[int]:
        self.index[node] = self._low[node] = len(self.index)
        self._stack.append(node)
        self._on_stack.add(node)
        return iter(self._steps(node))

    def _leave(self, root: int) -> None:
        place = len(self._stack) - 1
        while self._stack[place] != root:
            place -= 1
        component = self._stack[place:]
        del self._stack[place:]
        self._on_stack.difference_update(component)
        self.found.append(component)
