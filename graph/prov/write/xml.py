"""PROV-XML (W3C Note, 30 April 2013), as a stream. Bundles come last in its schema, so they wait in a spool.

Names are written as `prefix:local`, as the other tools do that read PROV-XML. The schema's xsd:QName is narrower than a node id (which
holds colons and slashes): a reader that validates names against the schema will refuse them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from headwater.graph.prov.model import PROV, SHAPES, Item, Name, Statement, Value
from headwater.graph.prov.write.names import Names
from headwater.graph.prov.write.spool import bundles_last
from headwater.graph.prov.write.values import lexical

# The schema has these first, and in this order; those of other namespaces follow.
_ORDER = {f"{PROV}{name}": place for place, name in enumerate(("label", "location", "role", "type", "value"))}
# XML 1.0 has no place for most control characters; U+FFFD stands for them.
_UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_xml(items: Iterable[Item], namespaces: Mapping[str, str]) -> Iterator[str]:
    names = Names(namespaces)
    declared = "".join(f" xmlns:{prefix}={quoteattr(base)}" for prefix, base in namespaces.items() if prefix)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<prov:document{declared} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
    yield from bundles_last(
        items,
        write=lambda statement: _statement(statement, names),
        opened=lambda bundle: f"<prov:bundleContent prov:id={quoteattr(names.compact(bundle))}>\n",
        closed="</prov:bundleContent>\n",
    )
    yield "</prov:document>\n"


def _statement(statement: Statement, names: Names) -> str:
    kind, identifier, args, attributes, _ = statement
    shape = SHAPES[kind]
    parts = [
        f"<prov:{name}>{value}</prov:{name}>" if place in shape.times else f"<prov:{name} prov:ref={quoteattr(names.compact(value))}/>"
        for place, (name, value) in enumerate(zip(shape.arguments, args, strict=False))
        if value is not None
    ]
    ordered = sorted(attributes, key=lambda attribute: _ORDER.get(attribute[0], len(_ORDER)))
    parts += [_attribute(names.compact(name), value, names) for name, value in ordered]
    named = "" if identifier is None else f" prov:id={quoteattr(names.compact(identifier))}"
    return f"<prov:{kind}{named}>{''.join(parts)}</prov:{kind}>\n"


def _attribute(name: str, value: Value, names: Names) -> str:
    if isinstance(value, Name):
        return f'<{name} xsi:type="xsd:QName">{escape(names.compact(value))}</{name}>'
    text, datatype, language = lexical(value)
    typed = f' xml:lang="{language}"' if language else f" xsi:type={quoteattr(names.compact(datatype))}" if datatype else ""
    fit = _UNFIT.sub("\ufffd", text)
    return f"<{name}{typed}>{escape(fit)}</{name}>"
