"""Kinds of edges as small numbers in the file. A number is never reused for another kind."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.graph.model import EdgeKind

CODE: dict[EdgeKind, int] = {
    EdgeKind.CONTAINS: 0,
    EdgeKind.READS: 1,
    EdgeKind.WRITES: 2,
    EdgeKind.DERIVES: 3,
    EdgeKind.REPLAYS: 4,
    EdgeKind.ACCESSES: 5,
    EdgeKind.LINKS: 6,
    EdgeKind.DESCRIBES: 7,
    EdgeKind.CHECKS: 8,
}
KIND = {code: kind for kind, code in CODE.items()}


def codes(kinds: Sequence[EdgeKind]) -> list[int]:
    """Return the numbers of edge kinds, ascending."""
    return sorted({CODE[EdgeKind(kind)] for kind in kinds})


def any_of(kinds: Sequence[EdgeKind]) -> str:
    """Return the kinds as an SQL list. The numbers come from this module, never from user text."""
    return f"({', '.join(map(str, codes(kinds)))})"
