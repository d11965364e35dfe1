"""Changes: what batches state, merged with one another, on its way into a store.

For the stores. An end of an edge is always among the nodes; what many batches state by the same object is merged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headwater.errors import InvalidInputError
from headwater.graph.model.elements import Block, Edge, EdgeKind, GraphBatch, Node, Stamp
from headwater.graph.model.ids import kind_of
from headwater.graph.model.merge import NAME, NO_FACTS, Facts

EdgeKey = tuple[str, str, EdgeKind]


@dataclass(slots=True)
class Changes:
    """Batches merged with one another: what is left to merge into a store. Every end of an edge is among the nodes."""

    nodes: dict[str, Facts] = field(default_factory=dict)
    edges: dict[EdgeKey, Facts] = field(default_factory=dict)
    seen: dict[EdgeKey, tuple[str, str]] = field(default_factory=dict)  # first and last statement of an edge, where a time is known

    def see(self, edge: EdgeKey, first: str, last: str) -> None:
        """Take in that the edge was stated at two instants."""
        known = self.seen.get(edge)
        self.seen[edge] = (min(known[0], first), max(known[1], last)) if known else (first, last)


def collect(batches: Iterable[GraphBatch]) -> Changes:
    """Merge batches with one another.

    What several of them state by the same object is merged once, with its greatest stamp.

    Raises:
        InvalidInputError: an id is malformed or too long, or a node's kind is not that of its id.
    """
    latest = _Latest()
    for batch in sorted(batches, key=lambda batch: (batch.stamp.time, batch.stamp.key)):
        latest.take(batch)
    changes = Changes()
    alike: dict[tuple[int, int, int], Facts] = {}
    for node, stamp in latest.nodes.values():
        _collect_node(changes, node, stamp)
    _collect_edges(changes, [(edge, stamp, latest.seen.get(number)) for number, (edge, stamp) in latest.edges.items()], alike)
    for block, stamp in latest.blocks.items():
        for node in block.nodes:
            _collect_node(changes, node, stamp)
        seen = latest.seen.get(id(block))
        _collect_edges(changes, [(edge, stamp, seen) for edge in block.edges], alike)
    return changes


@dataclass(slots=True)
class _Latest:
    """Each object that batches state, with the stamp of the last batch; and, by `id`, the first and last instant of edges and blocks."""

    nodes: dict[int, tuple[Node, Stamp]] = field(default_factory=dict)
    edges: dict[int, tuple[Edge, Stamp]] = field(default_factory=dict)
    blocks: dict[Block, Stamp] = field(default_factory=dict)
    seen: dict[int, list[str]] = field(default_factory=dict)

    def take(self, batch: GraphBatch) -> None:
        """The batch that follows in time."""
        stamp = batch.stamp
        self.nodes.update((id(node), (node, stamp)) for node in batch.nodes)
        self.edges.update((id(edge), (edge, stamp)) for edge in batch.edges)
        self.blocks.update(dict.fromkeys(batch.blocks, stamp))
        if stamp.time:
            at = f"{stamp.time} {batch.by}"
            for stated in (*batch.edges, *batch.blocks):
                _see(self.seen, id(stated), at)


def _see(seen: dict[int, list[str]], number: int, at: str) -> None:
    """Note first and last of what an object was stated at."""
    known = seen.get(number)
    if known is None:
        seen[number] = [at, at]
    elif at > known[1]:
        known[1] = at
    elif at < known[0]:
        known[0] = at


def _collect_node(changes: Changes, node: Node, stamp: Stamp) -> None:
    if kind_of(node.id) is not node.kind:
        raise InvalidInputError(f"The node {node.id} is stated to be a {node.kind}.", field="kind", hint="The kind must be that of the id.")
    facts = changes.nodes.get(node.id)
    if facts is None:
        facts = changes.nodes[node.id] = Facts()
    facts.state(NAME, node.name, (0, stamp.time, stamp.key))
    facts.state_all(node.properties, node.ranks, stamp)


def _collect_edges(
    changes: Changes, stated: Iterable[tuple[Edge, Stamp, Sequence[str] | None]], alike: dict[tuple[int, int, int], Facts]
) -> None:
    """Edges, each with its stamp and the first and last instant at which it was stated.

    `alike` holds the facts of edges that were made with the same properties: they are merged, and written as text, once.
    """
    nodes, edges, when = changes.nodes, changes.edges, changes.seen
    for edge, stamp, seen in stated:  # the most that a batch consists of: written out, since a call an edge costs as much as its work
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
        if seen:
            first, last = seen
            before = when.get(key)
            when[key] = (first, last) if before is None else (min(before[0], first), max(before[1], last))
