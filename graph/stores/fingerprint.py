"""The fingerprint of a graph: one hash of all its content that no order of reading or writing can change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from headwater.graph.model.merge import canonical

_MODULUS = 1 << 256


class Fingerprint:
    """Sums the hashes of elements: addition has no order, so each store reads in the order that is cheapest for it.

    A guard against mistakes, not against someone who builds a collision.
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
        """The hash as text."""
        return hashlib.sha256(f"{self._count}:{self._sum % _MODULUS}".encode()).hexdigest()
