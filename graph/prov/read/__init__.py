"""Readers of PROV documents. Our readers of PROV-JSON and PROV-N know the line of each statement.

The `prov` package reads other notations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headwater.errors import InvalidProvenanceError, MissingExtraError
from headwater.graph.prov.model import Document
from headwater.graph.prov.read.json import read_json
from headwater.graph.prov.read.provn import read_provn
from headwater.graph.prov.write import ProvFormat

_PACKAGE: Mapping[ProvFormat, tuple[str, Mapping[str, str]]] = {
    ProvFormat.XML: ("xml", {}),
    ProvFormat.JSONLD: ("jsonld", {}),
    ProvFormat.TURTLE: ("rdf", {"rdf_format": "turtle"}),
    ProvFormat.TRIG: ("rdf", {"rdf_format": "trig"}),
}
_RDF = re.compile(r"\s*(?:@?(?:prefix|base)\b|GRAPH\b|[<#_\[{(]|[\w.-]*:)", re.IGNORECASE)
_DOCTYPE = re.compile(r"<!DOCTYPE\b", re.IGNORECASE)
_BLANK = re.compile(r"\s*(?://[^\n]*\n)?")
_PROVN = re.compile(r"document\b")


def read(data: bytes, notation: ProvFormat | None = None) -> Document:
    """Return the document. Without a format, recognise the notation. Only statements of PROV-JSON and PROV-N have lines.

    Raises:
        InvalidProvenanceError: the document is malformed.
        MissingExtraError: the `prov` package reads this format, and is not installed.
    """
    text = text_of(data)
    if not text.strip():
        raise InvalidProvenanceError("the document is empty.", line=1, clause="PROV-DM 5", hint="Send a document in a notation of PROV.")
    chosen = notation or looks_like(text)
    if chosen is ProvFormat.JSON:
        return read_json(text)
    return read_provn(text) if chosen is ProvFormat.N else read_json(as_json(text, chosen))


def text_of(data: bytes) -> str:
    """Decode the document.

    Raises:
        InvalidProvenanceError: the document is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidProvenanceError("this is not UTF-8.", line=line, clause="RFC 8259 8.1", hint="Save the file as UTF-8.") from error


def looks_like(text: str) -> ProvFormat:
    """Return the notation of a text by its first characters.

    Raises:
        InvalidProvenanceError: no notation begins like this.
    """
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return ProvFormat.JSONLD if '"@context"' in text[:4096] else ProvFormat.JSON
    if _PROVN.match(text, _after_comments(text)):
        return ProvFormat.N
    if text.lstrip().startswith(("<?xml", "<prov:", "<document")):
        return ProvFormat.XML
    if _RDF.match(text):
        return ProvFormat.TRIG  # Turtle is a part of TriG
    raise InvalidProvenanceError(
        f"this begins like no notation of PROV: {text.lstrip()[:30]!r}.",
        line=text[: len(text) - len(text.lstrip())].count("\n") + 1,
        clause="PROV-DM 5",
        hint="Known are PROV-JSON, PROV-N (begins with `document`), PROV-XML, PROV-O (Turtle, TriG) and PROV-JSONLD.",
    )


def _after_comments(text: str) -> int:
    """Return the place after blanks and comments of PROV-N. Each character is read once."""
    at = 0
    while True:
        before = at
        found = _BLANK.match(text, at)
        at = found.end() if found else at
        if text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                return len(text)
            at = end + 2
        if at == before:
            return at


def as_json(text: str, notation: ProvFormat) -> str:
    """Return a document as PROV-JSON. The `prov` package reads its notation.

    Raises:
        InvalidProvenanceError: the document is malformed. The error has no line, because the package does not report one.
        MissingExtraError: the package is not installed.
    """
    try:
        from prov.model import ProvDocument
    except ImportError:
        raise MissingExtraError(f"Reading PROV as {notation}", extra="prov") from None
    if notation is ProvFormat.XML and (declared := _DOCTYPE.search(text)):
        raise InvalidProvenanceError(
            "it declares a document type, whose entities may stand for anything.",
            line=text.count("\n", 0, declared.start()) + 1,
            clause="PROV-XML",
            hint="Remove <!DOCTYPE …>, and write out what its entities stand for.",
        )
    name, options = _PACKAGE[notation]
    try:
        return str(ProvDocument.deserialize(content=text, format=name, **options).serialize(format="json"))
    except ImportError:
        raise MissingExtraError(f"Reading PROV as {notation}", extra="prov") from None
    except Exception as error:  # whatever its parsers raise is about the document
        raise InvalidProvenanceError(
            f"this is not PROV as {notation}: {error}.",
            clause=f"PROV-{notation.upper()}",
            hint="PROV-JSON and PROV-N are refused with their line.",
        ) from error
