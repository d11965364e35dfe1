"""The value of an aggregate without each input equals the value that is computed over the other inputs alone."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from headwater.graph.trace.rank.influence import Function, difference, order_of, remove_each

Rows = Sequence[tuple[int, Any, bool]]  # the record, the value, and whether the FILTER lets it pass
_SCALE = 6  # of the mean of decimals with two digits, as Spark states it
_NUMBERS = ("sum", "avg", "min", "max", "count", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "variance", "stddev", "median")
_IN_DUCKDB = {"double": "DOUBLE", "int": "BIGINT", "decimal": "DECIMAL(12,2)", "text": "VARCHAR", "flag": "BOOLEAN"}
_VALUES: dict[str, Callable[[random.Random], Any]] = {
    "int": lambda chance: chance.choice([chance.randint(-5, 5), chance.randint(-(10**6), 10**6)]),
    "double": lambda chance: chance.choice([float(chance.randint(-3, 3)), chance.uniform(-1e6, 1e6), -0.0, 1e15, 1e-9]),
    "decimal": lambda chance: Decimal(chance.randint(-999_999, 999_999)).scaleb(-2),
    "text": lambda chance: chance.choice(["", "a", "B", "é", "ab", "z" * chance.randint(1, 3)]),
    "flag": lambda chance: chance.random() < 0.5,
}


def _rows(chance: random.Random, kind: str) -> Rows:
    """Rows of one group: with nulls, duplicates, records that made several rows, and groups of one."""
    records = chance.choice([1, 1, 2, 3, chance.randint(1, 12)])
    count = chance.choice([records, records, records + chance.randint(0, 6)])
    nulls, passing = chance.choice([0, 0, 0.3, 1]), chance.choice([1, 1, 0.6, 0])
    pool = [_VALUES[kind](chance) for _ in range(chance.choice([1, 3, 12]))]
    return [
        (
            row if row < records else chance.randrange(records),
            None if chance.random() < nulls else chance.choice(pool),
            chance.random() < passing,
        )
        for row in range(count)
    ]


def _value_of(function: Function, kind: str, rows: Rows) -> Any:
    """The function over rows, computed from its definition with fractions."""
    values = [value for _, value, passes in rows if passes and value is not None]
    if function.distinct:
        values = list(dict.fromkeys(value + 0.0 if isinstance(value, float) else value for value in values))
    name = {"variance": "var_samp", "stddev": "stddev_samp"}.get(function.name, function.name)
    if name == "count":
        return len(values)
    if not values or (name.endswith("_samp") and len(values) == 1):
        return None
    if name in {"min", "bool_and"}:
        return min(values, key=lambda value: value.encode() if isinstance(value, str) else value)
    if name in {"max", "bool_or"}:
        return max(values, key=lambda value: value.encode() if isinstance(value, str) else value)
    exact = [Fraction(value) for value in values]
    if name == "median":
        ordered = sorted(map(float, values))
        place = Fraction(len(ordered) - 1, 2)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        return low if low == high else float(math.ceil(place) - place) * low + float(place - math.floor(place)) * high
    if name == "sum":
        return int(sum(exact)) if kind == "int" else _as(sum(exact), kind, 2)
    if name == "avg":
        return _as(sum(exact) / len(exact), kind, _SCALE)
    variance = float((statistics.variance if name.endswith("_samp") else statistics.pvariance)(exact))
    return math.sqrt(variance) if name.startswith("stddev") else variance


def _as(exact: Fraction, kind: str, scale: int) -> Any:
    if kind != "decimal":
        return float(exact)
    return (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def _in_duckdb(connection: duckdb.DuckDBPyConnection, function: Function, kind: str, rows: Rows) -> dict[int | None, Any]:
    """The function over all rows (None) and without each record, as DuckDB computes it."""
    connection.execute(f"CREATE OR REPLACE TABLE t (record BIGINT, value {_IN_DUCKDB[kind]}, passes BOOLEAN)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [list(row) for row in rows])
    distinct = "DISTINCT " if function.distinct else ""
    call = f"{function.name}({distinct}value) FILTER (WHERE passes)"
    return {
        record: connection.execute(f"SELECT {call} FROM t WHERE record IS DISTINCT FROM ?", [record]).fetchall()[0][0]
        for record in [None, *sorted({record for record, _, _ in rows})]
    }


def _is_close(ours: Any, theirs: Any, scale: float) -> bool:
    """Whether DuckDB's value is ours, but for the rounding of its sums: a variance may lose digits of the squares."""
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, str | bool):
        return bool(ours == theirs)
    return math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=scale)


