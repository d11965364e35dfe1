"""The limits of one request, so that no accidental or malicious query can block the service.

The document is checked before it is validated (`document`). The loaded nodes are counted while the query runs, because the cost of a
nested list is known only then. A request beyond a limit is refused with the name of the limit, never cut silently.
"""

from __future__ import annotations

from headwater.errors import InvalidQueryError

MAX_DEPTH = 12
MAX_ALIASES = 100
MAX_TOKENS = 4_000
MAX_DOCUMENT = 64_000  # limit of characters
MAX_NESTING = 100  # brackets within brackets, and fragments within fragments
MAX_FIELDS = 800  # with fragments expanded
MAX_ARGUMENTS = 200  # fields that have arguments
MAX_COSTLY = 10  # fields that walk the graph or read files
MAX_NODES = 50_000
MAX_PAGE = 1_000
MAX_RECORDS = 20_000
MAX_ROWS = 10_000  # limit of records that a request names
MAX_HOPS = 100


class Budget:
    """Counts the nodes that one request loads."""

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self._limit = nodes
        self._spent = 0

    def spend(self, nodes: int) -> None:
        """Count more loaded nodes.

        Raises:
            InvalidQueryError: the request has loaded more than its budget.
        """
        self._spent += nodes
        if self._spent > self._limit:
            raise InvalidQueryError(
                f"This query loads more than {self._limit:,} nodes.", hint="Ask for smaller pages (first, limit) or fewer nested lists."
            )


def bounded(value: int, field: str, *, low: int, high: int) -> int:
    """Check that the value of the argument `field` is within its limits, and return it.

    Raises:
        InvalidQueryError: the value is outside of the limits, which the message states.
    """
    if low <= value <= high:
        return value
    raise InvalidQueryError(f"{field} is {value:,}.", field=field, hint=f"It may be from {low:,} to {high:,}.")
