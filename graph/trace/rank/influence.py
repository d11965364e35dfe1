"""Computes an aggregate function over the rows of a group, and again without each input record.

A record may have made several rows of the group, as below a join, and all of them go with it. The sums behind `sum`, `avg`, variance and
standard deviation are whole numbers over a common denominator. So the value without a record is exact, as if it were computed over the
other rows alone, and rounded once. Removing the rows of all records in turn takes time in the number of rows, for each closed form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Protocol, TypeVar

MOST_REEVALUATED = 5_000  # rows of a group whose function is computed again for each record
_SAMPLES = frozenset({"variance", "var_samp", "stddev", "stddev_samp", "std"})
_POPULATIONS = frozenset({"var_pop", "stddev_pop"})
_ROOTS = frozenset({"stddev", "stddev_samp", "std", "stddev_pop"})
_GREATEST = frozenset({"max", "bool_or", "some", "any"})
_LEAST = frozenset({"min", "bool_and", "every"})
_SUMS = frozenset({"sum", "avg", "mean"}) | _SAMPLES | _POPULATIONS
_WIDE = Context(prec=200, rounding=ROUND_HALF_UP)
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Function:
    """An aggregate function by Spark's name. `scale` is that of its result, if it is a decimal. `fraction` is that of a percentile."""

    name: str
    distinct: bool = False
    scale: int | None = None
    fraction: float = 0.5

    @property
    def is_known(self) -> bool:
        return self.name in _SUMS | _GREATEST | _LEAST | {"count"} or self.is_reevaluated

    @property
    def needs_numbers(self) -> bool:
        return self.name in _SUMS or self.is_reevaluated

    @property
    def is_reevaluated(self) -> bool:
        return self.name in _REEVALUATED


class _Closed(Protocol):
    """A function whose value without some values is found without a look at all others."""

    def without(self, removed: Sequence[Any]) -> Any: ...


def remove_each(function: Function, values: Sequence[Any], members: Mapping[K, Collection[int]]) -> tuple[Any, dict[K, Any]]:
    """Return the value of a function over `values`, and the value without the values at the places of each member.

    `values` have None for a null and for a row that the FILTER of the function excludes.
    """
    present = [value for value in values if value is not None]
    if function.name in _GREATEST | _LEAST:
        return _remove_from_extreme(function, values, members)
    base = list({_key(value): value for value in present}.values()) if function.distinct else present
    closed = _prepare(function, base)
    counts = Counter(map(_key, present)) if function.distinct else Counter()
    found: dict[K, Any] = {}
    for member, places in members.items():
        removed = [values[place] for place in places if values[place] is not None]
        if function.distinct:
            own = Counter(map(_key, removed))
            removed = list({_key(value): value for value in removed if own[_key(value)] == counts[_key(value)]}.values())
        found[member] = closed.without(removed)
    return closed.without(()), found


def difference(value: Any, without: Any) -> Any:
    """Return how much a value changes. None if one of them is no finite number, or both are of different kinds."""
    if any(isinstance(each, bool) or not isinstance(each, int | float | Decimal) for each in (value, without)):
        return None
    if any(not math.isfinite(each) for each in (value, without)):
        return None
    if isinstance(value, float) or isinstance(without, float):
        return float(without) - float(value)
    return _WIDE.subtract(without, value) if isinstance(value, Decimal) or isinstance(without, Decimal) else without - value


def order_of(value: Any, without: Any, *, is_row_gone: bool) -> tuple[int, float]:
    """Return a sort key: first what removes the value or the row, then by the change, the largest first, then what changes nothing."""
    if is_row_gone or (value is None) != (without is None):
        return (0, 0.0)
    if _key(value) == _key(without):
        return (3, 0.0)
    change = difference(value, without)
    return (1, 0.0) if change is None else (2, -abs(float(change)))


def _prepare(function: Function, base: Sequence[Any]) -> _Closed:
    if function.name == "count":
        return _Count(len(base))
    if function.is_reevaluated:
        return _Reevaluated(function, base)
    return _Sums(function, base)


@dataclass(frozen=True, slots=True)
class _Count:
    count: int

    def without(self, removed: Sequence[Any]) -> int:
        return self.count - len(removed)


class _Reevaluated:
    def __init__(self, function: Function, base: Sequence[Any]) -> None:
        self._evaluate, self._fraction = _REEVALUATED[function.name], function.fraction
        self._base = sorted(base, key=_rank)

    def without(self, removed: Sequence[Any]) -> Any:
        left = Counter(map(_key, removed))
        kept = []
        for value in self._base:
            if left[_key(value)]:
                left[_key(value)] -= 1
            else:
                kept.append(value)
        return self._evaluate(kept, self._fraction) if kept else None


