"""The graph store: keeps containers and the flows between them, and answers questions about their neighbourhood.

For the projector (which writes) and for tracing, views and GraphQL (which read). A store must apply a batch and its log offset in
one transaction, must come to the same content whatever the order and number of deliveries, and must never build a query out of
a user's text. It never sees a record: those live in association segments.

The tenant is a required first argument everywhere, so that forgetting it does not type-check.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind
from headwater.graph.model.changes import Changes


class Direction(StrEnum):
    """Which way to follow edges: `upstream` to where data came from, `downstream` to where it went, `both` the one and the other.

    `both` is the union of the two cones: what a sibling's other sources are is no lineage of the focus.
    """

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"

    def ways(self) -> list[Direction]:
        """The single ways that a direction consists of."""
        return [Direction.UPSTREAM, Direction.DOWNSTREAM] if self is Direction.BOTH else [self]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes that were reached, nearest first (then by id), and every edge of the kinds followed that joins two of them.

    `truncated` counts the nodes that a limit kept out (0: nothing is missing); beyond `COUNTED` of them it is not counted on, and
    `counted` is false. `distance` is in hops. `hidden`: something next to these nodes is kept from whoever asks (`graph.within`).
    """

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    distance: dict[str, int]
    truncated: int = 0
    counted: bool = True
    hidden: bool = False


