"""Parses instants as people write them: a date, a time of day, with or without a zone.

A date means the whole day: its end in a question about a state, its beginning as a start. A time without a zone is in the reader's zone:
UTC over the network, the machine's zone on a command line.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo

from headwater.errors import InvalidQueryError
from headwater.graph.model.elements import Stamp


def instant_of(text: str, field: str, *, end: bool, zone: tzinfo | None = UTC) -> str:
    """Return an instant in UTC, in a form that sorts as text.

    `end` selects the last microsecond of a date, otherwise the first. If `zone` is None, the machine's zone is used.

    Raises:
        InvalidQueryError: the text is neither a date nor an instant, or is outside of the years 1 to 9999 in UTC.
    """
    try:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            at = datetime.fromisoformat(text)
        else:
            # An hour that a clock change repeats at midnight belongs to the day as a whole.
            at = datetime.combine(day, time.max.replace(fold=1) if end else time.min)
        if at.tzinfo is None and zone is not None:
            at = at.replace(tzinfo=zone)
        return Stamp.at(at.astimezone(UTC), "").time
    except (ValueError, OverflowError, OSError):
        raise InvalidQueryError(
            f"{text!r} is not an instant.", field=field, hint="Write a date (2026-01-31), or an instant (2026-01-31T23:59:59Z; ISO 8601)."
        ) from None


def shown_instant(text: str) -> str:
    """Return an instant for display. Zero fractions of a second are removed."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return f"{whole}Z" if not fraction.strip("0") else text
