"""The protocol of a graph store: it stores containers and the flows between them, and answers questions about their neighbourhood.

The projector writes; traces, views and GraphQL read. A store must apply a batch and its log offset in one transaction. Its content must not
depend on the order and number of deliveries. A store must never build a query out of user text. Records are never in a store: they are in
association segments.

The tenant is a required first argument everywhere, so that code without it fails the type check.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind
from headwater.graph.model.changes import Changes
from headwater.graph.search import Found, SearchRequest
from headwater.graph.stores.rollups import LakeMap, Lens, MemberFlows


class Direction(StrEnum):
    """The direction in which edges are followed: `upstream` to the sources of data, `downstream` to its uses, or `both`.

    `both` is the union of the two cones. Other sources of a dataset downstream are not part of it.
    """

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"

    def ways(self) -> list[Direction]:
        return [Direction.UPSTREAM, Direction.DOWNSTREAM] if self is Direction.BOTH else [self]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The reached nodes, nearest first (then by id), and every edge of the followed kinds between two of them.

    `truncated` counts the nodes beyond the limit (0: nothing is missing). Counting stops after `COUNTED` nodes, and then `counted` is
    false. `distance` is in hops. `hidden` is true if the caller may not see something next to these nodes (`graph.access`).
    """

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    distance: dict[str, int]
    truncated: int = 0
    counted: bool = True
    hidden: bool = False


