"""Parses the headers of a request once.

Code in front of the application looks up a dozen headers in each request. Starlette searches a list for each, which
takes longer than the check of an event.
"""

from __future__ import annotations

from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.types import Scope

T = TypeVar("T")


class Head(Headers):
    """Headers like Starlette's: case-insensitive names, and the first of several values."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        self._first: dict[str, str] = {}
        for name, value in self._list:
            self._first.setdefault(name.decode("latin-1"), value.decode("latin-1"))

    def __getitem__(self, key: str) -> str:
        return self._first[key.lower()]

    def __contains__(self, key: Any) -> bool:
        return key.lower() in self._first

    def get(self, key: str, default: T = None) -> str | T:  # type: ignore[assignment]  # like a mapping's
        return self._first.get(key.lower(), default)


def head_of(scope: Scope) -> Head:
    state = scope.setdefault("state", {})
    head: Head | None = state.get("head")
    if head is None:
        head = state["head"] = Head(scope)
    return head
