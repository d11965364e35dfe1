"""Merges batches with one another before they go to a store.

An end of an edge is always among the nodes. Statements that many batches share as one object are merged once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from headwater.errors import InvalidInputError
from headwater.graph.model.elements import Block, Edge, EdgeKind, GraphBatch, Node, Stamp
from headwater.graph.model.ids import kind_of
from headwater.graph.model.merge import NAME, NO_FACTS, Facts

T = TypeVar("T", Edge, Block)
EdgeKey = tuple[str, str, EdgeKind]


@dataclass(slots=True)
class Changes:
    """Merged batches, ready to be merged into a store. Every end of an edge is among the nodes."""

    nodes: dict[str, Facts] = field(default_factory=dict)
    edges: dict[EdgeKey, Facts] = field(default_factory=dict)
    seen: dict[EdgeKey, tuple[str, str]] = field(default_factory=dict)  # first and last statement of an edge, if a time is known

    def see(self, edge: EdgeKey, first: str, last: str) -> None:
        """Note two instants at which an edge was stated."""
        known = self.seen.get(edge)
        self.seen[edge] = (min(known[0], first), max(known[1], last)) if known else (first, last)


def collect(batches: Iterable[GraphBatch]) -> Changes:
    """Merge batches with one another.

    Blocks that several batches share are merged once, with their greatest stamp.

    Raises:
        InvalidInputError: an id is malformed or too long, or a node's kind is not the kind in its id.
    """
    latest = _Latest()
    for batch in sorted(batches, key=lambda batch: (batch.stamp.time, batch.stamp.key)):
        latest.take(batch)
    changes = Changes()
    alike: dict[tuple[int, int, int], Facts] = {}
    for node, stamp in latest.nodes.values():
        _collect_node(changes, node, stamp)
    _collect_edges(changes, latest.edges.values(), alike)
    for block, stamp, first, last in latest.blocks.values():
        for node in block.nodes:
            _collect_node(changes, node, stamp)
        _collect_edges(changes, [(edge, stamp, first, last) for edge in block.edges], alike)
    return changes


@dataclass(slots=True)
class _Latest:
    """Each object that batches state, by `id`, with the stamp of the last batch. Edges and blocks also have first and last instant."""

    nodes: dict[int, tuple[Node, Stamp]] = field(default_factory=dict)
    edges: dict[int, tuple[Edge, Stamp, str, str]] = field(default_factory=dict)
    blocks: dict[int, tuple[Block, Stamp, str, str]] = field(default_factory=dict)

    def take(self, batch: GraphBatch) -> None:
        """Add a batch. Batches must come in the order of time."""
        stamp = batch.stamp
        self.nodes.update((id(node), (node, stamp)) for node in batch.nodes)
        at = f"{stamp.time} {batch.by}" if stamp.time else ""
        _see(self.edges, batch.edges, stamp, at)
        _see(self.blocks, batch.blocks, stamp, at)


def _see(known: dict[int, tuple[T, Stamp, str, str]], stated: Iterable[T], stamp: Stamp, at: str) -> None:
    """Note objects that were stated at an instant. An empty instant notes none."""
    for each in stated:
        number = id(each)
        before = known.get(number)
        if before is None:
            known[number] = (each, stamp, at, at)
        else:
            _, _, first, last = before
            known[number] = (each, stamp, at if at and (at < first or not first) else first, max(at, last))


def _collect_node(changes: Changes, node: Node, stamp: Stamp) -> None:
    if kind_of(node.id) is not node.kind:
        raise InvalidInputError(f"The node {node.id} is stated to be a {node.kind}.", field="kind", hint="The kind must be that of the id.")
    facts = changes.nodes.get(node.id)
    if facts is None:
        facts = changes.nodes[node.id] = Facts()
    facts.state(NAME, node.name, (0, stamp.time, stamp.key))
    facts.state_all(node.properties, node.ranks, stamp)


def _collect_edges(changes: Changes, stated: Iterable[tuple[Edge, Stamp, str, str]], alike: dict[tuple[int, int, int], Facts]) -> None:
    """Merge edges, each with its stamp and the first and last instant at which it was stated.

    `alike` has the facts of edges with the same properties, so that they are merged and converted to text once.
    """
    nodes, edges, when = changes.nodes, changes.edges, changes.seen
    for (
        edge,
        stamp,
        first,
        last,
    ) in stated:  # inlined, because most statements are edges, and a call costs as much as the work
        src, dst, properties = edge.src, edge.dst, edge.properties
        if src not in nodes:
            kind_of(src)
            nodes[src] = Facts()
        if dst not in nodes:
            kind_of(dst)
            nodes[dst] = Facts()
        key = (src, dst, edge.kind)
        known = edges.get(key)
        if not properties:
            if known is None:
                edges[key] = NO_FACTS
        elif known is None or known is NO_FACTS:
            place = (id(properties), id(edge.ranks) if edge.ranks else 0, id(stamp))
            facts = alike.get(place)
            if facts is None:
                facts = alike[place] = Facts()
                facts.state_all(properties, edge.ranks, stamp)
            edges[key] = facts
        else:
            facts = edges[key] = known.copy()
            facts.state_all(properties, edge.ranks, stamp)
        if first:
            before = when.get(key)
            when[key] = (first, last) if before is None else (min(before[0], first), max(before[1], last))
