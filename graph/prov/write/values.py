"""Values of attributes as a lexical form and a datatype: what PROV-N, PROV-XML, RDF and JSON-LD have in common."""

from __future__ import annotations

from math import isfinite

from headwater.graph.prov.model import XSD, Literal, Value

_LONG = 2**63


def lexical(value: Value) -> tuple[str, str | None, str | None]:
    """Return the text, the datatype (an IRI, or None for a plain text) and the language of a value that is no name."""
    if isinstance(value, str):
        return value, None, None
    if isinstance(value, Literal):
        return value.text, value.datatype, value.language
    if isinstance(value, bool):
        return ("true" if value else "false"), f"{XSD}boolean", None
    if isinstance(value, int):
        return str(value), f"{XSD}{'int' if -(2**31) <= value < 2**31 else 'long' if -_LONG <= value < _LONG else 'integer'}", None
    if isfinite(value):
        return repr(value), f"{XSD}double", None
    return ("NaN" if value != value else "INF" if value > 0 else "-INF"), f"{XSD}double", None  # noqa: PLR0124 - NaN
