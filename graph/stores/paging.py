"""Pages of nodes in the order of (folded name, id), and the cursor for the next page."""

from __future__ import annotations

import base64
import binascii
import json

from headwater.errors import InvalidQueryError

# Longer names are searched and ordered by their beginning: name and id share one index key, which Neo4j limits to 8 kB.
_SEARCHED = 500


def fold(name: str) -> str:
    """Return the form of a name for search and order. Both stores store this form, so they order alike.

    NUL is removed, because SQLite's trigram index stops there.
    """
    if name.isascii():
        return name[:_SEARCHED].lower().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return name.casefold()[:_SEARCHED].encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def encode_cursor(folded: str, identifier: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([folded, identifier]).encode()).decode()


def decode_cursor(cursor: str | None) -> tuple[str, str]:
    """Return the folded name and the id after which a page begins. Both are empty for the first page.

    Raises:
        InvalidQueryError: the cursor is invalid.
    """
    if cursor is None:
        return "", ""
    try:
        folded, identifier = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError, TypeError):
        folded = identifier = None
    if not isinstance(folded, str) or not isinstance(identifier, str):
        raise InvalidQueryError(f"{cursor[:80]!r} is not a cursor.", field="after", hint="Pass the cursor of the page before, or none.")
    return folded, identifier


def bounds_of(prefix: str) -> tuple[str, str]:
    """Return the range of ids with a prefix: the first id, and the first id after the range. Ids are ASCII, so every store orders alike.

    Raises:
        InvalidQueryError: the prefix does not end with a colon.
    """
    if not prefix.endswith(":"):
        raise InvalidQueryError(f"{prefix[:80]!r} does not end with a colon.", field="prefix", hint="A prefix reads kind:part:…: .")
    return prefix, prefix[:-1] + chr(ord(":") + 1)


def until_bound(until: str | None) -> str:
    """Return a text greater than the times of edges (`{time} {run}`) at or before an instant, and not greater than later times."""
    return "~" if until is None else f"{until}!"
