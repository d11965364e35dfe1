"""Retention terms as texts."""

from __future__ import annotations

import re
from datetime import timedelta

_ISO = re.compile(r"P(?:([0-9]{1,4})Y)?(?:([0-9]{1,5})M)?(?:([0-9]{1,5})W)?(?:([0-9]{1,6})D)?", re.IGNORECASE)
_SHORT = re.compile(r"([0-9]{1,6})\s*(h|d|w|m|y)", re.IGNORECASE)
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_MOST = timedelta(days=1_000 * 365)


def read_period(text: str) -> timedelta | None:
    """Return a term of ISO 8601 (`P7Y`, `P30D`) or in short (`30d`, `12h`). None: the text is no term of more than nothing.

    A year counts as 365 days and a month as 30, so that a term never depends on the date.

    >>> read_period("P1Y6M"), read_period("30d"), read_period("soon")
    (datetime.timedelta(days=545), datetime.timedelta(days=30), None)
    """
    stated = text.strip()
    if (short := _SHORT.fullmatch(stated)) is not None:
        number, unit = int(short[1]), short[2].lower()
        found = timedelta(hours=number) if unit == "h" else timedelta(days=number * _DAYS[unit])
    elif (iso := _ISO.fullmatch(stated)) is not None:
        years, months, weeks, days = (int(part or 0) for part in iso.groups())
        found = timedelta(days=365 * years + 30 * months + 7 * weeks + days)
    else:
        return None
    return found if timedelta(0) < found <= _MOST else None
