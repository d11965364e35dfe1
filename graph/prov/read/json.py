"""PROV-JSON to statements, each with its line.

The outline of the document is read member by member, so that every statement's line is known and a repeated key is found. The decoder of
the standard library reads each statement.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from headwater.errors import InvalidProvenanceError
from headwater.graph.prov.model import BARE, ELEMENTS, SHAPES, Attributes, Document, Kind, Literal, Statement, Value
from headwater.graph.prov.read.scope import Scope, check_arguments, checked_time

_BLANK = re.compile(r"[ \t\r\n]*")
_KINDS = {kind.value: kind for kind in Kind}
_CLAUSE = "PROV-JSON 3"


def read_json(text: str) -> Document:
    """Return the document.

    Raises:
        InvalidProvenanceError: the text is not JSON, or not PROV-JSON. The error has the line and the clause.
    """
    outline = _Outline(text)
    document = Document()
    lines: dict[str, int] = {}
    for key, _ in outline.members("the document"):
        lines[key] = outline.at
        outline.skip()
    outline.end()
    document.namespaces = _prefixes(outline, lines.pop("prefix", None))
    document.check_namespaces()
    scope = Scope({"" if prefix == "default" else prefix: base for prefix, base in document.namespaces.items()})
    bundles = lines.pop("bundle", None)
    document.statements = list(_statements(outline, lines, scope))
    if bundles is not None:
        outline.at = bundles
        for name, line in outline.members("bundle"):
            inner = {}
            for key, _ in outline.members(f"the bundle {name}"):
                inner[key] = outline.at
                outline.skip()
            after = outline.at
            own = _prefixes(outline, inner.pop("prefix", None))
            within = Scope({"" if prefix == "default" else prefix: base for prefix, base in own.items()}, scope)
            document.bundles[within.iri(name, line)] = list(_statements(outline, inner, within))
            document.declare(own)
            outline.at = after
    return document


class _Outline:
    """A JSON text and a place in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._decoder = json.JSONDecoder(parse_constant=self._constant, object_pairs_hook=self._pairs)
        self._counted = (0, 1)

    def line(self, at: int) -> int:
        """Return the line of a place. The first line is 1."""
        known, line = self._counted
        line += self.text.count("\n", known, at) if at >= known else -self.text.count("\n", at, known)
        self._counted = (at, line)
        return line

    def members(self, what: str) -> Iterator[tuple[str, int]]:
        """Yield the keys of the object at this place, with their lines.

        `at` is then at the value, and the caller must move it behind the value.
        """
        self._expect("{", f"{what} is no object")
        seen: set[str] = set()
        if self._skip_blank() == "}":
            self.at += 1
            return
        while True:
            start = self.at
            key = self.value()
            if not isinstance(key, str):
                self._fail(start, f"{what} has a key that is no text")
            if key in seen:
                self._fail(start, f"{what} has {key!r} twice")
            seen.add(key)
            self._expect(":", f"after {key!r} a colon is missing")
            self._skip_blank()
            yield key, self.line(start)
            if self._skip_blank() == ",":
                self.at += 1
                self._skip_blank()
                continue
            self._expect("}", f"{what} does not end")
            return

    def value(self) -> Any:
        """Return the value at this place, and move `at` behind it."""
        self._skip_blank()
        try:
            value, self.at = self._decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self._fail(error.pos, f"this is not JSON: {error.msg}")
        except RecursionError:
            self._fail(self.at, "this is nested too deeply")
        except ValueError:
            self._fail(self.at, "a number has too many digits")
        return value

    def skip(self) -> None:
        """Move behind the object at this place."""
        depth, start = 0, self.at
        if self.text[start : start + 1] != "{":
            self._fail(start, "an object must stand here")
        for found in _STRUCTURE.finditer(self.text, self.at):
            mark = found[0]
            depth += 1 if mark == "{" else -1 if mark == "}" else 0
            if depth == 0:
                self.at = found.end()
                return
        self._fail(start, "this does not end")

    def end(self) -> None:
        """Check that nothing follows."""
        if self._skip_blank():
            self._fail(self.at, "the document has ended before this")

    def _skip_blank(self) -> str:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def _expect(self, mark: str, otherwise: str) -> None:
        if self._skip_blank() != mark:
            self._fail(self.at, otherwise)
        self.at += 1

    def _fail(self, at: int, why: str) -> NoReturn:
        raise InvalidProvenanceError(f"{why}.", line=self.line(at), clause=_CLAUSE, hint="See https://www.w3.org/submissions/prov-json/.")

    def _constant(self, name: str) -> NoReturn:
        self._fail(self.at, f"{name} is not JSON")

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
            self._fail(self.at, f"{twice!r} stands twice in a statement")
        return found


