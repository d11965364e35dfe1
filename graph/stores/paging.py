"""Pages of nodes in the order of (folded name, id), and the cursor that says where the next one begins."""

from __future__ import annotations

import base64
import binascii
import json

from headwater.errors import InvalidQueryError

# Longer names are searched and ordered by their beginning: with the id they stand in one index key, which Neo4j bounds at 8 kB.
_SEARCHED = 500


def fold(name: str) -> str:
    """The form in which names are searched and ordered. Both stores keep it, so that both order alike.

    Without NUL, behind which SQLite's index of letters does not look.
    """
    return name.casefold()[:_SEARCHED].encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def encode_cursor(folded: str, identifier: str) -> str:
    """A cursor that stands behind the given node."""
    return base64.urlsafe_b64encode(json.dumps([folded, identifier]).encode()).decode()


def decode_cursor(cursor: str | None) -> tuple[str, str]:
    """Folded name and id after which a page begins; two empty texts for the first page.

    Raises:
        InvalidQueryError: the cursor is not one that a page carried.
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
    """The least id that begins with a prefix, and the least one that follows all of these. Ids are ASCII, so that every store orders alike.

    Raises:
        InvalidQueryError: the prefix does not end with a colon.
    """
    if not prefix.endswith(":"):
        raise InvalidQueryError(f"{prefix[:80]!r} does not end with a colon.", field="prefix", hint="A prefix reads kind:part:…: .")
    return prefix, prefix[:-1] + chr(ord(":") + 1)


def until_bound(until: str | None) -> str:
    """What the times of edges (`{time} {run}`) are below that were stated at an instant or before."""
    return "~" if until is None else f"{until}!"
