"""The answer of a view: visible nodes and links of one page, counts of the whole view, and the parts that were left out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from headwater.graph.model import Node, NodeKind

# The ids of masked nodes whose names the caller may know. Everyone may know the counts.
Sight = Callable[[Sequence[str]], Awaitable[Collection[str]]]


@dataclass(frozen=True, slots=True)
class VisibleNode:
    """A node of a view. `members` is the number of lineage nodes inside it; `distance` is the distance of the nearest member, in hops.

    `upstream` and `downstream` are exact: at least one member leads to the focus, or is reached from it.
    """

    node: Node
    distance: int
    members: int
    focus: bool
    upstream: bool
    downstream: bool


@dataclass(frozen=True, slots=True)
class VisibleEdge:
    """A link of a view. `weight` is the number of flows out of members of `src` that reach `dst`.

    `via` is the number of masked nodes on the way. It is None if the count would take too long. `direct` is true if one flow passes no
    masked node.
    """

    src: str
    dst: str
    weight: int
    direct: bool
    via: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of the whole view, over all pages."""

    nodes: int
    edges: int
    reached: int
    masked: int
    beyond: int


@dataclass(frozen=True, slots=True)
class Members:
    """The pairs of members that a link joins, and the masked nodes between them that the caller may see.

    `withheld` counts the other nodes.
    """

    pairs: Sequence[tuple[str, str]]
    total: int
    masked: Sequence[Node]
    masked_total: int
    withheld: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that occur in a lineage, outermost first."""

    data: Sequence[NodeKind]
    actors: Sequence[NodeKind]
