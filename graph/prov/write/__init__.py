"""Statements to text, in every notation of PROV: as a stream, so that a document may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from headwater.graph.prov.model import Item
from headwater.graph.prov.terms import NAMESPACES
from headwater.graph.prov.write.json import write_json
from headwater.graph.prov.write.jsonld import write_jsonld
from headwater.graph.prov.write.provn import write_provn
from headwater.graph.prov.write.rdf import write_trig, write_turtle
from headwater.graph.prov.write.xml import write_xml

_CHUNK = 64 * 1024


class ProvFormat(StrEnum):
    JSON = "json"
    N = "n"
    XML = "xml"
    TURTLE = "turtle"
    TRIG = "trig"
    JSONLD = "jsonld"


class _Notation(NamedTuple):
    write: Callable[[Iterable[Item], Mapping[str, str]], Iterator[str]]
    media_type: str
    suffix: str


NOTATIONS: Mapping[ProvFormat, _Notation] = {
    ProvFormat.JSON: _Notation(write_json, "application/json", ".json"),
    ProvFormat.N: _Notation(write_provn, "text/provenance-notation", ".provn"),
    ProvFormat.XML: _Notation(write_xml, "application/provenance+xml", ".provx"),
    ProvFormat.TURTLE: _Notation(write_turtle, "text/turtle", ".ttl"),
    ProvFormat.TRIG: _Notation(write_trig, "application/trig", ".trig"),
    ProvFormat.JSONLD: _Notation(write_jsonld, "application/ld+json", ".jsonld"),
}


def write(items: Iterable[Item], notation: ProvFormat, namespaces: Mapping[str, str] = NAMESPACES) -> Iterator[bytes]:
    """Yield the document in UTF-8, in chunks of about 64 kB."""
    waiting: list[str] = []
    size = 0
    for piece in NOTATIONS[notation].write(items, namespaces):
        waiting.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting).encode()
