"""Collects the statements of one log entry, and gives every node its id and its container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from types import MappingProxyType
from typing import Any

from headwater.graph.model import Block, Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, bare_name, kind_of, node_id
from headwater.graph.model.bulk import made
from headwater.paths import dataset_root

EdgeKey = tuple[str, str, EdgeKind]
_NONE: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Part:
    """Statements that several entries share, so that their objects are the same in every batch. `placed` as in `Statement`."""

    placed: Mapping[tuple[str, ...], str]
    blocks: Sequence[Block]


class Statement:
    """A batch under construction. Its methods name a node, put it into its container, and return its id.

    A node with nothing but its id needs no statement, because the edge to its container creates it.
    """

    def __init__(self, stamp: Stamp) -> None:
        self._stamp = stamp
        self.by = ""  # the run that makes the statements
        self._nodes: list[Node] = []
        self._edges: dict[EdgeKey, Mapping[str, Any]] = {}
        self._placed: dict[tuple[str, ...], str] = {}
        self._blocks: dict[Block, None] = {}
        self.meant: Mapping[tuple[str, str], tuple[str, str]] = _NONE  # the meanings of the names of datasets in an event
        self.unnamed: dict[str, int] = {}  # the number of columns without a name, by the names of datasets

    def describe(
        self, identifier: str, properties: Mapping[str, Any], *, name: str | None = None, ranks: Mapping[str, int] | None = None
    ) -> str:
        """State properties of a node. Without properties and name, nothing is stated."""
        if properties or name is not None:
            self._nodes.append(Node(identifier, kind_of(identifier), name or bare_name(identifier), properties, ranks or {}))
        return identifier

    def link(self, src: str, dst: str, kind: EdgeKind, properties: Mapping[str, Any] | None = None) -> None:
        key = (src, dst, kind)
        known = self._edges.get(key)
        if known is None:
            self._edges[key] = properties or _NONE
        elif properties and properties is not known:
            self._edges[key] = {**known, **properties}

    def state(self, part: Part) -> None:
        self._placed.update(part.placed)
        self._blocks.update(dict.fromkeys(part.blocks))

    def part(self) -> Part:
        """Return all statements as a part, for reuse in others."""
        return Part(self._placed, [*self._blocks, Block(self._nodes, self._made())])

    def contain(self, container: str, child: str) -> str:
        """State that a container contains a child. Returns the child."""
        self.link(container, child, EdgeKind.CONTAINS)
        return child

    def dataset(self, namespace: str, name: str) -> str:
        known = self._placed.get((namespace, name))
        if known is None:
            known = self.contain(node_id(NodeKind.PLATFORM, namespace), node_id(NodeKind.DATASET, namespace, name))
            self._placed[namespace, name] = known
        return known

    def meaning(self, namespace: str, name: str) -> tuple[str, str]:
        return self.meant.get((namespace, name)) or dataset_root(namespace, name)

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
        return GraphBatch(self._stamp, self._nodes, self._made(), self.by, list(self._blocks))

    def _made(self) -> list[Edge]:
        """Return the edges, created together, because creating hundreds of edges one by one takes longer than all other work."""
        ends = ([key[part] for key in self._edges] for part in range(3))
        return made(Edge, len(self._edges), (*ends, self._edges.values(), repeat(_NONE), repeat(""), repeat("")))
