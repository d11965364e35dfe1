"""What a store's log of changes says of one transaction: the nodes that it touched, small enough to be written with every one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
from typing import TypeVar

from headwater.graph.index.source import TOUCHED
from headwater.graph.model.changes import Changes

T = TypeVar("T", int, str)

_LEVEL = 1  # a third smaller at the best level, for thrice the time


def touched(changes: Changes) -> set[str]:
    """The nodes whose own row, or the edges into which, a transaction may have changed."""
    found = {dst for _, dst, _ in changes.edges}
    found.update(identifier for identifier, facts in changes.nodes.items() if facts)
    ends = {src for src, _, _ in changes.edges}
    # A node that only an edge names may be new.
    return found | ends


def pack(nodes: Collection[T]) -> bytes | None:
    """The nodes as bytes; None: too many to be worth it."""
    return zlib.compress(json.dumps(sorted(nodes), separators=(",", ":")).encode(), _LEVEL) if len(nodes) <= TOUCHED else None


def unpack(packed: bytes) -> list[int] | list[str]:
    """The inverse of `pack`."""
    nodes: list[int] | list[str] = json.loads(zlib.decompress(packed))
    return nodes
