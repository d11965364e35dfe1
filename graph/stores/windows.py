"""Collects the first rows below each of several bounds, in one pass over rows in descending order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Windows(Generic[T]):
    """The first `size` rows (at least 1) below each bound."""

    def __init__(self, bounds: Iterable[str], size: int) -> None:
        self._size = size
        self._found: dict[str, list[T]] = {bound: [] for bound in sorted(bounds)}
        self._ahead = list(self._found)  # the greatest last
        self._open: list[list[T]] = []

    @property
    def bound(self) -> str | None:
        """Return the greatest bound that has no row below it yet. None if every bound has a row."""
        return self._ahead[-1] if self._ahead else None

    def take(self, place: str, row: T) -> bool:
        """Add the next row. Return false if no bound needs the next row; the caller then continues below `bound`."""
        while self._ahead and place < self._ahead[-1]:
            self._open.append(self._found[self._ahead.pop()])
        for window in self._open:
            window.append(row)
        self._open = [window for window in self._open if len(window) < self._size]
        return bool(self._open)

    def below(self, bound: str) -> Sequence[T]:
        return self._found[bound]
