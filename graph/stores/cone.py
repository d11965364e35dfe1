"""Gathers a cone level by level: what every store does alike while it fetches the edges of one level after another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from headwater.graph.model import EdgeKind
from headwater.graph.stores.protocol import Direction

K = TypeVar("K", bound=Hashable)

_KINDS = {kind.value: kind for kind in EdgeKind}  # a look-up costs a tenth of EdgeKind(…)

Row = tuple[K, K, str, "str | None", "str | None"]  # near end, far end, kind, first, last


@dataclass(slots=True)
class ConeBuilder(Generic[K]):
    """Ask `level` for the way and the nodes to expand next, give `take` the edges found there, until `level` is None.

    `order` sorts nodes by id: where a level does not fit whole, the first ids stay.
    """

    start: Sequence[K]
    direction: Direction
    depth: int
    limit: int
    order: Callable[[list[K]], list[K]]
    keys: list[K] = field(default_factory=list)
    edges: list[tuple[int, int, EdgeKind]] = field(default_factory=list)
    times: list[tuple[str, str]] = field(default_factory=list)
    beyond: set[K] = field(default_factory=set)
    _numbers: dict[K, int] = field(default_factory=dict)
    _waiting: list[tuple[Direction, list[K], int]] = field(default_factory=list)
    _reached: dict[Direction, set[K]] = field(default_factory=dict)
    _known: set[tuple[int, int, EdgeKind]] = field(default_factory=set)
    _crossing: bool = False

    def __post_init__(self) -> None:
        start = list(dict.fromkeys(self.start))
        if len(start) > self.limit:
            ordered = self.order(start)
            start = ordered[: self.limit]
            self.beyond.update(ordered[self.limit :])
        for key in start:
            self._number(key)
        for way in self.direction.ways():
            self._reached[way] = set(start)
            self._waiting.append((way, start, 0))
        self._crossing = len(self._waiting) > 1

    def level(self) -> tuple[Direction, list[K]] | None:
        """The way to go and the nodes to expand; None: the cone is whole."""
        while self._waiting and not self._waiting[0][1]:
            self._waiting.pop(0)
        if self._waiting:
            return self._waiting[0][0], self._waiting[0][1]
        if self._crossing:
            # What leads from one cone into the other past the focus was not on the way of either.
            self._crossing = False
            self._waiting.append((Direction.UPSTREAM, list(self._reached[Direction.DOWNSTREAM] - self._reached[Direction.UPSTREAM]), -1))
            return self.level()
        return None

    def take(self, rows: Iterable[Row[K]]) -> None:
        """The edges of the level asked for."""
        way, _, hops = self._waiting.pop(0)
        found = rows if isinstance(rows, list) else list(rows)
        numbers, reached = self._numbers, self._reached[way]
        if 0 <= hops < self.depth:
            new = list({row[1]: None for row in found if row[1] not in reached})
            self._waiting.append((way, self._keep(way, new), hops + 1))
        elif hops == self.depth:
            self.beyond.update(row[1] for row in found if row[1] not in numbers)
        upstream, both = way is Direction.UPSTREAM, self.direction is Direction.BOTH
        for near, far, kind, first, last in found:
            other = numbers.get(far)
            if other is None:
                continue
            edge = (other, numbers[near], _KINDS[kind]) if upstream else (numbers[near], other, _KINDS[kind])
            if both:
                if edge in self._known:
                    continue
                self._known.add(edge)
            self.edges.append(edge)
            self.times.append((first or "", last or ""))

    def _keep(self, way: Direction, new: list[K]) -> list[K]:
        """Number what is new, as far as the limit allows; returns what is to be expanded next."""
        unnumbered = [key for key in new if key not in self._numbers]
        room = self.limit - len(self.keys)
        if len(unnumbered) > room:
            ordered = self.order(unnumbered)
            left_out = set(ordered[room:])
            self.beyond |= left_out
            new = [key for key in new if key not in left_out]
        for key in new:
            if key not in self._numbers:
                self._number(key)
        self._reached[way].update(new)
        return new

    def _number(self, key: K) -> None:
        self._numbers[key] = len(self.keys)
        self.keys.append(key)
