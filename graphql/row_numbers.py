"""Row numbers in the schema. Keys of tables and offsets of topics go up to 2^63, but GraphQL's own Int only to 2^31."""

from __future__ import annotations

from typing import Any, NewType

import strawberry

from headwater.errors import InvalidQueryError

RowNumber = NewType("RowNumber", int)
_EXACT = 1 << 53  # JavaScript rounds larger integers
_DIGITS = 19  # digits of 2^63


def _given(value: Any) -> int:
    """Parse a row number from a caller. Keys of tables may be negative.

    Raises:
        InvalidQueryError: the value is not a row number.
    """
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
        # An error of Headwater, because any other would look like a fault of the service.
        raise InvalidQueryError("The number of a record is a whole number below 2^63, or its digits.", field="row", hint='As 7 or "7".')
    return value


SCALAR = strawberry.scalar(
    name="RowNumber",
    description="The number of a record: 0-based in its file, or that of its key. Numbers beyond 2^53 are text.",
    serialize=lambda number: number if abs(number) <= _EXACT else str(number),
    parse_value=_given,
)
