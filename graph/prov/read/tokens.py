"""The tokens of PROV-N (W3C Recommendation, 30 April 2013, section 3.7 and appendix A)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from headwater.errors import InvalidProvenanceError

CLAUSE = "PROV-N"

# PN_LOCAL: letters, digits and PN_CHARS_OTHERS as they are, %hh, and a backslash before any of =':;,()[].-
_LOCAL = r"(?:[^\s\"<>{}|^`\\=':;,()\[\]%]|%[0-9A-Fa-f]{2}|\\[=':;,()\[\].\-])"
_PREFIX = r"[^\W\d_][\w.\-]*"
_TOKEN = re.compile(
    rf"""(?P<blank>\s+|//[^\r\n]*)
    |(?P<time>\d{{4,}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)
    |(?P<iri><[^<>"{{}}|^`\\\s]*>)
    |(?P<long>\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\")
    |(?P<text>"(?:[^"\\\r\n]|\\.)*")
    |(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<quoted>'(?:{_PREFIX}:)?{_LOCAL}*')
    |(?P<name>{_PREFIX}:{_LOCAL}*|{_LOCAL}+)
    |(?P<mark>%%|[-,;()\[\]=])""",
    re.VERBOSE | re.DOTALL,
)
_INTEGER = re.compile(r"-?\d+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANING = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


class Token(NamedTuple):
    """A token of PROV-N. `kind` is name, quoted, text, integer, time, iri, language, mark or end."""

    kind: str
    text: str
    line: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, and `end` at last.

    Raises:
        InvalidProvenanceError: no token begins with a character of the text.
    """
    at, line = 0, 1
    while at < len(text):
        if text.startswith("/*", at):
            end = text.find("*/", at + 2) + 2
            if end < 2:
                raise InvalidProvenanceError("a comment does not end.", line=line, clause=CLAUSE, hint="End it with */.")
            line += text.count("\n", at, end)
            at = end
            continue
        found = _TOKEN.match(text, at)
        if found is None:
            raise InvalidProvenanceError(
                f"{text[at : at + 20].splitlines()[0]!r} begins nothing of PROV-N.", line=line, clause=CLAUSE,
                hint="In the local part of a name, write = ' : ; , ( ) [ ] after a backslash.",
            )  # fmt: skip
        kind, read = str(found.lastgroup), found[0]
        if kind == "name" and _INTEGER.fullmatch(read):
            kind = "integer"
        elif kind == "name" and read == "-":
            kind = "mark"
        if kind != "blank":
            yield Token("text" if kind == "long" else kind, _content(kind, read), line)
        line += read.count("\n")
        at = found.end()
    yield Token("end", "the end", line)


def _content(kind: str, read: str) -> str:
    if kind == "text":
        return _unescaped(read[1:-1])
    if kind == "long":
        return _unescaped(read[3:-3])
    if kind in ("iri", "quoted"):
        return _ESCAPE.sub(r"\1", read[1:-1])
    if kind == "language":
        return read[1:]
    return _ESCAPE.sub(r"\1", read) if kind == "name" else read


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _MEANING.get(found[1], found[1]), text)
