"""Nova's functions over blocks: `merge` applies a delta to a base, `chain` joins two deltas, `diff` finds the delta between two bases.

There are two kinds of data. In a *bag*, equal records count, and a delta has a number for each record: how often it is added, or removed if
the number is negative. In *keyed* data, a delta has the latest record of each key, or None for a deleted one. These pure functions define
the difference between two versions. Tests compare them with the difference that DuckDB computes.

Laws: `chain` is associative. `merge(before, diff(before, after)) == after`. Two merges, one after the other, equal one merge of the chain.

    >>> delta = diff_bags(Counter("aab"), Counter("abc"))
    >>> sorted(delta.items())
    [('a', -1), ('c', 1)]
    >>> merge_bags(Counter("aab"), delta) == Counter("abc")
    True
    >>> merge_keyed({"k": 1, "l": 2}, {"k": 7, "l": None})
    {'k': 7}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

from headwater.errors import InvalidQueryError

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


def merge_bags(base: Mapping[K, int], delta: Mapping[K, int]) -> Counter[K]:
    """Return the bag after a delta.

    Raises:
        InvalidQueryError: the delta removes a record that is not in the bag, so it belongs to another version.
    """
    merged = {record: base.get(record, 0) + delta.get(record, 0) for record in {**base, **delta}}
    if lost := [record for record, count in merged.items() if count < 0]:
        raise InvalidQueryError(f"The delta removes {lost[0]!r}, which is not in the base.", hint="Merge the deltas in their order.")
    return Counter({record: count for record, count in merged.items() if count})


def chain_bags(first: Mapping[K, int], second: Mapping[K, int]) -> dict[K, int]:
    """Return the delta that has the effect of two deltas, one after the other."""
    chained = {record: first.get(record, 0) + second.get(record, 0) for record in {**first, **second}}
    return {record: count for record, count in chained.items() if count}


def diff_bags(before: Mapping[K, int], after: Mapping[K, int]) -> dict[K, int]:
    """Return the delta that makes the bag `after` of the bag `before`."""
    return chain_bags(after, {record: -count for record, count in before.items()})


def merge_keyed(base: Mapping[K, R], delta: Mapping[K, R | None]) -> dict[K, R]:
    """Return the records by key after a delta. The latest record of a key wins."""
    return {key: record for key, record in {**base, **delta}.items() if record is not None}


def chain_keyed(first: Mapping[K, R | None], second: Mapping[K, R | None]) -> dict[K, R | None]:
    """Return the delta that has the effect of two deltas, one after the other."""
    return {**first, **second}


def diff_keyed(before: Mapping[K, R], after: Mapping[K, R]) -> dict[K, R | None]:
    """Return the delta that makes the records `after` of the records `before`."""
    gone: dict[K, R | None] = {key: None for key in before if key not in after}
    return {**gone, **{key: record for key, record in after.items() if before.get(key) != record}}