# Number of nodes beyond a limit that are visited only to count them.
COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class Cone:
    """The nodes that a focus reaches, by number, for callers that compute on tens of thousands of nodes, such as views.

    A node's number is its index in `ids`. The first `reached` nodes were reached (the focus first); the others contain one of them. `pairs`
    has all edges between reached nodes as rows of (src, dst), each once. `facts` has (kind, first, last) of each edge, if requested.
    `contains` has containment as rows of (container, child). `names` are the names of `ids`, if requested. `upstream` and `downstream` are
    hops by number. `beyond` counts nodes one hop beyond depth or limit.

    If the graph is in memory, `known` returns nodes by number in the state in which they were reached, and None for a node that must be
    read from the store. `hidden` is as in `Subgraph`.
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
        return list(zip(self.pairs[:, 0].tolist(), self.pairs[:, 1].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Portion:
    """A part of a graph in stored form.

    Nodes are (id, name, properties, stamps), edges (source, destination, kind, properties, stamps, first, last). Properties and stamps are
    canonical JSON texts; `first` and `last` are those of an `Edge`.
    """

    nodes: Sequence[tuple[str, str, str, str]]
    edges: Sequence[tuple[str, str, str, str, str, str, str]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of nodes. `cursor` fetches the next page. It is None on the last page."""

    nodes: Sequence[Node]
    cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Nodes from a numeric position of an order, and the total number of nodes in the order."""

    nodes: Sequence[Node]
    total: int


# The id of a parent, and an instant (`until`; None: now).
Moment = tuple[str, str | None]

# A half-open range of ids: the first id is included, the second is not. Ranges of one call do not overlap.
IdRange = tuple[str, str]


class GraphStore(Protocol):
    """A graph store. The module's docstring states its duties. All verbs may raise `UnavailableError` (transient)."""

    async def open(self) -> list[int]:
        """Connect, bring constraints, indexes and tables up to date, and return the numbers of the migrations that ran."""

    async def close(self) -> None: ...

    async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
        """Apply batches and store `offset` (of the last log entry in them; it never decreases) in one transaction.

        Raises:
            InvalidInputError: an id is malformed or too long, or a property is not JSON; nothing was applied.
        """

    async def offset(self, tenant: str) -> int:
        """Return the offset of the last log entry applied, or 0."""

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]:
        """Return the nodes that exist, in the order requested."""

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None,
        ranges: Sequence[IdRange] | None = None,
    ) -> Page:  # fmt: skip
        """Return nodes whose name contains `text` (case-insensitive; empty: all), ordered by case-folded name and id.

        With `ranges`, only nodes whose ids are in one of them.
        """

    async def find(
        self, tenant: str, request: SearchRequest, *, first: int = 20, after: str | None = None, permitted: Sequence[str] | None = None
    ) -> Found:
        """Return nodes by words and facets, the best first; without words in the order of the request (`headwater.graph.search`).

        With `permitted`, only nodes whose ids name one of these namespaces, and runs of jobs there. States and pipelines that jobs of
        other namespaces bring are then left out.
        """

    async def neighbours(self, tenant: str, ids: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind]) -> list[Edge]:
        """Return the edges one hop away from `ids`."""

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph:
        """Return all nodes within `depth` hops of `focus`, nearest first, at most `limit` nodes including the focus.

        Over `reads` and `writes`, a path from dataset to dataset takes two hops, through the job. Over `derives` from columns, a statement
        of a job about a whole dataset counts as an edge to each column that it writes there (`derivations`).
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
        """Return the same nodes as `reach`, by number and without properties, with all containers of nodes of the kinds `contained`.

        If `limit` cuts a level, the first ids of the level are kept. If nothing is cut, the result has the same nodes and edges as `reach`.
        """

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page:
        """Return the nodes that `parent` contains directly, ordered by name and id.

        A node inside another child is left out: a job of a pipeline is not listed under the system.
        """

    async def listed(self, tenant: str, prefix: str, *, first: int = 100, skip: int = 0) -> Listing:
        """Return nodes whose id begins with `prefix` (kind and parts, each with its colon), ordered by id.

        Example: the columns of a dataset.

        Raises:
            InvalidQueryError: the prefix does not end with a colon.
        """

    async def listed_after(self, tenant: str, prefix: str, after: str | None, *, first: int) -> Sequence[Node]:
        """Return nodes as `listed` does, but those whose id is greater than `after` (None: from the start), to iterate over all.

        Nothing is counted or skipped: every page costs the same, and concurrent additions move no other node. Raises as `listed`.
        """

    async def latest(
        self, tenant: str, parent: str, kind: NodeKind, *, until: str | None = None, first: int = 100, skip: int = 0
    ) -> Listing:
        """Return nodes of one kind that `parent` contains, the latest first statement of containment first, then by id.

        With `until` (ISO 8601, as a stamp's time), only nodes whose containment was stated at or before this instant.
        """

    async def latest_at(self, tenant: str, asked: Sequence[Moment], kind: NodeKind, *, first: int) -> Mapping[Moment, Sequence[Node]]:
        """Return the `first` (at least 1) nodes of `latest` for each parent and `until`. Nothing is counted."""

    async def shared(self, tenant: str, parent: str) -> list[str]:
        """Return the ids of nodes in `parent` that another node contains too."""

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
        """Return the containers of each id that exists, innermost first."""

    async def counts(self, tenant: str, *, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
        """Return the number of nodes of each kind.

        With `ranges`, only nodes in one of them are counted, and runs that only these nodes contain.
        """

    async def fingerprint(self, tenant: str) -> str:
        """Return a hash of the whole content, independent of the order of writing. Equal graphs have equal fingerprints in every store."""

    def dump(self, tenant: str, *, kinds: Collection[NodeKind] | None = None) -> AsyncIterator[Portion]:
        """Yield all nodes and edges of the tenant in portions, an edge with its destination. Concurrent writes may be included or not.

        With `kinds`, yield the nodes of these kinds, and the edges into them.
        """

    async def lake_map(
        self, tenant: str, lens: Lens, *, first: int = 200, include: Sequence[str] = (), permitted: Sequence[str] | None = None
    ) -> LakeMap:
        """Return the `first` largest groups of the lake and the groups of `include`, with the flows among them (`rollups`).

        With `permitted`, only groups with these ids, and flows through jobs or datasets whose namespace is such a group.
        """

    async def member_flows(self, tenant: str, lens: Lens, members: Sequence[str], *, permitted: Sequence[str] | None = None) -> MemberFlows:
        """Return the flows of some datasets or jobs, with each other and with the groups of a lens. `permitted`: as in `lake_map`."""

    async def absorb(self, tenant: str, changes: Changes, *, offset: int | None = None) -> None:
        """Merge facts that already have stamps, otherwise like `apply`."""

    async def drop(self, tenant: str) -> None:
        """Delete the tenant's graph and offset. The projector rebuilds it from the log."""
