"""Facets as properties, and safe access to producers' documents, which may violate the specification.

A facet is stored whole under its own name. If this is a name of Headwater's, or could be mistaken for one, it becomes `facet:{name}`. A
facet with `_deleted` retracts earlier statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.errors import InvalidEventError

# Properties that the projection makes. Names with a colon (`input:{dataset}`, `by:{job}`) are not listed.
_OWN = frozenset({
    "state", "startedAt", "endedAt", "updatedAt", "error", "producer", "parentRun", "rootRun", "lastRun", "lastComplete", "bareEnd",
    "capture", "leftOut", "ordinal", "type",
    "description", "block", "writtenAt", "files", "bytes", "rows", "path", "format", "length", "modified", "op", "text", "children",
    "transformations", "merges", "replaces", "undoneAt",
})  # fmt: skip


def block_mode(stated: Any, inferred: str | None) -> str | None:
    """Return the effect of a write on its dataset: the mode that a workflow stated, or else the mode inferred from the write."""
    return stated if stated in ("base", "delta") else inferred


def facet_properties(facets: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, facet in mapping(facets).items():
        key = f"facet:{name}" if not name or name in _OWN or ":" in name else name
        properties[key] = None if mapping(facet).get("_deleted") is True else facet
    return properties


def facets_of(properties: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the facets among the properties of a node, under their own names. This is the inverse of `facet_properties`."""
    facets: dict[str, Mapping[str, Any]] = {}
    for key, value in properties.items():
        name = key.removeprefix("facet:")
        if isinstance(value, Mapping) and (name != key or (key not in _OWN and ":" not in key)):
            facets[name] = value
    return facets


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, or else an empty object."""
    # The test for `dict` comes first, because a test for the abstract type takes ten times as long.
    if type(value) is dict:
        return value
    return value if value is not None and isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a value that should be a list of objects. Other members are left out."""
    if value is None or (type(value) is not list and (not isinstance(value, Sequence) or isinstance(value, str))):
        return []
    return [item for item in value if type(item) is dict or isinstance(item, Mapping)]


def text(value: Any) -> str | None:
    """Return the value if it is a nonempty text, or else None."""
    return value if isinstance(value, str) and value else None


def required(holder: Any, name: str, path: str) -> str:
    """Return the text `holder[name]`.

    Raises:
        InvalidEventError: the text is missing, empty or not a text. The error names `path` and `name`.
    """
    value = mapping(holder).get(name)
    if not isinstance(value, str) or not value:
        raise InvalidEventError(f"{path}.{name} is {value!r}.", field=f"{path}.{name}", hint="It must be a text that is not empty.")
    return value


def given(**properties: Any) -> dict[str, Any]:
    """Return the properties that are not None, because None would retract earlier statements."""
    return {name: value for name, value in properties.items() if value is not None}
