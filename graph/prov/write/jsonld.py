"""PROV-JSONLD (W3C Member Submission, 2024), as a stream: one object a statement, in the canonical compacted form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring_ascii as quoted

from headwater.errors import UnsupportedError
from headwater.graph.prov.model import PROV, SHAPES, Closed, Item, Kind, Name, Opened, Statement, Value
from headwater.graph.prov.write.names import Names
from headwater.graph.prov.write.values import lexical

CONTEXT = "https://openprovenance.org/prov-jsonld/context.jsonld"

_TYPES = {
    Kind.ENTITY: "Entity", Kind.ACTIVITY: "Activity", Kind.AGENT: "Agent", Kind.GENERATION: "Generation", Kind.USAGE: "Usage",
    Kind.COMMUNICATION: "Communication", Kind.START: "Start", Kind.END: "End", Kind.INVALIDATION: "Invalidation",
    Kind.DERIVATION: "Derivation", Kind.ATTRIBUTION: "Attribution", Kind.ASSOCIATION: "Association", Kind.DELEGATION: "Delegation",
    Kind.INFLUENCE: "Influence", Kind.SPECIALIZATION: "Specialization", Kind.ALTERNATE: "Alternate", Kind.MEMBERSHIP: "Membership",
}  # fmt: skip
# The context has a term of its own for each of these; those of the first three are names.
_TERMS = {f"{PROV}{name}": name for name in ("type", "role", "location", "label", "value")}
_NAMING = {"type", "role", "location"}


def write_jsonld(items: Iterable[Item], namespaces: Mapping[str, str]) -> Iterator[str]:
    """Yield the document in pieces.

    Raises:
        UnsupportedError: the document has a mention, for which the submission has no term.
    """
    names = Names(namespaces)
    prefixes = json.dumps({name: base for name, base in namespaces.items() if name not in {"prov", "xsd"}})
    yield f'{{"@context":[{prefixes},"{CONTEXT}"],"@graph":['
    separator = "\n"
    for item in items:
        if isinstance(item, Statement):
            yield separator + _statement(item, names)
            separator = ",\n"
        elif isinstance(item, Opened):
            yield f'{separator}{{"@type":"Bundle","@id":{names.in_json(item.id)},"@context":[{prefixes}],"@graph":['
            separator = "\n"
        elif isinstance(item, Closed):
            yield "]}"
            separator = ",\n"
    yield "]}\n"


def _statement(statement: Statement, names: Names) -> str:
    kind, identifier, args, attributes, _ = statement
    if kind not in _TYPES:
        raise UnsupportedError("PROV-JSONLD has no term for mentionOf.", hint="Take another format.")
    shape = SHAPES[kind]
    members = [f'"@type":"{_TYPES[kind]}"']
    if identifier is not None:
        members.append(f'"@id":{names.in_json(identifier)}')
    members += [
        f'"{name}":' + (f'"{value}"' if place in shape.times else names.in_json(value))
        for place, (name, value) in enumerate(zip(shape.arguments, args, strict=False))
        if value is not None
    ]
    values: dict[str, list[str]] = {}
    for name, value in attributes:
        found = _TERMS.get(name) or names.compact(name)
        values.setdefault(found, []).append(_value(found, value, names))
    members += [f"{quoted(name)}:[{','.join(given)}]" for name, given in values.items()]
    return f"{{{','.join(members)}}}"


def _value(term: str, value: Value, names: Names) -> str:
    if isinstance(value, Name):
        compact = names.in_json(value)
        return compact if term in _NAMING else f'{{"@value":{compact},"@type":"xsd:QName"}}'
    text, datatype, language = lexical(value)
    if language:
        return f'{{"@value":{quoted(text)},"@language":{quoted(language)}}}'
    return f'{{"@value":{quoted(text)},"@type":{names.in_json(datatype)}}}' if datatype else f'{{"@value":{quoted(text)}}}'
