"""What a store's log of changes says of one transaction: the nodes that it touched, small enough to be written with every one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
from typing import Any, TypeVar

from headwater.graph.model.changes import Changes
from headwater.graph.stores.indexable import TOUCHED

T = TypeVar("T", int, str)

_AGAIN = 10  # so many times `TOUCHED` nodes may be named: most of them again and again, which costs the time to unpack them
_LEVEL = 1  # the best level makes it a tenth or a sixth smaller, for thirty times the time


def touched(changes: Changes) -> set[str]:
    """The nodes whose own row, or the edges into which, a transaction may have changed."""
    found = {end for src, dst, _ in changes.edges for end in (src, dst)}  # one that only an edge names may be new
    found.update(identifier for identifier, facts in changes.nodes.items() if facts)
    return found


def pack(nodes: Collection[T]) -> bytes | None:
    """The nodes as bytes; None: too many to be worth it."""
    return zlib.compress(json.dumps(sorted(nodes), separators=(",", ":")).encode(), _LEVEL) if len(nodes) <= TOUCHED else None


def unpack(packed: bytes) -> list[int] | list[str]:
    """The inverse of `pack`."""
    nodes: list[int] | list[str] = json.loads(zlib.decompress(packed))
    return nodes


class Touched:
    """The nodes that the transactions after a revision touched, by owner, in the order of the log, and no more than it is worth."""

    def __init__(self, after: int) -> None:
        self.revision = after
        self.nodes: dict[str, set[Any]] = {}
        self._named = 0

    def take(self, revision: int, packed: bytes | None, owner: str = "") -> bool:
        """Take the next transaction in; False: the log does not tell what changed, or it is so much that all is to be read."""
        if revision != self.revision + 1 or packed is None:
            return False
        self.revision = revision
        named = unpack(packed)
        self._named += len(named)
        self.nodes.setdefault(owner, set()).update(named)
        return self._named <= _AGAIN * TOUCHED and sum(map(len, self.nodes.values())) <= TOUCHED
