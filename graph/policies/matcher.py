"""Answers which selectors a node fits, and remembers the answers from check to check.

An answer is a number with a bit for each selector. The selectors of thousands of rules are compared with a node once, by its id, and with
each combination of tags, owners and terms once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from headwater.graph.model import Node
from headwater.graph.policies.selector import Described, Selector, described_of

Selectors = Sequence[Selector]
_REMEMBERED = 200_000
T = TypeVar("T")


class Matcher:
    """The selectors of a policy, each with a bit."""

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self._selectors = list(dict.fromkeys(selectors))
        self._bits = {selector: 1 << number for number, selector in enumerate(self._selectors)}
        self._asks_containers = any("within" in selector.parts for selector in self._selectors)
        self._by_id: dict[str, int] = {}
        self._by_description: dict[Described, int] = {}
        self._by_containers: dict[tuple[str, ...], int] = {}

    def bits(self, selectors: Selectors) -> int:
        """Return the bits of some selectors."""
        found = 0
        for selector in selectors:
            found |= self._bits[selector]
        return found

    def mask(self, node: Node, containers: Callable[[str], Sequence[str]]) -> int:
        """Return the bits of the selectors that a node fits. `containers` returns the ids of all containers of a node."""
        found = self._remember(self._by_id, node.id, lambda selector: selector.fits_id(node.id))
        if not found:
            return 0
        described = described_of(node)
        found &= self._remember(self._by_description, described, lambda selector: selector.fits_described(described))
        if found and self._asks_containers:
            around = tuple(containers(node.id))
            found &= self._remember(self._by_containers, around, lambda selector: selector.fits_containers(around))
        return found

    def _remember(self, known: dict[T, int], key: T, fits: Callable[[Selector], bool]) -> int:
        found = known.get(key)
        if found is None:
            if len(known) >= _REMEMBERED:
                known.clear()
            found = known[key] = self.bits([selector for selector in self._selectors if fits(selector)])
        return found
