"""Durations in the notation of people: 90s, 15m, 12h, 7d."""

from __future__ import annotations

import re
from typing import Any

from headwater.errors import InvalidInputError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 3660 * 86400.0


def parse_duration(stated: Any, field: str) -> float:
    """Parse a duration as seconds. `stated` is a text such as `15m`, or a number of seconds.

    Raises:
        InvalidInputError: the duration is invalid, not positive, or longer than ten years.
    """
    seconds = 0.0
    if isinstance(stated, str) and (parts := re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([smhd])", stated.strip())):
        seconds = float(parts[1]) * _UNITS[parts[2]]
    elif isinstance(stated, int | float) and not isinstance(stated, bool):
        seconds = float(stated)
    if not 0 < seconds <= _LONGEST:
        raise InvalidInputError(f"{stated!r} is not a length of time.", field=field, hint="Write it as 90s, 15m, 12h or 7d.")
    return seconds
