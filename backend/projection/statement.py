"""Gathers what one log entry states, and the ways to name it: every node here gets its id, its container and its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.graph.model import Block, Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, bare_name, kind_of, node_id

EdgeKey = tuple[str, str, EdgeKind]


@dataclass(frozen=True, slots=True)
class Part:
    """What several entries state alike, to be stated again: the same objects in every batch.

    `plain` edges have no properties, `told` have; `placed` as in `Statement`.
    """

    nodes: Sequence[Node]
    plain: Mapping[EdgeKey, Edge]
    told: Mapping[EdgeKey, Edge]
    placed: Mapping[tuple[str, ...], str]
    blocks: Sequence[Block]

    @classmethod
    def whole(cls, part: Part) -> Part:
        """The part as one block. Nothing in it may have properties that another entry adds to."""
        return cls((), {}, {}, part.placed, [Block(part.nodes, list(part.plain.values()))])


class Statement:
    """A batch in the making. The verbs name a node, put it into its container, and return its id.

    A node that has nothing but its id needs no statement of its own: the edge to its container makes it.
    """

    def __init__(self, stamp: Stamp) -> None:
        self._stamp = stamp
        self.by = ""  # the run that states it
        self._nodes: list[Node] = []
        self._edges: dict[EdgeKey, Edge] = {}
        self._placed: dict[tuple[str, ...], str] = {}
        self._blocks: dict[Block, None] = {}

    def describe(
        self, identifier: str, properties: Mapping[str, Any], *, name: str | None = None, ranks: Mapping[str, int] | None = None
    ) -> str:
        """State properties of a node (none: nothing is stated)."""
        if properties or name is not None:
            self._nodes.append(Node(identifier, kind_of(identifier), name or bare_name(identifier), properties, ranks or {}))
        return identifier

    def link(self, src: str, dst: str, kind: EdgeKind, properties: Mapping[str, Any] | None = None) -> None:
        """State an edge."""
        key = (src, dst, kind)
        known = self._edges.get(key)
        if known is None:
            self._edges[key] = Edge(src, dst, kind, properties or {})
        elif properties and properties is not known.properties:
            self._edges[key] = Edge(src, dst, kind, {**known.properties, **properties})

    def state(self, part: Part) -> None:
        """State a part again."""
        self._nodes.extend(part.nodes)
        self._edges = {**part.plain, **self._edges}
        for key, edge in part.told.items():
            if self._edges.setdefault(key, edge) is not edge:
                self.link(*key, edge.properties)
        self._placed.update(part.placed)
        self._blocks.update(dict.fromkeys(part.blocks))

    def part(self) -> Part:
        """All that was stated, for other statements."""
        plain = {key: edge for key, edge in self._edges.items() if not edge.properties}
        told = {key: edge for key, edge in self._edges.items() if edge.properties}
        return Part(self._nodes, plain, told, self._placed, list(self._blocks))

    def contain(self, container: str, child: str) -> str:
        """State that the container holds the child; returns the child."""
        self.link(container, child, EdgeKind.CONTAINS)
        return child

    def dataset(self, namespace: str, name: str) -> str:
        known = self._placed.get((namespace, name))
        if known is None:
            known = self.contain(node_id(NodeKind.PLATFORM, namespace), node_id(NodeKind.DATASET, namespace, name))
            self._placed[namespace, name] = known
        return known

    def column(self, namespace: str, name: str, column: str) -> str:
        known = self._placed.get((namespace, name, column))
        if known is None:
            known = self.contain(self.dataset(namespace, name), node_id(NodeKind.COLUMN, namespace, name, column))
            self._placed[namespace, name, column] = known
        return known

    def version(self, namespace: str, name: str, run: str) -> str:
        return self.contain(self.dataset(namespace, name), node_id(NodeKind.VERSION, namespace, name, run))

    def pipeline(self, namespace: str, name: str) -> str:
        return self.contain(node_id(NodeKind.SYSTEM, namespace), node_id(NodeKind.PIPELINE, namespace, name))

    def job(self, namespace: str, name: str) -> str:
        return self.contain(node_id(NodeKind.SYSTEM, namespace), node_id(NodeKind.JOB, namespace, name))

    def run(self, job: str, run: str) -> str:
        return self.contain(job, node_id(NodeKind.RUN, run))

    def batch(self) -> GraphBatch:
        """All that was stated."""
        return GraphBatch(self._stamp, self._nodes, list(self._edges.values()), self.by, list(self._blocks))
