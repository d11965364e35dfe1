"""The fingerprint of a graph: one hash of its whole content, independent of the order of reading and writing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from headwater.graph.model.merge import canonical

_MODULUS = 1 << 256


class Fingerprint:
    """The sum of the hashes of all nodes and edges. Addition has no order, so each store reads in its cheapest order.

    The fingerprint detects mistakes. It does not protect against a person who constructs a collision.
    """

    def __init__(self) -> None:
        self._sum = 0
        self._count = 0

    def nodes(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Add nodes as (id, name, canonical properties)."""
        self._add(["node", *row] for row in rows)

    def edges(self, rows: Iterable[tuple[str, str, str, str, str, str]]) -> None:
        """Add edges as (src, dst, kind, canonical properties, first, last)."""
        self._add(["edge", *row] for row in rows)

    def _add(self, elements: Iterable[list[str]]) -> None:
        for element in elements:
            self._sum += int.from_bytes(hashlib.sha256(canonical(element).encode()).digest(), "big")
            self._count += 1

    def hexdigest(self) -> str:
        return hashlib.sha256(f"{self._count}:{self._sum % _MODULUS}".encode()).hexdigest()