class _Sums:
    """The number of values, their sum and the sum of their squares, as whole numbers over a common denominator."""

    def __init__(self, function: Function, base: Sequence[Any]) -> None:
        self._function = function
        self._kind = next((type(value) for value in base), int)
        finite = [value for value in base if math.isfinite(value)]
        self._denominator = math.lcm(1, *{value.as_integer_ratio()[1] for value in finite})
        self._squares = function.name in _SAMPLES | _POPULATIONS
        self._count = len(base)
        self._sum, self._square_sum = self._add(finite)
        self._odd = Counter(map(_key, (value for value in base if not math.isfinite(value))))

    def without(self, removed: Sequence[Any]) -> Any:
        finite = [value for value in removed if math.isfinite(value)]
        odd = self._odd - Counter(map(_key, (value for value in removed if not math.isfinite(value)))) if self._odd else self._odd
        total, squares = self._add(finite)
        return self._finish(self._count - len(removed), self._sum - total, self._square_sum - squares, odd)

    def _add(self, values: Sequence[Any]) -> tuple[int, int]:
        numbers = [ratio[0] * (self._denominator // ratio[1]) for ratio in (value.as_integer_ratio() for value in values)]
        return sum(numbers), sum(number * number for number in numbers) if self._squares else 0

    def _finish(self, count: int, total: int, squares: int, odd: Counter[Any]) -> Any:
        name, is_sample = self._function.name, self._function.name in _SAMPLES
        if count == 0 or (is_sample and count == 1):
            return None
        if self._squares:
            if odd:
                return math.nan
            divisor = count * (count - 1 if is_sample else count) * self._denominator**2
            variance = _divide(count * squares - total * total, divisor)
            return math.sqrt(variance) if name in _ROOTS else variance
        if odd:
            return sum(map(float, odd), 0.0)  # of infinities and NaN
        if self._function.scale is not None:
            divisor = self._denominator if name == "sum" else self._denominator * count
            return _round(total, divisor, self._function.scale)
        if name == "sum":
            return total if issubclass(self._kind, int) else _divide(total, self._denominator)
        return _divide(total, self._denominator * count)


def _divide(number: int, divisor: int) -> float:
    """Return the nearest float of a fraction."""
    try:
        return number / divisor
    except OverflowError:
        return -math.inf if number < 0 else math.inf


def _round(number: int, divisor: int, scale: int) -> Decimal:
    """Return a fraction as a decimal of a scale, rounded half up."""
    whole, rest = divmod(abs(number) * 10**scale, divisor)
    whole += 2 * rest >= divisor
    return _WIDE.scaleb(Decimal(whole if number >= 0 else -whole), -scale)


def _remove_from_extreme(function: Function, values: Sequence[Any], members: Mapping[K, Collection[int]]) -> tuple[Any, dict[K, Any]]:
    """Return the extreme value, and the one without each member. Only members with the first values look further."""
    order = sorted((place for place, value in enumerate(values) if value is not None), key=lambda place: _rank(values[place]))
    if function.name in _GREATEST:
        order.reverse()
    best = values[order[0]] if order else None
    found: dict[K, Any] = {}
    for member, places in members.items():
        own = set(places)
        first = next((place for place in order if place not in own), None)
        found[member] = None if first is None else values[first]
    return best, found


def _percentile(values: Sequence[Any], fraction: float) -> float:
    place = (len(values) - 1) * fraction
    low, high = float(values[math.floor(place)]), float(values[math.ceil(place)])
    return low if low == high else (math.ceil(place) - place) * low + (place - math.floor(place)) * high


_REEVALUATED: Mapping[str, Callable[[Sequence[Any], float], Any]] = {
    "median": _percentile,
    "percentile": _percentile,
    "bit_and": lambda values, _: _fold(values, lambda left, right: left & right),
    "bit_or": lambda values, _: _fold(values, lambda left, right: left | right),
    "bit_xor": lambda values, _: _fold(values, lambda left, right: left ^ right),
}


def _fold(values: Sequence[int], join: Callable[[int, int], int]) -> int:
    result = values[0]
    for value in values[1:]:
        result = join(result, value)
    return result


def _key(value: Any) -> Any:
    """Return a value as Spark groups it: -0.0 is 0.0, and NaN equals NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def _rank(value: Any) -> Any:
    """Return a value as Spark sorts it: NaN is the greatest number, and texts are sorted by their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
