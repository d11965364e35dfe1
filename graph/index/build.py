"""Reads an index from a store, within a memory limit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from headwater.graph.index.adjacency import UNKNOWN, Adjacency, Numbers, room_of_properties
from headwater.graph.index.edges import MAX_NODES, Edges, keys
from headwater.graph.index.statements import Statements
from headwater.graph.index.texts import Texts
from headwater.graph.stores.indexable import Census, Rows, UnindexableError

# Lower bounds for the size of a node (numbers, id, name) and of an edge, to refuse a graph early that cannot fit.
_NODE_BYTES, _EDGE_BYTES = 60, 25


class TooLargeError(UnindexableError):
    """The index would use more memory than its limit."""


def refuse_early(census: Census, room: int) -> None:
    """Refuse a graph whose counts already show that it is too large.

    Raises:
        TooLargeError: the graph is too large.
    """
    least = census.nodes * _NODE_BYTES + census.edges * _EDGE_BYTES
    if least > room or census.nodes >= MAX_NODES:
        raise TooLargeError(f"no room, {census.nodes:,} nodes and {census.edges:,} edges take at least {least:,} bytes of {room:,}")


class Builder:
    """Gathers rows of nodes and edges in any order. `built` returns their graph."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._refs: list[Numbers] = []
        self._ids: list[pa.LargeStringArray] = []
        self._names: list[pa.LargeStringArray] = []
        self._properties: list[pa.LargeStringArray] | None = []
        self._ends: list[tuple[Numbers, Numbers, Numbers]] = []
        self._times: list[tuple[Numbers, Numbers]] = []
        self._with_properties: list[Numbers] = []
        self._numbers: dict[str, int] = {}  # numbers of statements

    def take(self, rows: Rows) -> None:
        """Add a portion.

        Raises:
            TooLargeError: the rows so far exceed the memory limit.
        """
        if rows.refs:
            self._refs.append(np.array(rows.refs, dtype=np.int64))
            self._ids.append(pa.array(rows.ids, pa.large_string()))
            self._names.append(pa.array(rows.names, pa.large_string()))
            if self._properties is not None:
                self._properties.append(pa.array(rows.properties, pa.large_string()))
                if sum(each.nbytes for each in self._properties) > room_of_properties(self._room):
                    self._properties = None
        if rows.src:
            self._ends.append((np.array(rows.src, dtype=np.int64), np.array(rows.dst, dtype=np.int64), np.array(rows.kind, dtype=np.int8)))
            self._times.append((self._numbered(rows.first), self._numbered(rows.last)))
            self._with_properties.append(np.array(rows.with_properties, dtype=bool))
        taken = sum(each.nbytes for each in (*self._refs, *self._ids, *self._names)) + _EDGE_BYTES * sum(map(len, self._with_properties))
        if taken > self._room:
            raise TooLargeError(f"no room, what was read of it takes {taken:,} bytes of {self._room:,}")

    def built(self, revision: int) -> Adjacency:
        """Return the graph.

        Raises:
            TooLargeError: the graph exceeds the memory limit.
        """
        refs = np.concatenate([np.empty(0, dtype=np.int64), *self._refs])
        nodes = Adjacency.of(revision, refs, Texts.of(self._ids), Texts.of(self._names), None, Edges.none(), Statements())
        properties = None if self._properties is None else Texts.of(self._properties)
        made = Adjacency.of(revision, refs, nodes.ids, nodes.names, properties, self._edges(nodes), self._statements())
        made = made.within(self._room)
        if made.size > self._room:
            raise TooLargeError(f"no room, it takes {made.size:,} bytes of {self._room:,}")
        return made

    def _edges(self, nodes: Adjacency) -> Edges:
        into: list[Numbers] = []
        kept: list[Numbers] = []
        for src_refs, dst_refs, kind in self._ends:
            src, dst = nodes.numbers(src_refs), nodes.numbers(dst_refs)
            there = (src != UNKNOWN) & (dst != UNKNOWN)  # a later change brings a missing end
            into.append(keys(dst, kind.astype(np.int64), src)[there])
            kept.append(there)
        if not into:
            return Edges.none()
        there = np.concatenate(kept)
        first, last = (np.concatenate(times)[there] for times in zip(*self._times, strict=True))
        return Edges.of(np.concatenate(into), first, last, np.concatenate(self._with_properties)[there])

    def _statements(self) -> Statements:
        texts = list(self._numbers)
        self._numbers = {}
        return Statements(pa.array(texts, pa.large_string()))

    def _numbered(self, texts: Iterable[str]) -> Numbers:
        numbers = self._numbers
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int32)
