"""Cones of the SQLite file. Keys alone travel while levels are expanded; ids are read once, at the end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.protocol import Cone, Direction
from headwater.graph.stores.sqlite.vocabulary import CODE, KIND, codes
from headwater.graph.stores.sqlite.walk import (
    DST,
    FAR,
    NO_EDGES,
    ROW,
    SRC,
    Numbers,
    array,
    edges_at,
    first_by_id,
    greatest_key,
    keys_of,
)

_UNKNOWN = -1


def cone(
    connection: sqlite3.Connection,
    tenant: str,
    focus: Sequence[str],
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
    contained: Sequence[NodeKind],
    facts: bool,
    names: bool,
) -> Cone:
    """See `GraphStore.cone`."""
    walk = _Walk(connection, codes(kinds), depth, limit, whole=facts or direction is Direction.BOTH)
    walk.go(keys_of(connection, tenant, focus), direction)
    edges = walk.edges()
    ids = _texts(connection, "id", walk.keys())
    reached = len(ids)
    prefixes = tuple(f"{kind}:" for kind in contained)
    inner = np.array(
        [number for number, identifier in enumerate(ids) if identifier.startswith(prefixes)] if prefixes else [], dtype=np.int64
    )
    containment = walk.containers(inner)
    ids += _texts(connection, "id", walk.keys()[reached:])
    pairs = walk.numbered(edges)
    return Cone(
        ids=ids,
        reached=reached,
        edges=_tuples(pairs),
        facts=_facts(connection, edges) if facts else [],
        contains=_tuples(walk.numbered(containment)),
        upstream=walk.distance.get(Direction.UPSTREAM, {}),
        downstream=walk.distance.get(Direction.DOWNSTREAM, {}),
        beyond=walk.beyond(),
        names=_texts(connection, "name", walk.keys()) if names else (),
        pairs=pairs,
    )


@dataclass(slots=True)
class _Walk:
    """Numbers nodes in the order in which they are met, nearest first; each is expanded once a way, also those of the last level."""

    connection: sqlite3.Connection
    flows: Sequence[int]
    depth: int
    limit: int
    whole: bool  # edges with kind and row: where one may be met twice, or facts are asked for
    distance: dict[Direction, dict[int, int]] = field(default_factory=dict)
    _number: Numbers = field(init=False)  # by key
    _levels: list[Numbers] = field(default_factory=list)
    _size: int = 0
    _met: list[Numbers] = field(default_factory=list)
    _beyond: list[Numbers] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._number = np.full(greatest_key(self.connection) + 1, _UNKNOWN, dtype=np.int64)

    def go(self, start: Numbers, direction: Direction) -> None:
        """Walk."""
        start = self._take(start)
        reached = {way: self._go(start, way) for way in direction.ways()}
        if len(reached) > 1:
            # What leads from one cone into the other past the focus was not on the way of either.
            down = np.setdiff1d(reached[Direction.DOWNSTREAM], reached[Direction.UPSTREAM])
            self._met.append(edges_at(self.connection, Direction.UPSTREAM, down, self.flows))

    def keys(self) -> Numbers:
        """The keys in the order of their numbers."""
        return np.concatenate(self._levels)

    def numbered(self, edges: Numbers) -> Numbers:
        """Edges as pairs of numbers."""
        return self._number[edges[:, :2]]

    def edges(self) -> Numbers:
        """The edges among what was reached, each once."""
        met = np.concatenate(self._met) if self._met else NO_EDGES
        kept: Numbers = met[(self._number[met[:, SRC]] != _UNKNOWN) & (self._number[met[:, DST]] != _UNKNOWN)]
        if not self.whole:
            return kept
        once: Numbers = kept[np.sort(np.unique(kept[:, ROW], return_index=True)[1])]
        return once

    def beyond(self) -> int:
        """How many nodes depth or limit kept out that are one hop away."""
        return len(np.unique(np.concatenate(self._beyond))) if self._beyond else 0

    def containers(self, inner: Numbers) -> Numbers:
        """Containment edges from the nodes numbered `inner` up to their outermost containers, which get numbers."""
        level = self.keys()[inner]
        climbed = np.zeros(len(self._number), dtype=bool)
        pairs = [NO_EDGES]
        while len(level):
            climbed[level] = True
            pairs.append(edges_at(self.connection, Direction.UPSTREAM, level, [CODE[EdgeKind.CONTAINS]]))
            above = np.unique(pairs[-1][:, SRC])
            self._add(above[self._number[above] == _UNKNOWN])
            level = above[~climbed[above]]
        return np.concatenate(pairs)

    def _go(self, start: Numbers, way: Direction) -> Numbers:
        reached = np.zeros(len(self._number), dtype=bool)
        reached[start] = True
        frontier, hops = start, 0
        distance = dict.fromkeys(self._number[start].tolist(), 0)
        while len(frontier):
            found = edges_at(self.connection, way, frontier, self.flows, whole=self.whole)
            self._met.append(found)
            far = np.unique(found[:, FAR[way]])
            if hops == self.depth:
                self._beyond.append(far[self._number[far] == _UNKNOWN])
                break
            frontier, hops = self._take(far[~reached[far]]), hops + 1
            reached[frontier] = True
            distance.update(dict.fromkeys(self._number[frontier].tolist(), hops))
        self.distance[way] = distance
        return np.flatnonzero(reached)

    def _take(self, keys: Numbers) -> Numbers:
        """Number what is new as far as the limit allows; returns those of the keys that have a number."""
        new = keys[self._number[keys] == _UNKNOWN]
        room = self.limit - self._size
        if len(new) > room:
            kept = first_by_id(self.connection, new, room)
            self._beyond.append(np.setdiff1d(new, kept))
            new = kept
        self._add(new)
        self._size += len(new)
        numbered: Numbers = keys[self._number[keys] != _UNKNOWN]
        return numbered

    def _add(self, keys: Numbers) -> None:
        count = sum(map(len, self._levels))
        self._number[keys] = np.arange(count, count + len(keys))
        self._levels.append(keys)


def _tuples(pairs: Numbers) -> list[tuple[int, int]]:
    return list(zip(pairs[:, 0].tolist(), pairs[:, 1].tolist(), strict=True))


def _texts(connection: sqlite3.Connection, column: Literal["id", "name"], keys: Numbers) -> list[str]:
    """The ids or names of keys, read in the order of the file."""
    order = np.argsort(keys)
    (found,) = connection.execute(
        f"SELECT json_group_array(n.{column}) FROM json_each(?) AS kept CROSS JOIN node AS n ON n.key = kept.value", (array(keys[order]),)
    ).fetchone()
    place = np.empty(len(keys), dtype=np.int64)
    place[order] = np.arange(len(keys))
    listed = json.loads(found)
    return [listed[row] for row in place.tolist()]


def _facts(connection: sqlite3.Connection, edges: Numbers) -> list[tuple[EdgeKind, str, str]]:
    rows = connection.execute(
        "SELECT e.key, e.kind, coalesce(e.first, ''), coalesce(e.last, '') "
        "FROM json_each(?) AS kept CROSS JOIN edge AS e ON e.key = kept.value",
        (array(np.sort(edges[:, ROW])),),
    )
    facts = {key: (KIND[kind], first, last) for key, kind, first, last in rows}
    return [facts[row] for row in edges[:, ROW].tolist()]
