"""What an index needs of a store: its content once, and from then on what has changed.

A store numbers its nodes itself (`ref`: SQLite's key, the last part of Neo4j's element id), and counts its transactions that wrote
(`revision`). It keeps a log of which nodes each of the last ones touched; what these nodes' rows and the edges into them say now is the
change. So a change may be read twice, or later than it was made, and the index ends the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.protocol import GraphStore

# How many of the last transactions the log holds: who asks after fewer of them reads what changed, who asks later reads all.
# There are to be more than are made while all is read, or the reading would never do: minutes, of some transactions a second.
# It costs half a kilobyte a transaction of 200 nodes; what trims the log takes the one that fell out by its number.
LOGGED = 8192
# … and no more than so many bytes of them, which that many transactions take where each touches thousands of nodes. The last one stays.
LOGGED_BYTES = 32 << 20
# A transaction that touches more than these is logged as one after which all is to be read; so is all read where several did together.
TOUCHED = 100_000

# The kinds of which the index keeps the properties too, while there is room: what lineage is drawn of. Versions, runs and columns are many
# times as many, and are read from the store.
INDEXED: tuple[NodeKind, ...] = (
    NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB, NodeKind.TYPE, NodeKind.ACTOR, NodeKind.DATA,
    NodeKind.OWNER, NodeKind.TAG, NodeKind.TERM,
)  # fmt: skip
NOT_INDEXED = ""  # in place of properties: the store is to be asked

# An edge of the index says its kind by its place here, which is not kept anywhere.
KINDS: tuple[EdgeKind, ...] = tuple(EdgeKind)
CODES = {kind: code for code, kind in enumerate(KINDS)}


class UnindexableError(Exception):
    """A graph of which there can be no index. Told to nobody but whoever asked for one: the store walks instead."""


@dataclass(slots=True)
class Rows:
    """Nodes and edges as columns. Edges name their ends by ref, their kind by code; `with_properties` says which have any.

    `properties` are the properties of nodes, as a store keeps them, of the kinds `INDEXED`; of others, `NOT_INDEXED`.
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
    """What a store answers before a walk.

    `focus` holds the refs of those of the ids asked for that exist, in their order. `rows` are the nodes that were touched and the edges
    into them; None: the log does not reach back so far, or names too many, or the graph was dropped since.
    """

    revision: int
    focus: list[int]
    rows: Rows | None


@dataclass(frozen=True, slots=True)
class Properties:
    """Properties of nodes and of edges as texts, in the order asked for; None where there are none, also where the element is gone.

    None of them is of a later revision, nor of an earlier one unless it said the same.
    """

    revision: int
    nodes: list[str | None]
    edges: list[str | None]


@dataclass(frozen=True, slots=True)
class Census:
    """How much there is to read, or a little more. No `revision` may be later than that of what is read after it."""

    revision: int
    nodes: int
    edges: int


class IndexableStore(GraphStore, Protocol):
    """A store that can be indexed."""

    async def census(self) -> Census:
        """The sizes of all tenants' graphs."""

    def scan(self) -> AsyncIterator[Rows]:
        """All nodes and all edges, of every tenant, portion by portion; what is written meanwhile may be in it or not."""

    async def news(self, tenant: str, focus: Sequence[str], *, after: int) -> News:
        """What has changed after a revision, and where a walk begins."""

    async def properties(self, nodes: Sequence[int], edges: Sequence[tuple[int, int, EdgeKind]]) -> Properties:
        """The properties of nodes by ref, and of edges by (source, destination, kind)."""
