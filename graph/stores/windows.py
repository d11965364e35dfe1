"""The first rows below each of many bounds, from rows in descending order. One pass serves all bounds, and nothing is read twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Windows(Generic[T]):
    """Collects, for each bound, the first `size` rows (at least 1) below it."""

    def __init__(self, bounds: Iterable[str], size: int) -> None:
        self._size = size
        self._found: dict[str, list[T]] = {bound: [] for bound in sorted(bounds)}
        self._ahead = list(self._found)  # the greatest last
        self._open: list[list[T]] = []

    @property
    def bound(self) -> str | None:
        """The greatest bound that has no row below it yet, or None."""
        return self._ahead[-1] if self._ahead else None

    def take(self, place: str, row: T) -> bool:
        """Take the next row. Returns False if no bound needs the next row; the caller then continues below `bound`."""
        while self._ahead and place < self._ahead[-1]:
            self._open.append(self._found[self._ahead.pop()])
        for window in self._open:
            window.append(row)
        self._open = [window for window in self._open if len(window) < self._size]
        return bool(self._open)

    def below(self, bound: str) -> Sequence[T]:
        """Return the first rows below a bound."""
        return self._found[bound]
