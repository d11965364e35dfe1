"""Computes Spark's decimals in DuckDB, if neither system rounds, so that both results are equal.

Spark's sum, difference and product of decimals are exact until their type would need more than 38 digits. Then Spark removes digits of the
scale, and rounds. DuckDB never rounds here. An overflow is an error there, which the caller treats as "not known".
"""

from __future__ import annotations

import re
from dataclasses import replace

from headwater.graph.associations import Expression

_DECIMAL = re.compile(r"DECIMAL\((\d+),(-?\d+)\)")
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19}
_MOST = 38
_OF_64_BITS = 18


def summed(expression: Expression) -> Expression:
    """Return `sum(x)` for Spark's `makedecimal(sum(unscaledvalue(x)))`, which sums short decimals. Other expressions are unchanged."""
    inner = expression.args[0] if expression.fn == "makedecimal" and expression.args else expression
    if inner is expression or inner.fn != "sum" or len(inner.args) != 1 or inner.args[0].fn != "unscaledvalue":
        return expression
    return replace(inner, args=inner.args[0].args, type=expression.type)


def shape_of(kind: str | None) -> tuple[int, int] | None:
    """Return whole digits and scale of a DuckDB DECIMAL. None for any other type, or a scale below zero."""
    match = _DECIMAL.fullmatch(kind or "")
    if match is None or int(match[2]) < 0:
        return None
    return int(match[1]) - int(match[2]), int(match[2])


def widens(given: str | None, wanted: str | None) -> bool:
    """Return whether every value of the type `given` (decimal or whole number) is also a value of the decimal type `wanted`."""
    kept = (_DIGITS[given], 0) if given in _DIGITS else shape_of(given)
    asked = shape_of(wanted)
    return kept is not None and asked is not None and kept[0] <= asked[0] and kept[1] <= asked[1]


def computed(fn: str, parts: list[str], kinds: list[str | None], result: str | None) -> str | None:
    """Return SQL for the sum, difference or product of two decimals, in the type that Spark gives it. None if that type rounds."""
    left, right, made = (shape_of(kind) for kind in (*kinds, result))
    if left is None or right is None or made is None:
        return None
    scale = left[1] + right[1] if fn == "*" else max(left[1], right[1])
    if made[1] != scale or scale > _MOST:
        return None
    # DuckDB computes in 64 bits if both operands fit, and overflows. An operand with more digits makes it use 128 bits.
    wide = (
        f"CAST({parts[0]} AS DECIMAL({max(left[0] + left[1], _OF_64_BITS + 1)},{left[1]}))"
        if fn == "*"
        else f"CAST({parts[0]} AS {result})"
    )
    return f"CAST(({wide} {fn} {parts[1]}) AS {result})"
