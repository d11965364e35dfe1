"""The answer of a view: visible nodes and links of one page, counts of all, and omitted parts. Every cut is reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from headwater.graph.model import Node, NodeKind

# The ids of masked nodes whose names the caller may know. Everyone may know the counts.
Sight = Callable[[Sequence[str]], Awaitable[Collection[str]]]


@dataclass(frozen=True, slots=True)
class VisibleNode:
    """A node of a view. `members` are the nodes below it that take part; `distance` is that of the nearest one, in hops.

    `upstream` and `downstream` are exact: at least one member really leads to the focus, or is led to.
    """

    node: Node
    distance: int
    members: int
    focus: bool
    upstream: bool
    downstream: bool


@dataclass(frozen=True, slots=True)
class VisibleEdge:
    """A link: `weight` flows out of members of `src` arrive at `dst`, directly or through `via` different masked nodes.

    `direct` is whether one of them passes nothing that is masked. `via` None: not counted, since the page has too much behind it.
    """

    src: str
    dst: str
    weight: int
    direct: bool
    via: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of the whole view, not of a page."""

    nodes: int
    edges: int
    reached: int
    masked: int
    beyond: int


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a link, as pairs, and the masked nodes between them that the caller may know. `withheld` counts the others."""

    pairs: Sequence[tuple[str, str]]
    total: int
    masked: Sequence[Node]
    masked_total: int
    withheld: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that a lineage has, outermost first."""

    data: Sequence[NodeKind]
    actors: Sequence[NodeKind]
