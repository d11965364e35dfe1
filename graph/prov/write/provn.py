"""PROV-N (W3C Recommendation, 30 April 2013), as a stream. Bundles come last in its grammar (3.7.3), so they wait in a spool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from headwater.graph.prov.model import BARE, ELEMENTS, SHAPES, Item, Kind, Name, Statement, Value
from headwater.graph.prov.write.names import Names
from headwater.graph.prov.write.spool import bundles_last
from headwater.graph.prov.write.values import lexical

_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\b": r"\b", "\f": r"\f"}
_SPECIAL = re.compile(r'[\\"\n\r\t\b\f]')


def write_provn(items: Iterable[Item], namespaces: Mapping[str, str]) -> Iterator[str]:
    names = Names(namespaces)
    declared = "".join(f"  prefix {prefix} <{base}>\n" for prefix, base in namespaces.items() if prefix not in {"prov", "xsd"})
    yield f"document\n{declared}"
    yield from bundles_last(
        items,
        write=lambda statement: f"  {_statement(statement, names)}\n",
        opened=lambda bundle: f"bundle {names.in_provn(bundle)}\n{declared}",
        closed="endBundle\n",
    )
    yield "endDocument\n"


def _statement(statement: Statement, names: Names) -> str:
    kind, identifier, args, attributes, _ = statement
    times = SHAPES[kind].times
    given = [
        "-" if value is None else value if place in times else names.in_provn(value)
        for place, value in enumerate([*args, *[None] * (len(SHAPES[kind].arguments) - len(args))])
    ]
    if kind in ELEMENTS:
        given.insert(0, names.in_provn(identifier or ""))
        identifier = None
        if kind is Kind.ACTIVITY and given[1:] == ["-", "-"]:
            del given[1:]
    if attributes and kind not in BARE:
        given.append(f"[{', '.join(f'{names.in_provn(name)}={_value(value, names)}' for name, value in attributes)}]")
    named = "" if identifier is None or kind in BARE else f"{names.in_provn(identifier)}; "
    return f"{kind}({named}{', '.join(given)})"


def _value(value: Value, names: Names) -> str:
    if isinstance(value, Name):
        return f"'{names.in_provn(value)}'"
    text, datatype, language = lexical(value)
    quoted = f'"{_SPECIAL.sub(lambda found: _ESCAPES[found[0]], text)}"'
    if language:
        return f"{quoted}@{language}"
    return f"{quoted} %% {names.in_provn(datatype)}" if datatype else quoted
