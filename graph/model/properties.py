"""Properties in the form of a store: JSON text, parsed on first use.

A walk returns thousands of nodes, and a reader opens few of them. Parsing the JSON of all nodes would cost more than the walk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


class StoredProperties(Mapping[str, Any]):
    """A mapping over the text of a JSON object. Equal to any mapping with the same items."""

    __slots__ = ("_read", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._read: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        return self._text

    def _values(self) -> dict[str, Any]:
        if self._read is None:
            self._read = json.loads(self._text)
        return self._read

    def __getitem__(self, name: str) -> Any:
        return self._values()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __repr__(self) -> str:
        return repr(self._values())


NOTHING = StoredProperties("{}")  # shared, because most elements of an answer have no properties


def stored(text: str | None) -> Mapping[str, Any]:
    """Return the properties in a stored text. None and an empty object give no properties."""
    return StoredProperties(text) if text and text != "{}" else NOTHING
