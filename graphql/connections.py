"""Connections (Relay's Cursor Connections): pages of nodes with information about the next page."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

import strawberry

from headwater.errors import InvalidQueryError
from headwater.graph import model
from headwater.graphql.types import Node

_MARK = "place:"
_MOST_DIGITS = 15


@strawberry.type(description="A node, and the cursor after which the next one comes.")
class NodeEdge:
    node: Node
    cursor: str


@strawberry.type(description="Where a page ends. `endCursor` is `after` of the next one.")
class PageInfo:
    """Relay's information about a page. Pages can be read forward only."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@strawberry.type(description="A page of nodes. `totalCount` is null where entries are chosen by what the store has no index of.")
class NodeConnection:
    edges: list[NodeEdge]
    nodes: list[Node]
    page_info: PageInfo
    total_count: int | None

    @classmethod
    def of(cls, found: Sequence[tuple[int, model.Node]], *, begin: int, end: int, has_more: bool, total: int | None) -> NodeConnection:
        """Make a page of nodes with their positions. The entries from `begin` to before `end` were read."""
        edges = [NodeEdge(node=Node.of(node), cursor=_cursor(place + 1)) for place, node in found]
        info = PageInfo(
            has_next_page=has_more,
            has_previous_page=begin > 0,
            start_cursor=edges[0].cursor if edges else None,
            end_cursor=_cursor(end) if end > begin else None,
        )
        return cls(edges=edges, nodes=[edge.node for edge in edges], page_info=info, total_count=total)


def place_of(cursor: str | None) -> int:
    """Return the number of entries before the page that begins after a cursor.

    Raises:
        InvalidQueryError: the text is not a cursor.
    """
    if not cursor:
        return 0
    try:
        text = urlsafe_b64decode(cursor.encode("ascii")).decode("ascii")
    except ValueError:
        text = ""
    number = text.removeprefix(_MARK)
    if not text.startswith(_MARK) or not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise InvalidQueryError(f"{cursor[:80]!r} is no cursor.", field="after", hint="Send `endCursor` of the page before.")
    return int(number)


def _cursor(place: int) -> str:
    return urlsafe_b64encode(f"{_MARK}{place}".encode("ascii")).decode("ascii")
