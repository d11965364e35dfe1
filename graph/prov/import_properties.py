"""Attributes of PROV documents as properties of nodes: kept by an import, and said again by an export.

A node has them in its property `provenance`: the name (`iri`) of its element, and a list of values for each attribute. A value that JSON
lacks is an object: `{"name"}` of a name, `{"value", "type"}` or `{"value", "language"}` of a literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from headwater.graph.prov.model import Attributes, Literal, Name, Statement, Value
from headwater.graph.prov.terms import NAMESPACES, TERM, term

PROVENANCE = "provenance"
_IRI = "iri"
_LOCAL = re.compile(r"[A-Za-z_][\w.-]*$", re.ASCII)


def kept_attributes(element: Statement, iri: str | None) -> dict[str, Any]:
    """Return the property `provenance` of an element: its attributes outside our namespace.

    Without `iri`, the element keeps its own name.
    """
    found: dict[str, Any] = {}
    for name, value in element.attributes:
        if name == term(_IRI):
            iri = str(value)
        elif not name.startswith(TERM):
            found.setdefault(name, []).append(_kept(value))
    return ({_IRI: iri} if iri else {}) | found


def imported_attributes(provenance: Mapping[str, Any]) -> Attributes:
    """Return the attributes in a property `provenance`, with the name of the element as `hw:iri`."""
    found: list[tuple[str, Value]] = []
    if isinstance(iri := provenance.get(_IRI), str):
        found.append((term(_IRI), iri))
    for name, values in provenance.items():
        if name != _IRI and 0 < _cut(name) < len(name) and isinstance(values, list):
            found += [(name, value) for value in map(_value, values) if value is not None]
    return tuple(found)


def namespaces_of(imported: Iterable[Attributes]) -> dict[str, str]:
    """Return the namespaces that an export of these attributes needs, by prefix."""
    bases: dict[str, None] = {}
    for attributes in imported:
        for name, value in attributes:
            named = [name, *([str(value)] if isinstance(value, Name) else [value.datatype] if isinstance(value, Literal) else [])]
            bases.update((iri[: _cut(iri)], None) for iri in named if iri)
    others = [base for base in sorted(bases) if not base.startswith(tuple(NAMESPACES.values()))]
    return NAMESPACES | {f"ns{number}": base for number, base in enumerate(others, 1)}


def _cut(iri: str) -> int:
    """Where the local part of a name begins: the longest end that XML takes as a name too."""
    local = _LOCAL.search(iri)
    return local.start() if local else len(iri)


def _kept(value: Value) -> Any:
    if isinstance(value, Name):
        return {"name": str(value)}
    if isinstance(value, Literal):
        about = {"type": value.datatype, "language": value.language}
        return {"value": value.text} | {key: stated for key, stated in about.items() if stated is not None}
    return value


def _value(kept: Any) -> Value | None:
    if isinstance(kept, Mapping):
        if isinstance(name := kept.get("name"), str):
            return Name(name)
        if isinstance(text := kept.get("value"), str):
            return Literal(text, kept.get("type"), kept.get("language"))
        return None
    return kept if isinstance(kept, str | bool | int | float) else None
