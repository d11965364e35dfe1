"""Builds a cone level by level. Every store shares this code, and only fetches the edges of each level."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from headwater.graph.model import EdgeKind
from headwater.graph.stores.protocol import Direction

K = TypeVar("K", bound=Hashable)

_KINDS = {kind.value: kind for kind in EdgeKind}  # a look-up takes a tenth of the time of EdgeKind(…)


@dataclass(slots=True)
class ConeBuilder(Generic[K]):
    """Builds a cone. Repeat until `level` returns None: fetch the edges of the returned nodes, and pass them to `take`.

    An edge is (near end, far end), followed by (kind, first, last) if `about` is set. If a level exceeds the limit, the nodes with the
    first ids are kept: `cut` returns the candidates, and `take` expects them ordered by id.
    """

    start: Sequence[K]
    direction: Direction
    depth: int
    limit: int
    about: bool = False
    keys: list[K] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    facts: list[tuple[EdgeKind, str, str]] = field(default_factory=list)
    beyond: set[K] = field(default_factory=set)
    distance: dict[Direction, dict[int, int]] = field(default_factory=dict)
    _numbers: dict[K, int] = field(default_factory=dict)
    _waiting: list[tuple[Direction, list[K], int]] = field(default_factory=list)
    _known: set[tuple[Any, ...]] = field(default_factory=set)
    _crossing: bool = False

    def __post_init__(self) -> None:
        start = list(dict.fromkeys(self.start))
        if len(start) > self.limit:
            self.beyond.update(start[self.limit :])
            start = start[: self.limit]
        self.keys += start
        self._numbers.update((key, number) for number, key in enumerate(start))
        for way in self.direction.ways():
            self.distance[way] = dict.fromkeys(range(len(start)), 0)
            self._waiting.append((way, start, 0))
        self._crossing = len(self._waiting) > 1

    def level(self) -> tuple[Direction, list[K]] | None:
        """Return the direction and the nodes to expand next. None if the cone is complete."""
        while self._waiting and not self._waiting[0][1]:
            self._waiting.pop(0)
        if self._waiting:
            return self._waiting[0][0], self._waiting[0][1]
        if self._crossing:
            # The walks did not follow edges that lead from one cone to the other without passing the focus.
            self._crossing = False
            other = self.distance[Direction.DOWNSTREAM].keys() - self.distance[Direction.UPSTREAM].keys()
            self._waiting.append((Direction.UPSTREAM, [self.keys[number] for number in other], -1))
            return self.level()
        return None

    def cut(self, far: Sequence[K]) -> list[K]:
        """Return the new far ends of the present level if they exceed the limit, or nothing."""
        if not 0 <= self._waiting[0][2] < self.depth:
            return []
        new = [key for key in dict.fromkeys(far) if key not in self._numbers]
        return new if len(new) > self.limit - len(self.keys) else []

    def take(self, rows: Sequence[tuple[Any, ...]], ordered: Sequence[K] = ()) -> None:
        """Add the edges of the present level."""
        way, _, hops = self._waiting.pop(0)
        numbers = self._numbers
        if 0 <= hops < self.depth:
            self._waiting.append((way, self._number(way, rows, hops + 1, ordered), hops + 1))
        elif hops == self.depth:
            self.beyond.update(row[1] for row in rows if row[1] not in numbers)
        if hops < 0 or hops >= self.depth or self.beyond:
            rows = [row for row in rows if row[1] in numbers]
        if self.direction is Direction.BOTH:
            rows = self._new(way, rows)
        if way is Direction.UPSTREAM:
            self.edges += [(numbers[row[1]], numbers[row[0]]) for row in rows]
        else:
            self.edges += [(numbers[row[0]], numbers[row[1]]) for row in rows]
        if self.about:
            self.facts += [(_KINDS[kind], first or "", last or "") for _, _, kind, first, last in rows]

    def _number(self, way: Direction, rows: Sequence[tuple[Any, ...]], hops: int, ordered: Sequence[K]) -> list[K]:
        numbers, distance = self._numbers, self.distance[way]
        found = dict.fromkeys([row[1] for row in rows])
        unnumbered = [key for key in found if key not in numbers]
        # These were found in the other direction, and are new in this direction.
        new = [key for key in found if key in numbers and numbers[key] not in distance] if self.direction is Direction.BOTH else []
        room = self.limit - len(self.keys)
        if len(unnumbered) > room:
            self.beyond.update(ordered[room:])
            unnumbered = list(ordered[:room])
        count = len(self.keys)
        numbers.update(zip(unnumbered, range(count, count + len(unnumbered)), strict=True))
        self.keys += unnumbered
        distance.update(dict.fromkeys([numbers[key] for key in new], hops))
        distance.update(dict.fromkeys(range(count, count + len(unnumbered)), hops))
        return new + unnumbered

    def _new(self, way: Direction, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the edges that the other direction has not found. Two nodes may be joined by edges of two kinds."""
        fresh = []
        for row in rows:
            key = (row[1], row[0], *row[2:3]) if way is Direction.UPSTREAM else (row[0], row[1], *row[2:3])
            if key not in self._known:
                self._known.add(key)
                fresh.append(row)
        return fresh
