"""The interface of a store that can be indexed: its whole content once, and later its changes.

A store numbers its nodes itself (`ref`: SQLite's key, or the last part of Neo4j's element id), and counts its writing transactions
(`revision`). A log names the nodes that each of the last transactions changed. A change is the present state of these nodes' rows and of
the edges into them. So a change may be read twice, or late, and the index ends the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.protocol import GraphStore

# Number of transactions in the log. A reader further behind must read the whole graph. The log must hold more transactions than happen
# during that reading, which takes minutes at a few transactions a second, or no reader would ever catch up. A transaction of 200 nodes
# takes half a kilobyte. Trimming finds the oldest transaction by its number.
LOGGED = 8192
# Size limit of the log, reached if that many transactions touch thousands of nodes each. The last transaction always stays.
LOGGED_BYTES = 32 << 20
# A transaction that touches more nodes is logged without them, and readers read the whole graph. The same holds if several transactions
# together touch more.
TOUCHED = 100_000

# The index also keeps the properties of these kinds, while there is room: lineage is drawn from them. Versions, runs and columns are many
# times as numerous, so their properties are read from the store.
INDEXED: tuple[NodeKind, ...] = (
    NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB, NodeKind.TYPE, NodeKind.ACTOR, NodeKind.DATA,
    NodeKind.OWNER, NodeKind.TAG, NodeKind.TERM,
)  # fmt: skip
NOT_INDEXED = ""  # in place of properties: read them from the store

# The code of an edge's kind is its position here. Codes are never stored.
KINDS: tuple[EdgeKind, ...] = tuple(EdgeKind)
CODES = {kind: code for code, kind in enumerate(KINDS)}


class UnindexableError(Exception):
    """The graph cannot be indexed. The store then walks its own tables, and users do not see this error."""


@dataclass(slots=True)
class Rows:
    """Nodes and edges as columns. Edges name their ends by ref and their kind by code; `with_properties` marks edges that have properties.

    `properties` are the stored properties of nodes of the kinds `INDEXED`, and `NOT_INDEXED` for other kinds.
    """

    refs: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)
    src: Sequence[int] = ()
    dst: Sequence[int] = ()
    kind: Sequence[int] = ()
    first: Sequence[str] = ()
    last: Sequence[str] = ()
    with_properties: Sequence[bool | int] = ()


@dataclass(frozen=True, slots=True)
class News:
    """The changes of a store since a revision, and the start nodes of a walk.

    `focus` has the refs of the requested ids that exist, in their order. `rows` has the changed nodes and the edges into them. It is None
    if the log does not reach back far enough or names too many nodes, or if the graph was dropped since.
    """

    revision: int
    focus: list[int]
    rows: Rows | None


@dataclass(frozen=True, slots=True)
class Properties:
    """Properties of nodes and of edges as texts, in the order requested. None means no properties, or that the element was deleted.

    No property is of a later revision. A property of an earlier revision is returned only if it has not changed.
    """

    revision: int
    nodes: list[str | None]
    edges: list[str | None]


@dataclass(frozen=True, slots=True)
class Census:
    """The number of nodes and edges to read, or slightly more. `revision` must not be later than the content that is read afterwards."""

    revision: int
    nodes: int
    edges: int


class IndexableStore(GraphStore, Protocol):
    """A graph store that can be indexed."""

    async def census(self) -> Census:
        """Return the size of the graphs of all tenants."""

    def scan(self) -> AsyncIterator[Rows]:
        """Return all nodes and edges of every tenant in portions. Concurrent writes may be included or not."""

    async def news(self, tenant: str, focus: Sequence[str], *, after: int) -> News:
        """Return the changes after a revision, and the start of a walk."""

    async def properties(self, nodes: Sequence[int], edges: Sequence[tuple[int, int, EdgeKind]]) -> Properties:
        """Return the properties of nodes by ref, and of edges by (source, destination, kind)."""
