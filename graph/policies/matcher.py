"""Answers which selectors a node fits, and remembers the answers from check to check.

An answer is a number with a bit for each selector. Of the selectors of thousands of rules, a node is compared once with those whose pattern
begins like its name, and each combination of tags, owners and terms is compared once with all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TypeVar

from headwater.graph.model import Node
from headwater.graph.policies.selector import Described, Selector, described_of, names_of

Selectors = Sequence[Selector]
_REMEMBERED = 200_000
T = TypeVar("T")


class Matcher:
    """The selectors of a policy, each with a bit."""

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self._selectors = list(dict.fromkeys(selectors))
        self._bits = {selector: 1 << number for number, selector in enumerate(self._selectors)}
        self._asks_containers = any("within" in selector.parts for selector in self._selectors)
        self._prefixed: dict[tuple[str, str], list[Selector]] = defaultdict(list)
        self._others: list[Selector] = []  # selectors without a known prefix
        for selector in self._selectors:
            prefixes = selector.prefixes()
            for prefix in prefixes:
                self._prefixed[prefix].append(selector)
            if not prefixes:
                self._others.append(selector)
        self._lengths = sorted({(part, len(text)) for part, text in self._prefixed})
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
        found = self._remember(self._by_id, node.id, lambda selector: selector.fits_id(node.id), self._candidates)
        if not found:
            return 0
        described = described_of(node)
        found &= self._remember(self._by_description, described, lambda selector: selector.fits_described(described))
        if found and self._asks_containers:
            around = tuple(containers(node.id))
            found &= self._remember(self._by_containers, around, lambda selector: selector.fits_containers(around))
        return found

    def _candidates(self, identifier: str) -> Iterable[Selector]:
        """Return the selectors that a node may fit, by the begin of its names."""
        names = names_of(identifier)
        if not all(map(str.isascii, names.values())):
            return self._selectors  # letters beyond ASCII may equal ASCII letters of a pattern
        found = [
            self._prefixed[prefix]
            for part, length in self._lengths
            if part in names and (prefix := (part, names[part][:length].lower())) in self._prefixed
        ]
        return dict.fromkeys(chain(self._others, *found))

    def _remember(
        self, known: dict[T, int], key: T, fits: Callable[[Selector], bool], candidates: Callable[[T], Iterable[Selector]] | None = None
    ) -> int:
        found = known.get(key)
        if found is None:
            if len(known) >= _REMEMBERED:
                known.clear()
            found = known[key] = self.bits(
                [selector for selector in (candidates(key) if candidates else self._selectors) if fits(selector)]
            )
        return found
