"""Packs several integer columns into one, if 63 bits are enough. Sorting one column is much cheaper than sorting rows.

References are small once the gap between ordinal and position is removed, and so are integers that represent keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.graph.associations import NONE
from headwater.graph.associations.references import POSITION_BITS, POSITION_MASK
from headwater.graph.records.decode import Longs

_BITS = 63


@dataclass(frozen=True, slots=True)
class _Narrow:
    """A column in fewer bits: 0 for none, otherwise 1 + the upper part minus its minimum, then the lower part minus its minimum."""

    upper: int
    lower: int
    upper_bits: int
    lower_bits: int

    @property
    def bits(self) -> int:
        return self.upper_bits + self.lower_bits

    def code(self, column: Longs) -> Longs:
        upper = (column >> POSITION_BITS) - (self.upper - 1)
        code = (upper << self.lower_bits) | ((column & POSITION_MASK) - self.lower)
        none = column == NONE
        if none.any():
            code[none] = 0
        return code

    def column(self, code: Longs) -> Longs:
        upper = (code >> self.lower_bits) + (self.upper - 1)
        column = (upper << POSITION_BITS) | ((code & ((1 << self.lower_bits) - 1)) + self.lower)
        column[code == 0] = NONE
        return column


def sorted_rows(columns: Sequence[Longs]) -> list[Longs] | None:
    """Return rows sorted by all columns, the first column first. None if the columns need more than 63 bits."""
    forms: list[_Narrow] = []
    for column in columns:
        form = _form(column)
        if form is None or form.bits + sum(next_form.bits for next_form in forms) > _BITS:
            return None
        forms.append(form)
    codes = np.zeros(len(columns[0]), np.int64)
    for form, column in zip(forms, columns, strict=True):
        codes <<= form.bits
        codes |= form.code(column)
    codes.sort()
    keys: list[Longs] = []
    for form in reversed(forms):
        keys.append(form.column(codes & ((1 << form.bits) - 1)))
        codes >>= form.bits
    return keys[::-1]


def _form(column: Longs) -> _Narrow | None:
    present_values = column[column != NONE] if (column == NONE).any() else column
    if not len(present_values):
        return _Narrow(0, 0, 1, 0)
    upper, highest = int(present_values.min()) >> POSITION_BITS, int(present_values.max()) >> POSITION_BITS
    upper_bits = (highest - upper + 1).bit_length()
    if upper_bits > _BITS - POSITION_BITS:
        return None  # a column of hashes needs all bits
    lower = present_values & POSITION_MASK
    minimum = int(lower.min())
    return _Narrow(upper, minimum, upper_bits, (int(lower.max()) - minimum).bit_length())