# How many nodes beyond a limit are visited for the sake of their number.
COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class Cone:
    """What a focus reaches, as numbers: for whoever computes on tens of thousands of nodes, as views do.

    A node's number is its index in `ids`; the first `reached` were reached (the focus first of all), the others contain one of them.
    `pairs` are the edges as rows of two, (src, dst), each once: all those between nodes that were reached, with (kind, first, last) of each
    in `facts` where that was asked for. `contains` are such rows of (container, child). `names`, where asked for, are those of `ids`.
    `upstream` and `downstream` are hops by number. `beyond` counts nodes one hop further than depth or limit allowed. `known`, where the
    graph is in memory, gives nodes by number as they were when they were reached; None for one that the store is to be asked for.
    `hidden` as of a `Subgraph`.
    """

    ids: Sequence[str]
    reached: int
    pairs: NDArray[np.int64]
    facts: Sequence[tuple[EdgeKind, str, str]]
    contains: NDArray[np.int64]
    upstream: Mapping[int, int]
    downstream: Mapping[int, int]
    beyond: int = 0
    names: Sequence[str] = ()
    known: Callable[[Sequence[int]], Sequence[Node | None]] | None = None
    hidden: bool = False

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges, made anew each time."""
        return list(zip(self.pairs[:, 0].tolist(), self.pairs[:, 1].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Portion:
    """Some of a graph as a store keeps it.

    Nodes are (id, name, properties, stamps), edges (source, destination, kind, properties, stamps, first, last). Properties and stamps
    are canonical JSON texts, `first` and `last` as those of an `Edge`.
    """

    nodes: Sequence[tuple[str, str, str, str]]
    edges: Sequence[tuple[str, str, str, str, str, str, str]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of nodes. `cursor` fetches the next one; None: this was the last."""

    nodes: Sequence[Node]
    cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Nodes from a place of an order on, which a number tells, and how many the order has in all."""

    nodes: Sequence[Node]
    total: int


# The id of a parent, and an instant (`until`; None: now).
Moment = tuple[str, str | None]

# Ids from the first on, up to the second and without it. Ranges that are asked for together do not overlap.
IdRange = tuple[str, str]


class GraphStore(Protocol):
    """See the module's docstring for what a store must do. All verbs may raise `UnavailableError` (transient)."""

    async def open(self) -> list[int]:
        """Connect, and bring constraints, indexes and tables up to date; the numbers of the migrations that were missing."""

    async def close(self) -> None: ...

    async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
        """Apply batches and remember `offset` (of the last log entry in them; it never goes back) in one transaction.

        Raises:
            InvalidInputError: an id is malformed or too long, or a property is not JSON; nothing was applied.
        """

    async def offset(self, tenant: str) -> int:
        """Offset of the last log entry applied; 0 where none was."""

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist, in the order asked for."""

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None,
        ranges: Sequence[IdRange] | None = None,
    ) -> Page:  # fmt: skip
        """Nodes whose name holds `text` (case-insensitive; empty: all), ordered by name (its case folded) and id.

        With `ranges` those alone whose ids lie in one of them.
        """

    async def neighbours(self, tenant: str, ids: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind]) -> list[Edge]:
        """Edges one hop away from `ids`."""

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph:
        """All that is within `depth` hops of `focus`, nearest first, `limit` nodes at most, the focus among them.

        Over `reads` and `writes` a path from dataset to dataset takes two hops, by way of the job. Over `derives` from columns, what a
        job states of a whole dataset is an edge to each column that it writes there (`derivations`).
        """

    async def cone(
        self,
        tenant: str,
        focus: Sequence[str],
        *,
        direction: Direction,
        kinds: Sequence[EdgeKind],
        depth: int,
        limit: int,
        contained: Sequence[NodeKind] = (),
        facts: bool = False,
        names: bool = False,
    ) -> Cone:
        """As `reach`, without properties, names if asked for, and with the containers (all levels up) of nodes of the kinds `contained`.

        Where `limit` cuts a level, the first ids of it stay; where nothing was cut, it reaches the same nodes and edges as `reach`.
        """

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page:
        """Nodes that `parent` contains directly, ordered by name and id.

        A child that one of the parent's own children contains is that child's: a job of a pipeline is not listed under the system.
        """

    async def listed(self, tenant: str, prefix: str, *, first: int = 100, skip: int = 0) -> Listing:
        """Nodes whose id begins with `prefix` (kind and parts, each with its colon), ordered by id: the columns of a dataset, say.

        Raises:
            InvalidQueryError: the prefix does not end with a colon.
        """

    async def listed_after(self, tenant: str, prefix: str, after: str | None, *, first: int) -> Sequence[Node]:
        """The first of those nodes whose id is greater than `after` (None: of all), for whoever goes through all of them.

        Nothing is counted or passed over: every page costs what the first does, and what is added meanwhile moves no other. Raises as
        `listed`.
        """

    async def latest(
        self, tenant: str, parent: str, kind: NodeKind, *, until: str | None = None, first: int = 100, skip: int = 0
    ) -> Listing:
        """Nodes of one kind that `parent` contains: that of which this was first stated last comes first, then by id.

        With `until` (ISO 8601, as a stamp's time) those of which it was stated then or before.
        """

    async def latest_at(self, tenant: str, asked: Sequence[Moment], kind: NodeKind, *, first: int) -> Mapping[Moment, Sequence[Node]]:
        """For each parent and `until`, the `first` (1 at least) nodes that `latest` begins with. Nothing is counted."""

    async def shared(self, tenant: str, parent: str) -> list[str]:
        """The ids of what `parent` contains and another node contains, too."""

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
        """For each id that exists its containers, innermost first."""

    async def counts(self, tenant: str, *, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
        """Number of nodes of each kind. With `ranges`: of those whose ids lie in one of them, and of the runs that these alone contain."""

    async def fingerprint(self, tenant: str) -> str:
        """Hash of the whole content, independent of the order in which it came. Equal graphs have equal fingerprints, in every store."""

    def dump(self, tenant: str) -> AsyncIterator[Portion]:
        """All that the tenant has, portion by portion, an edge with its destination. What is written meanwhile may be in it or not."""

    async def absorb(self, tenant: str, changes: Changes, *, offset: int | None = None) -> None:
        """As `apply`, of facts that bear their stamps already."""

    async def drop(self, tenant: str) -> None:
        """Forget the tenant's graph and offset; the projector rebuilds it from the log."""
