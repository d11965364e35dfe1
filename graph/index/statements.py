"""The times and runs that stated edges, as numbers. Many edges have the same first or last statement."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headwater.graph.index.texts import Numbers, Texts

_LATE_BYTES = 150  # for each late text, with its object


class Statements:
    """A table of texts that only grows, so that all revisions of a graph may share it."""

    def __init__(self, base: pa.LargeStringArray | None = None) -> None:
        self._base = Texts.of([base] if base is not None else [])
        self._late: list[str] = []

    def take(self, texts: Iterable[str]) -> dict[str, int]:
        """Return numbers for texts. A known text may get another number."""
        start = len(self._base.base) + len(self._late)
        numbers = {text: start + place for place, text in enumerate(dict.fromkeys(texts))}
        self._late.extend(numbers)
        return numbers

    def at(self, numbers: NDArray[np.int32]) -> list[str]:
        stated, place = np.unique(numbers, return_inverse=True)
        inside = len(self._base.base)
        cut = int(np.searchsorted(stated, inside))
        texts = self._base.at(stated[:cut].astype(np.int64)) + [self._late[number - inside] for number in stated[cut:].tolist()]
        return [texts[each] for each in place.tolist()]

    def only(self, used: Numbers) -> Statements:
        """Return a new table in which the numbers `used` are counted from 0."""
        return Statements(pa.array(self.at(used.astype(np.int32)), pa.large_string()))

    @property
    def size(self) -> int:
        return self._base.size + _LATE_BYTES * len(self._late)
