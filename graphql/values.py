"""Converts values of records to JSON that every client reads in the same way.

JavaScript rounds integers beyond 2^53. JSON has no NaN, infinity, decimal, time or bytes. These values become text, so that the shown
value equals the stored one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

_EXACT = 2**53


def to_json(value: Any) -> Any:
    """Convert a value to JSON, including nested lists, rows and maps."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value)