# Texts are matched whole, so that a brace within one does not count. A text that does not end matches, too: it is looked through once.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}]', re.DOTALL)


def _prefixes(outline: _Outline, at: int | None) -> dict[str, str]:
    if at is None:
        return {}
    outline.at = at
    line = outline.line(at)
    declared = outline.value()
    if not isinstance(declared, dict) or not all(isinstance(base, str) for base in declared.values()):
        raise InvalidProvenanceError("prefix must map prefixes to IRIs.", line=line, clause="PROV-JSON 2.1")
    return declared


def _statements(outline: _Outline, lines: Mapping[str, int], scope: Scope) -> Iterator[Statement]:
    for name, at in lines.items():
        kind = _KINDS.get(name)
        if kind is None:
            raise InvalidProvenanceError(
                f"{name!r} is no kind of statement.", line=outline.line(at), clause=_CLAUSE, hint=f"There are {', '.join(_KINDS)}."
            )
        outline.at = at
        for key, line in outline.members(name):
            given = outline.value()
            identifier = None if key.startswith("_:") and kind not in ELEMENTS else scope.iri(key, line)
            for one in given if isinstance(given, list) else [given]:
                if not isinstance(one, dict):
                    raise InvalidProvenanceError(f"{name} {key} is no object.", line=line, clause=_CLAUSE)
                yield from _statement(kind, identifier, one, scope, line)


def _statement(kind: Kind, identifier: str | None, given: dict[str, Any], scope: Scope, line: int) -> Iterator[Statement]:
    shape = SHAPES[kind]
    rest = dict(given)
    members = rest.get("prov:entity")
    if kind is Kind.MEMBERSHIP and isinstance(members, list):  # several members of one collection in one statement
        for member in members:
            yield from _statement(kind, None, {**rest, "prov:entity": member}, scope, line)
        return
    args: list[str | None] = []
    for place, argument in enumerate(shape.arguments):
        value = rest.pop(f"prov:{argument}", None)
        if isinstance(value, dict) and isinstance(value.get("$"), str):
            value = value["$"]
        if value is not None and not isinstance(value, str):
            raise InvalidProvenanceError(f"prov:{argument} of {kind} is no text.", line=line, clause=_CLAUSE)
        args.append(value and (checked_time(value, line) if place in shape.times else scope.iri(value, line)))
    attributes = _attributes(rest, scope, line)
    check_arguments(kind, tuple(args), line, named=identifier is not None, attributed=bool(attributes))
    yield Statement(kind, None if kind in BARE else identifier, tuple(args), attributes, line)


def _attributes(given: Mapping[str, Any], scope: Scope, line: int) -> Attributes:
    return tuple(
        (scope.iri(name, line), _value(value, scope, line))
        for name, values in given.items()
        for value in (values if isinstance(values, list) else [values])
    )


def _value(value: Any, scope: Scope, line: int) -> Value:
    if isinstance(value, str | bool | int | float):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("$"), str | bool | int | float):
        raise InvalidProvenanceError("the value of an attribute is neither a literal nor {$, type}.", line=line, clause="PROV-JSON 2.2")
    text = value["$"] if isinstance(value["$"], str) else json.dumps(value["$"])
    if isinstance(value.get("lang"), str):
        return Literal(text, None, value["lang"])
    if not isinstance(value.get("type"), str):
        return Literal(text)
    return scope.value(text, value["type"], line)