def _rounding(name: str, rows: Rows) -> float:
    """What rounding may cost DuckDB: digits of the largest value, of its square, or of the root of that."""
    largest = max((abs(float(value)) for _, value, _ in rows if isinstance(value, int | float | Decimal)), default=0.0)
    return 1e-13 * largest**2 if name.startswith("var") else 1e-7 * largest if name.startswith("std") else 1e-13 * largest


@pytest.mark.parametrize("seeds", [range(1_000), pytest.param(range(1_000, 50_000), marks=pytest.mark.torture)])
def test_a_thousand_random_aggregates_equal_the_removal_one_by_one(seeds: range) -> None:
    connection, removals, compared = duckdb.connect(), 0, 0
    for seed in seeds:
        chance = random.Random(seed)
        kind = chance.choice(["int", "int", "double", "double", "decimal", "text", "flag"])
        names = {"text": ("min", "max", "count"), "flag": ("bool_and", "bool_or", "count")}.get(kind, _NUMBERS)
        name = chance.choice(names)
        if kind == "decimal" and name.startswith(("var", "std", "median")):
            name = "sum"  # Spark converts to floating point first
        scale = {"sum": 2, "avg": _SCALE}.get(name) if kind == "decimal" else None
        function, rows = Function(name, distinct=chance.random() < 0.3, scale=scale), _rows(chance, kind)
        members: dict[int, list[int]] = {}
        for place, (record, _, _) in enumerate(rows):
            members.setdefault(record, []).append(place)
        value, without = remove_each(function, [each if passes else None for _, each, passes in rows], members)
        left = {None: rows} | {record: [row for row in rows if row[0] != record] for record in members}
        ours = {None: value, **without}
        theirs = _in_duckdb(connection, function, kind, rows) if seed < 1_000 else {}
        for record, others in left.items():
            expected = _value_of(function, kind, others)
            assert ours[record] == expected, (seed, function, rows, record)
            assert type(ours[record]) is type(expected), (seed, function, rows, record)
            if theirs:
                assert _is_close(ours[record], theirs[record], _rounding(name, rows)), (seed, function, rows)
                compared += 1
            removals += 1
    assert removals > 2 * len(seeds)
    assert bool(compared) == (seeds.start == 0)


@pytest.mark.parametrize("name", ["sum", "avg"])
def test_what_is_no_number_spreads_until_it_is_removed(name: str) -> None:
    value, without = remove_each(Function(name), [1.0, math.inf, math.nan, 2.0], {place: [place] for place in range(4)})
    assert math.isnan(value)
    assert without[2] == math.inf
    assert all(math.isnan(without[place]) for place in (0, 1, 3))
    assert remove_each(Function("max"), [1.0, math.nan], {0: [0], 1: [1]})[1][1] == 1.0
    assert math.isnan(remove_each(Function("max"), [1.0, math.nan], {0: [0]})[0])
    assert remove_each(Function("min"), [math.nan, 1.0], {0: [0]})[0] == 1.0


def test_sums_of_many_digits_are_not_rounded() -> None:
    values = [Decimal("99999999999999999999999999999999.999999")] * 3
    assert remove_each(Function("sum", scale=6), values, {0: [0]})[1][0] == Decimal("199999999999999999999999999999999.999998")
    value, without = remove_each(Function("sum"), [1e16, 1.0, -1e16], {0: [0], 2: [2], 1: [1]})
    assert (value, without[1]) == (1.0, 0.0)
    assert remove_each(Function("sum"), [1e308, 1e308, 1.0], {0: [0]}) == (math.inf, {0: 1e308})


def test_bits_and_percentiles_are_computed_again() -> None:
    members = {place: [place] for place in range(3)}
    assert remove_each(Function("bit_and"), [6, 3, 2], members) == (2, {0: 2, 1: 2, 2: 2})
    assert remove_each(Function("bit_xor"), [6, 3, 2], members) == (7, {0: 1, 1: 4, 2: 5})
    assert remove_each(Function("percentile", fraction=0.25), [1, 2, 5], members) == (1.5, {0: 2.75, 1: 2.0, 2: 1.25})


def test_the_order_begins_with_what_removes_the_value() -> None:
    changes = [(3, 3, False), (3, 1, False), (3, None, False), (3, 13, False), ("a", "b", False), (3, None, True)]
    ordered = sorted(changes, key=lambda each: order_of(each[0], each[1], is_row_gone=each[2]))
    assert ordered == [(3, None, False), (3, None, True), ("a", "b", False), (3, 13, False), (3, 1, False), (3, 3, False)]
    assert difference(Decimal("1.10"), Decimal("1.00")) == Decimal("-0.10")
    assert difference(True, False) is difference("a", "b") is difference(1.0, math.nan) is None
