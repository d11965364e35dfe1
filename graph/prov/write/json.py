"""PROV-JSON (W3C Member Submission, 24 April 2013), as a stream.

The notation gathers statements by kind, so each kind of a bundle is kept apart in a spool until the bundle ends. An element must be stated
once in a bundle: its identifier is a key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite

from headwater.graph.prov.model import SHAPES, XSD, Item, Kind, Literal, Name, Opened, Statement, Value
from headwater.graph.prov.write.names import Names
from headwater.graph.prov.write.spool import Spool

_ARGUMENTS = {
    kind: tuple((f'"prov:{name}":', place in shape.times) for place, name in enumerate(shape.arguments)) for kind, shape in SHAPES.items()
}


def write_json(items: Iterable[Item], namespaces: Mapping[str, str], *, prefix_in_bundles: bool = True) -> Iterator[str]:
    """Yield the document in pieces.

    Some readers need the prefixes in each bundle again. Without them, a document with many bundles and many prefixes stays small.
    """
    names = Names(namespaces)
    prefix = json.dumps({name: base for name, base in namespaces.items() if name not in {"prov", "xsd"}})
    yield f'{{"prefix":{prefix}'
    own_prefix = f'"prefix":{prefix}' if prefix_in_bundles else ""
    document = _Block(names)
    bundle: _Block | None = None
    bundles = 0
    for item in items:
        if isinstance(item, Statement):
            (document if bundle is None else bundle).add(item)
        elif isinstance(item, Opened):
            bundle = _Block(names, is_first=not own_prefix)
            yield "," if bundles else ',"bundle":{'
            yield f"\n{names.in_json(item.id)}:{{{own_prefix}"
            bundles += 1
        elif bundle is not None:
            yield from bundle.drain()
            yield "}"
            bundle = None
    if bundles:
        yield "}"
    yield from document.drain()
    yield "}\n"


class _Block:
    """The statements of a bundle, or of the top level."""

    def __init__(self, names: Names, *, is_first: bool = False) -> None:
        self._names = names
        self._is_first = is_first  # nothing stands before it in its object
        self._kinds: dict[Kind, Spool] = {}
        self._unnamed = 0

    def add(self, statement: Statement) -> None:
        kind = statement.kind
        spool = self._kinds.get(kind)
        if spool is None:
            spool = self._kinds[kind] = Spool()
        in_json = self._names.in_json
        if statement.id is None:
            self._unnamed += 1
            key = f'"_:s{self._unnamed}"'
        else:
            key = in_json(statement.id)
        members = [
            name + (f'"{value}"' if is_time else in_json(value))
            for (name, is_time), value in zip(_ARGUMENTS[kind], statement.args, strict=False)
            if value is not None
        ]
        if statement.attributes:
            members += self._attributes(statement)
        spool.add(f"{',' if spool.count else ''}\n{key}:{{{','.join(members)}}}")

    def drain(self) -> Iterator[str]:
        for kind, spool in self._kinds.items():
            yield f'{"" if self._is_first else ","}\n"{kind}":{{'
            self._is_first = False
            yield from spool.drain()
            yield "}"

    def _attributes(self, statement: Statement) -> list[str]:
        values: dict[str, list[str]] = {}
        for name, value in statement.attributes:
            values.setdefault(name, []).append(self._value(value))
        return [
            f"{self._names.in_json(name)}:{given[0] if len(given) == 1 else '[' + ','.join(given) + ']'}" for name, given in values.items()
        ]

    def _value(self, value: Value) -> str:
        if isinstance(value, Name):
            return f'{{"$":{self._names.in_json(value)},"type":"prov:QUALIFIED_NAME"}}'
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, Literal):
            if value.language:
                return f'{{"$":{quoted(value.text)},"lang":{quoted(value.language)}}}'
            return f'{{"$":{quoted(value.text)},"type":{self._names.in_json(value.datatype or XSD + "string")}}}'
        if isinstance(value, float) and not isfinite(value):
            return f'{{"$":"{"NaN" if value != value else "INF" if value > 0 else "-INF"}","type":"xsd:double"}}'  # noqa: PLR0124 - NaN
        return json.dumps(value)
