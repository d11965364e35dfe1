"""The indexed graph at one revision: nodes by number, and the edges between them.

A node's number is its position in the order of reading. Most edges are in `base`. Later edges are in `late`, a small table that each change
rebuilds, and that is merged into `base` when it grows too large. A version never changes while walks use it, with one exception: a walk may
see later statements about an edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headwater.graph.index.edges import Edges, keys
from headwater.graph.index.statements import Statements
from headwater.graph.index.texts import Texts
from headwater.graph.stores.indexable import Rows
from headwater.graph.stores.protocol import Direction

Numbers = NDArray[np.int64]
UNKNOWN = -1

_FEW, _SHARE = 20_000, 50  # late edges or nodes to keep before a merge: this number, or a fiftieth of all if that is more
_PROPERTIES = 3  # properties may use a third of the room
_LATE_BYTES = 200  # for each late node, in the tables that find it


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The indexed graph at one revision.

    `refs` are the store's own numbers, and `by_ref` is their order. `late` maps refs of late nodes to numbers, `numbered` the reverse.

    `properties` are the properties of nodes as the store has them, or `NOT_INDEXED`. None: there is no room for properties.
    """

    revision: int
    refs: Numbers
    by_ref: NDArray[np.int32]
    ids: Texts
    names: Texts
    properties: Texts | None
    edges: Edges
    statements: Statements
    late: Mapping[int, int]
    numbered: Sequence[int]
    late_edges: Edges

    @classmethod
    def of(
        cls, revision: int, refs: Numbers, ids: Texts, names: Texts, properties: Texts | None, edges: Edges, statements: Statements
    ) -> Adjacency:
        """Return a graph without late nodes and edges."""
        by_ref = np.argsort(refs, kind="stable").astype(np.int32)
        return cls(revision, refs, by_ref, ids, names, properties, edges.with_starts(len(refs)), statements, {}, (), Edges.none())

    @property
    def count(self) -> int:
        return len(self.refs) + len(self.numbered)

    @property
    def edge_count(self) -> int:
        return len(self.edges.into) + len(self.late_edges.into)

    @property
    def size(self) -> int:
        parts = (self.ids, self.names, self.edges, self.late_edges, self.statements)
        known = self.properties.size if self.properties else 0
        return self.refs.nbytes + self.by_ref.nbytes + _LATE_BYTES * len(self.numbered) + known + sum(part.size for part in parts)

    def within(self, room: int) -> Adjacency:
        """Return the graph without properties if they exceed their share of the room, or if the whole exceeds the room."""
        if self.properties is None or (self.properties.size <= room_of_properties(room) and self.size <= room):
            return self
        return replace(self, properties=None)

    def numbers(self, refs: Sequence[int] | Numbers) -> Numbers:
        """Return the numbers of refs, or `UNKNOWN` for refs without a node."""
        wanted = np.asarray(refs, dtype=np.int64)
        found = np.full(len(wanted), UNKNOWN, dtype=np.int64)
        if len(self.refs):
            places = np.searchsorted(self.refs, wanted, sorter=self.by_ref)
            here = self.by_ref[np.minimum(places, len(self.refs) - 1)]
            found = np.where(self.refs[here] == wanted, here, UNKNOWN).astype(np.int64)
        if self.late:
            for place in np.flatnonzero(found == UNKNOWN).tolist():
                found[place] = self.late.get(int(wanted[place]), UNKNOWN)
        return found

    def refs_of(self, numbers: Numbers) -> list[int]:
        inside, numbered = len(self.refs), self.numbered
        if not numbered:
            return list(self.refs[numbers].tolist())
        return [int(self.refs[number]) if number < inside else numbered[number - inside] for number in numbers.tolist()]

    def edges_at(self, way: Direction, nodes: Numbers, runs: Sequence[tuple[int, int]]) -> Numbers:
        """Return the edges at nodes, of the kinds in `runs`, as keys from the nodes' side."""
        found = self.edges.at(way, nodes, runs)
        return np.concatenate([found, self.late_edges.at(way, nodes, runs)]) if len(self.late_edges.into) else found

    def into(self, nodes: Numbers, runs: Sequence[tuple[int, int]]) -> tuple[Numbers, Numbers]:
        """Return the edges into nodes, of the kinds in `runs`, as keys by destination, and their positions for `facts`."""
        places = self.edges.places_at(Direction.UPSTREAM, nodes, runs)
        found = self.edges.into[places]
        if not len(self.late_edges.into):
            return found, places
        late = self.late_edges.places_at(Direction.UPSTREAM, nodes, runs)
        return np.concatenate([found, self.late_edges.into[late]]), np.concatenate([places, late + len(self.edges.into)])

    def places(self, into: Numbers) -> Numbers:
        """Return the positions of edges, given as keys by destination."""
        places = self.edges.places(into)
        missing = places < 0
        if missing.any():
            places[missing] = self.late_edges.places(into[missing]) + len(self.edges.into)
        return places

    def facts(self, places: Numbers) -> tuple[list[str], list[str], NDArray[np.bool_]]:
        """Return first and last statement of the edges at some positions, and whether they have properties."""
        inside = len(self.edges.into)
        late = places >= inside
        first, last = np.empty(len(places), dtype=np.int32), np.empty(len(places), dtype=np.int32)
        with_properties = np.empty(len(places), dtype=bool)
        for among, table, found in ((~late, self.edges, places[~late]), (late, self.late_edges, places[late] - inside)):
            first[among], last[among], with_properties[among] = table.first[found], table.last[found], table.with_properties[found]
        texts = self.statements.at(np.concatenate([first, last]))
        return texts[: len(places)], texts[len(places) :], with_properties

    def changed(self, rows: Rows, revision: int) -> Adjacency:
        """Return the graph after a change: new nodes, new names, new edges, and the present facts of edges."""
        grown = replace(self.with_nodes(rows).with_edges(rows), revision=revision)
        few = max(_FEW, len(grown.edges.into) // _SHARE)
        late = (grown.late_edges.into, grown.numbered, grown.names.late, grown.properties.late if grown.properties else ())
        return grown.settled() if max(map(len, late)) > few else grown

    def with_nodes(self, rows: Rows) -> Adjacency:
        numbers = self.numbers(rows.refs)
        fresh = {ref: place for place, (ref, number) in enumerate(zip(rows.refs, numbers.tolist(), strict=True)) if number == UNKNOWN}
        late = {ref: self.count + place for place, ref in enumerate(fresh)}
        places = list(fresh.values())
        return replace(
            self,
            late={**self.late, **late},
            numbered=[*self.numbered, *fresh],
            ids=self.ids.with_texts(dict(zip(late.values(), [rows.ids[place] for place in places], strict=True))),
            names=_changed(self.names, numbers, rows.names, late.values(), places),
            properties=self.properties and _changed(self.properties, numbers, rows.properties, late.values(), places),
        )

    def with_edges(self, rows: Rows) -> Adjacency:
        src, dst = self.numbers(rows.src), self.numbers(rows.dst)
        # If an end is missing, a later change brings the node, and the edge again.
        there = (src != UNKNOWN) & (dst != UNKNOWN)
        into = keys(dst, np.asarray(rows.kind, dtype=np.int64), src)[there]
        numbers = self.statements.take([*rows.first, *rows.last])
        first = np.array([numbers[text] for text in rows.first], dtype=np.int32)[there]
        last = np.array([numbers[text] for text in rows.last], dtype=np.int32)[there]
        with_properties = np.asarray(rows.with_properties, dtype=bool)[there]
        places = self.edges.places(into)
        old, new = places >= 0, places < 0
        at = places[old]
        self.edges.first[at], self.edges.last[at], self.edges.with_properties[at] = first[old], last[old], with_properties[old]
        return replace(self, late_edges=self.late_edges.joined(Edges.of(into[new], first[new], last[new], with_properties[new])))

    def settled(self) -> Adjacency:
        """Return the same graph, with late nodes and edges merged."""
        edges = self.edges.joined(self.late_edges)
        used, place = np.unique(np.concatenate([edges.first, edges.last]), return_inverse=True)
        size = len(edges.into)
        first, last = place[:size].astype(np.int32), place[size:].astype(np.int32)
        refs = np.concatenate([self.refs, np.array(self.numbered, dtype=np.int64)])
        return Adjacency.of(
            self.revision, refs, self.ids.settled(len(refs)), self.names.settled(len(refs)),
            self.properties and self.properties.settled(len(refs)),
            replace(edges, first=first, last=last), self.statements.only(used),
        )  # fmt: skip


def room_of_properties(room: int) -> int:
    """Return the share of an index's memory for properties. The graph itself has priority."""
    return room // _PROPERTIES


def _changed(texts: Texts, numbers: Numbers, stated: Sequence[str], fresh: Iterable[int], places: Sequence[int]) -> Texts:
    old = np.flatnonzero(numbers != UNKNOWN)
    known = numbers[old]
    other = {
        number: stated[place]
        for number, place, before in zip(known.tolist(), old.tolist(), texts.at(known), strict=True)
        if before != stated[place]
    }
    return texts.with_texts(other | dict(zip(fresh, [stated[place] for place in places], strict=True)))
