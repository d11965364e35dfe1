"""Node ids: stable, readable, and reversible.

An id is `kind:part:part…`, each part percent-encoded, since namespaces and names contain colons (design: vocabulary). The tenant
is never part of an id.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from headwater.errors import InvalidQueryError

_SAFE = "/._-~=+,@"


def node_id(kind: str, *parts: str) -> str:
    """`node_id("dataset", "file", "/data/x")` is `dataset:file:/data/x`."""
    return ":".join([kind, *(quote(part, safe=_SAFE) for part in parts)])


def parse_id(identifier: str) -> tuple[str, tuple[str, ...]]:
    """Kind and parts of an id; the inverse of `node_id`.

    Raises:
        InvalidQueryError: the text is no id.
    """
    kind, *parts = identifier.split(":")
    if not kind or not parts:
        raise InvalidQueryError(f"{identifier!r} is not a node id.", hint="An id reads kind:part[:part…], as dataset:file:/data/x.")
    return kind, tuple(unquote(part) for part in parts)
