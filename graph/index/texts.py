"""A column of texts, by number: a million of them in little more than their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_LATE_BYTES = 250  # of a text that came later: the object, its number, their place in a table


@dataclass(frozen=True, slots=True)
class Texts:
    """Never changed: `with_texts` makes another that shares what was there. `late` holds texts that came after `base`, by number."""

    base: pa.LargeStringArray
    late: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, portions: Sequence[pa.LargeStringArray]) -> Texts:
        """The texts of all portions, in order."""
        return cls(pa.concat_arrays(portions) if portions else pa.array([], pa.large_string()))

    def with_texts(self, texts: Mapping[int, str]) -> Texts:
        """These, and others by number, of which some may replace one."""
        return Texts(self.base, {**self.late, **texts}) if texts else self

    def settled(self, count: int) -> Texts:
        """The same `count` texts; only those that replace one are late still."""
        inside = len(self.base)
        grown = [self.late[number] for number in range(inside, count)]
        replaced = {number: text for number, text in self.late.items() if number < inside}
        return Texts(pa.concat_arrays([self.base, pa.array(grown, pa.large_string())]), replaced)

    def at(self, numbers: Numbers) -> list[str]:
        """The texts of numbers."""
        if not self.late:
            return _taken(self.base, numbers)
        known = iter(_taken(self.base, numbers[numbers < len(self.base)]))
        inside, late = len(self.base), self.late
        listed = numbers.tolist()
        texts = [next(known) if number < inside else "" for number in listed]
        return [late.get(number, text) for number, text in zip(listed, texts, strict=True)]

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.base.nbytes) + _LATE_BYTES * len(self.late)


def _taken(base: pa.LargeStringArray, numbers: Numbers) -> list[str]:
    found: list[str] = base.take(pa.array(numbers)).to_pylist()
    return found
