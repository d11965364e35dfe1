"""Sorts the rows of a boundary into kept order, in memory, if the boundary is small enough.

Rows of a sink, and rows with their own references, are already in order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headwater.graph.records.decode import Longs
from headwater.graph.records.packed_keys import sorted_rows


def in_order(columns: Sequence[Longs]) -> bool:
    """Return whether rows ascend by the first column, rows that are equal there by the second, and so on."""
    equal: Longs | None = None  # indexes of rows that equal the next row in all columns so far; None: all rows
    for column in columns:
        values, next_values = (column[:-1], column[1:]) if equal is None else (column[equal], column[equal + 1])
        if (values > next_values).any():
            return False
        equal_places = np.flatnonzero(values == next_values)
        equal = equal_places if equal is None else equal[equal_places]
        if not len(equal):
            return True
    return True


def ordered(columns: Sequence[Longs], by: Sequence[Longs]) -> list[Longs]:
    """Return the columns of the rows, sorted by the columns `by`, the first column first."""
    if in_order(by):
        return list(columns)
    if len(by) == len(columns) and (sorted_columns := sorted_rows(by)):
        return sorted_columns
    places = np.lexsort(tuple(reversed(by))) if len(by) > 1 else np.argsort(by[0])
    return [column[places] for column in columns]


def collided(key: Longs, checked: Longs) -> tuple[Longs, Longs]:
    """Return the groups with several second hashes, with the least and the greatest second hash of each."""
    if not len(key):
        return key, checked
    key, checked = ordered([key, checked], [key, checked])
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    ends = np.append(starts[1:], len(key)) - 1
    has_two_hashes = checked[starts] != checked[ends]
    hash_pairs = np.stack((starts[has_two_hashes], ends[has_two_hashes]), axis=1).ravel()
    return key[hash_pairs], checked[hash_pairs]


def clear_single(key: Longs, checked: Longs) -> Longs:
    """Return second hashes that are 0 for groups with one second hash, which needs no comparison."""
    return np.where(np.isin(key, collided(key, checked)[0]), checked, 0)
