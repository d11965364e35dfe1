"""One form of a document, whatever notation and order it came in: PROV-JSON, each element and named relation once, without secrets.

For the log, which keeps what was imported. Only values of attributes are changed (`clean`): names are identities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headwater.graph.prov.model import Closed, Document, Item, Kind, Literal, Name, Opened, Statement, Value
from headwater.graph.prov.terms import NAMESPACES
from headwater.graph.prov.write.json import write_json


def canonical_json(document: Document, clean: Callable[[str, Any], Any] = lambda _, value: value) -> str:
    """Return the document. `clean` returns a value for the name and the value of an attribute. The document must be valid."""

    def items() -> Iterator[Item]:
        for bundle, statements in document.instances():
            if bundle is not None:
                yield Opened(bundle)
            for statement in sorted(_merged(statements), key=_order):
                attributes = sorted(statement.attributes, key=_attribute_order)
                yield statement._replace(attributes=tuple((name, _cleaned(name, value, clean)) for name, value in attributes))
            if bundle is not None:
                yield Closed(bundle)

    return "".join(write_json(items(), _namespaces(document), prefix_in_bundles=False))


def _order(statement: Statement) -> tuple[str, str, list[str], list[tuple[str, str]]]:
    args = [arg or "" for arg in statement.args]
    return statement.kind.value, statement.id or "", args, sorted(map(_attribute_order, statement.attributes))


def _attribute_order(attribute: tuple[str, Value]) -> tuple[str, str]:
    return attribute[0], repr(attribute[1])


def _merged(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Merge statements with the same identifier. In a valid document they never contradict each other."""
    named: dict[tuple[Kind, str], list[Statement]] = {}
    for statement in statements:
        if statement.id is not None:
            named.setdefault((statement.kind, statement.id), []).append(statement)
    yield from (same[0] if len(same) == 1 else _merge(same) for same in named.values())
    yield from (statement for statement in statements if statement.id is None)


def _merge(same: Sequence[Statement]) -> Statement:
    """Return one statement for all statements with its identifier. For each argument the first value counts, as all are equal."""
    args = (next((arg for arg in place if arg is not None), None) for place in zip(*(statement.args for statement in same), strict=True))
    attributes = dict.fromkeys(attribute for statement in same for attribute in statement.attributes)
    return same[0]._replace(args=tuple(args), attributes=tuple(attributes))


def _cleaned(name: str, value: Value, clean: Callable[[str, Any], Any]) -> Value:
    if isinstance(value, Literal):
        return value._replace(text=clean(name, value.text))
    cleaned: Value = value if isinstance(value, Name) else clean(name, value)
    return cleaned


def _namespaces(document: Document) -> dict[str, str]:
    """Return all namespaces with their prefixes, the longest first, so that the closest one is used."""
    found = {base: prefix for prefix, base in NAMESPACES.items()}
    taken = set(NAMESPACES)
    for prefix, base in document.namespaces.items():
        if base not in found:
            name = prefix if prefix and prefix != "default" else "ns"
            while name in taken:
                name += "_"
            taken.add(name)
            found[base] = name
    return {found[base]: base for base in sorted(found, key=len, reverse=True)}
