"""Facets as properties, and safe access to documents of producers that may break the specification.

A facet is kept whole under its own name. If that is one of our names, or could be mistaken for one, it becomes `facet:{name}`. A facet with
`_deleted` retracts earlier statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.errors import InvalidEventError

# Properties that the projection makes. Those with a colon (`input:{dataset}`, `by:{job}`) need no place here.
_OWN = frozenset({
    "state", "startedAt", "endedAt", "updatedAt", "error", "producer", "parentRun", "rootRun", "lastRun", "lastComplete", "bareEnd",
    "capture", "leftOut", "ordinal", "type",
    "description", "block", "writtenAt", "files", "bytes", "rows", "path", "format", "length", "modified", "op", "text", "children",
    "transformations",
})  # fmt: skip


def block_mode(stated: Any, inferred: str | None) -> str | None:
    """The effect of a write on its dataset: what a workflow stated, else what follows from the write."""
    return stated if stated in ("base", "delta") else inferred


def facet_properties(facets: Any) -> dict[str, Any]:
    """The facets of a map as properties."""
    properties: dict[str, Any] = {}
    for name, facet in mapping(facets).items():
        key = f"facet:{name}" if not name or name in _OWN or ":" in name else name
        properties[key] = None if mapping(facet).get("_deleted") is True else facet
    return properties


def facets_of(properties: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The facets among the properties of a node, under their own names: the inverse of `facet_properties`."""
    facets: dict[str, Mapping[str, Any]] = {}
    for key, value in properties.items():
        name = key.removeprefix("facet:")
        if isinstance(value, Mapping) and (name != key or (key not in _OWN and ":" not in key)):
            facets[name] = value
    return facets


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object; else an empty one."""
    # JSON has only one kind of object, and a test for the abstract type costs ten times as much. Most requested members are absent.
    if type(value) is dict:
        return value
    return value if value is not None and isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a value that should be a list of objects."""
    if value is None or (type(value) is not list and (not isinstance(value, Sequence) or isinstance(value, str))):
        return []
    return [item for item in value if type(item) is dict or isinstance(item, Mapping)]


def text(value: Any) -> str | None:
    """The value if it is a text that is not empty; else None."""
    return value if isinstance(value, str) and value else None


def required(holder: Any, name: str, path: str) -> str:
    """The text `holder[name]`.

    Raises:
        InvalidEventError: it is missing or no text; the error names `path` and `name`.
    """
    value = mapping(holder).get(name)
    if not isinstance(value, str) or not value:
        raise InvalidEventError(f"{path}.{name} is {value!r}.", field=f"{path}.{name}", hint="It must be a text that is not empty.")
    return value


def given(**properties: Any) -> dict[str, Any]:
    """The properties that exist (None would retract)."""
    return {name: value for name, value in properties.items() if value is not None}
