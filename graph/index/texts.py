"""A column of texts, by number. A million texts take little more memory than their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_LATE_BYTES = 250  # for each late text: the object, its number, their place in a table


@dataclass(frozen=True, slots=True)
class Texts:
    """An immutable column of texts.

    `with_texts` returns another column that shares the existing texts. `late` has texts added after `base`, by number.
    """

    base: pa.LargeStringArray
    late: Mapping[int, str] = field(default_factory=dict)
    late_bytes: int = 0  # size of all late texts, including replaced ones

    @classmethod
    def of(cls, portions: Sequence[pa.LargeStringArray]) -> Texts:
        return cls(pa.concat_arrays(portions) if portions else pa.array([], pa.large_string()))

    def with_texts(self, texts: Mapping[int, str]) -> Texts:
        """Return the column with more texts by number. They may replace existing ones."""
        if not texts:
            return self
        return Texts(self.base, {**self.late, **texts}, self.late_bytes + _LATE_BYTES * len(texts) + sum(map(len, texts.values())))

    def settled(self, count: int) -> Texts:
        """Return the same `count` texts with all late texts merged into `base`."""
        inside = len(self.base)
        replaced = sorted(number for number in self.late if number < inside)
        base = self.base
        if replaced:
            mask = np.zeros(inside, dtype=bool)
            mask[replaced] = True
            base = pc.replace_with_mask(base, mask, pa.array([self.late[number] for number in replaced], pa.large_string()))
        grown = pa.array([self.late[number] for number in range(inside, count)], pa.large_string())
        return Texts(pa.concat_arrays([base, grown]))

    def at(self, numbers: Numbers) -> list[str]:
        late = self.late
        if not late:
            return _taken(self.base, numbers)
        listed = numbers.tolist()
        inside = numbers < len(self.base)
        if inside.all():
            texts = _taken(self.base, numbers)
        else:
            known = iter(_taken(self.base, numbers[inside]))
            texts = [next(known) if here else "" for here in inside.tolist()]
        return [late.get(number, text) for number, text in zip(listed, texts, strict=True)]

    @property
    def size(self) -> int:
        return int(self.base.nbytes) + self.late_bytes


def _taken(base: pa.LargeStringArray, numbers: Numbers) -> list[str]:
    found: list[str] = base.take(pa.array(numbers)).to_pylist()
    return found
