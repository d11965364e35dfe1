"""The headers of a request, read once.

For what stands in front of the application and looks for a dozen of them in each request: to go through the list each time, and to raise an
error for each that is not there, takes longer than to check an event.
"""

from __future__ import annotations

from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.types import Scope

T = TypeVar("T")


class Head(Headers):
    """As Starlette's headers: names in any case, and of several values the first."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        self._first: dict[str, str] = {}
        for name, value in self._list:
            self._first.setdefault(name.decode("latin-1"), value.decode("latin-1"))

    def __getitem__(self, key: str) -> str:
        return self._first[key.lower()]

    def __contains__(self, key: Any) -> bool:
        return key.lower() in self._first

    def get(self, key: str, default: T = None) -> str | T:  # type: ignore[assignment]  # as a mapping's
        """The first value of a header; `default` where there is none."""
        return self._first.get(key.lower(), default)


def head_of(scope: Scope) -> Head:
    """The headers of a request."""
    state = scope.setdefault("state", {})
    head: Head | None = state.get("head")
    if head is None:
        head = state["head"] = Head(scope)
    return head
