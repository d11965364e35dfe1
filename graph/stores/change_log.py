"""Packs the nodes that one transaction changed, for a store's log of changes. The result is small enough to be written each time."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
from typing import Any, TypeVar

from headwater.graph.model.changes import Changes
from headwater.graph.stores.indexable import TOUCHED

T = TypeVar("T", int, str)

_AGAIN = 10  # a log may name up to this many times `TOUCHED` nodes, mostly the same ones again: unpacking them takes time
_LEVEL = 1  # the best level shrinks the bytes by another 10 to 17 %, and takes thirty times as long


def touched(changes: Changes) -> set[str]:
    """Return the nodes of which a transaction may have changed the row or an incoming edge."""
    found = {end for src, dst, _ in changes.edges for end in (src, dst)}  # a node that only an edge names may be new
    found.update(identifier for identifier, facts in changes.nodes.items() if facts)
    return found


def pack(nodes: Collection[T]) -> bytes | None:
    """Return the nodes as compressed bytes. None if there are more than `TOUCHED`."""
    return zlib.compress(json.dumps(sorted(nodes), separators=(",", ":")).encode(), _LEVEL) if len(nodes) <= TOUCHED else None


def unpack(packed: bytes) -> list[int] | list[str]:
    nodes: list[int] | list[str] = json.loads(zlib.decompress(packed))
    return nodes


class Touched:
    """The nodes that the transactions after a revision changed, by owner. Transactions are added in the order of the log."""

    def __init__(self, after: int) -> None:
        self.revision = after
        self.nodes: dict[str, set[Any]] = {}
        self._named = 0

    def take(self, revision: int, packed: bytes | None, owner: str = "") -> bool:
        """Add the next transaction. Return false if the log misses the changes, or if reading the whole graph is cheaper."""
        if revision != self.revision + 1 or packed is None:
            return False
        self.revision = revision
        named = unpack(packed)
        self._named += len(named)
        self.nodes.setdefault(owner, set()).update(named)
        return self._named <= _AGAIN * TOUCHED and sum(map(len, self.nodes.values())) <= TOUCHED
