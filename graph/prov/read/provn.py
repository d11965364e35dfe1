"""PROV-N to statements, each with its line: a descent by the grammar of the Recommendation (section 3)."""

from __future__ import annotations

from typing import NoReturn

from headwater.errors import InvalidProvenanceError
from headwater.graph.prov.model import BARE, ELEMENTS, PROV, SHAPES, XSD, Attributes, Document, Kind, Literal, Name, Statement, Value
from headwater.graph.prov.read.scope import Scope, check_arguments, checked_time
from headwater.graph.prov.read.tokens import CLAUSE, Token, tokens

_KINDS = {kind.value: kind for kind in Kind}
_PREDECLARED = {"prov": PROV, "xsd": XSD}
_MOST_DIGITS = 4_000  # Python refuses longer integers


def read_provn(text: str) -> Document:
    """Return the document.

    Raises:
        InvalidProvenanceError: the text is not PROV-N. The error has the line and the clause.
    """
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._now = next(self._tokens)

    def document(self) -> Document:
        found = Document()
        self._keyword("document")
        found.namespaces, scope = self._namespaces(None)
        found.check_namespaces()
        while self._now.text not in ("bundle", "endDocument"):
            found.statements.append(self._statement(scope))
        while self._now.text == "bundle":
            self._bundle(found, scope)
        self._keyword("endDocument")
        if self._now.kind != "end":
            self._fail(f"{self._now.text!r} stands behind endDocument")
        return found

    def _bundle(self, found: Document, outer: Scope) -> None:
        self._keyword("bundle")
        name = self._take("name", "the name of the bundle")
        own, scope = self._namespaces(outer)
        identifier = scope.iri(name.text, name.line)
        if identifier in found.bundles:
            self._fail(f"the bundle {name.text} stands twice", name.line, "PROV-CONSTRAINTS 7.2")
        statements = found.bundles.setdefault(identifier, [])
        while self._now.text not in ("endBundle", "endDocument"):
            statements.append(self._statement(scope))
        self._keyword("endBundle")
        found.declare(own)

    def _namespaces(self, outer: Scope | None) -> tuple[dict[str, str], Scope]:
        declared: dict[str, str] = {}
        if self._now.text == "default":
            self._next()
            declared[""] = self._take("iri", "the default namespace, as <http://…>").text
        while self._now.text == "prefix":
            self._next()
            prefix = self._take("name", "a prefix")
            base = self._take("iri", "its namespace, as <http://…>").text
            if _PREDECLARED.get(prefix.text, base) != base:
                self._fail(f"the prefix {prefix.text} stands for {_PREDECLARED[prefix.text]} already", prefix.line, "PROV-N 3.7.2")
            declared[prefix.text] = base
        return declared, Scope(declared, outer)

    def _statement(self, scope: Scope) -> Statement:
        start = self._take("name", "a statement")
        kind = _KINDS.get(start.text)
        if kind is None:
            self._fail(f"{start.text!r} is no kind of statement; there are {', '.join(_KINDS)}", start.line)
        self._mark("(")
        identifier: str | None = None
        given: list[Token | None] = []
        attributes: Attributes = ()
        if self._now.text != ")":
            given.append(self._argument())
            if self._now.text == ";":
                self._next()
                head = given.pop()
                identifier = None if head is None else scope.iri(head.text, head.line)
                given.append(self._argument())
            while self._now.text == ",":
                self._next()
                if self._now.text == "[":
                    attributes = self._attributes(scope)
                    break
                given.append(self._argument())
        self._mark(")")
        return self._made(kind, identifier, given, attributes, scope, start.line)

    def _made(
        self, kind: Kind, identifier: str | None, given: list[Token | None], attributes: Attributes, scope: Scope, line: int
    ) -> Statement:
        shape = SHAPES[kind]
        if kind in ELEMENTS:
            head = given.pop(0) if given else None
            if head is None:
                self._fail(f"{kind} has no identifier", line, f"PROV-DM {shape.section}")
            identifier = scope.iri(head.text, head.line)
        if len(given) > len(shape.arguments):
            self._fail(f"{kind} has {len(given)} arguments; it takes {', '.join(shape.arguments) or 'none'}", line)
        if identifier is not None and kind in BARE:
            self._fail(f"{kind} has no identifier of its own", line, f"PROV-DM {shape.section}")
        args: list[str | None] = []
        for place, token in enumerate([*given, *[None] * (len(shape.arguments) - len(given))]):
            if token is None:
                args.append(None)
            elif place in shape.times:
                args.append(checked_time(token.text, token.line))
            else:
                args.append(scope.iri(token.text, token.line))
        check_arguments(kind, tuple(args), line, named=identifier is not None, attributed=bool(attributes))
        return Statement(kind, identifier, tuple(args), attributes, line)

    def _argument(self) -> Token | None:
        if self._now.text == "-" and self._now.kind == "mark":
            self._next()
            return None
        if self._now.kind not in ("name", "time", "integer"):
            self._fail(f"{self._now.text!r} is neither a name, a time nor -")
        return self._next()

    def _attributes(self, scope: Scope) -> Attributes:
        self._mark("[")
        found: list[tuple[str, Value]] = []
        while self._now.text != "]" or self._now.kind != "mark":
            name = self._take("name", "the name of an attribute")
            self._mark("=")
            found.append((scope.iri(name.text, name.line), self._value(scope)))
            if self._now.text != ",":
                break
            self._next()
        self._mark("]")
        return tuple(found)

    def _value(self, scope: Scope) -> Value:
        value = self._next()
        if value.kind == "integer":
            if len(value.text) > _MOST_DIGITS:
                self._fail("this number has too many digits", value.line, "PROV-N 3.7.4")
            return int(value.text)
        if value.kind == "quoted":
            return Name(scope.iri(value.text, value.line))
        if value.kind != "text":
            self._fail(f"{value.text!r} is no value", value.line, "PROV-N 3.7.4")
        if self._now.kind == "language":
            return Literal(value.text, None, self._next().text)
        if self._now.text != "%%":
            return value.text
        self._next()
        datatype = self._take("name", "a datatype")
        return scope.value(value.text, datatype.text, datatype.line)

    def _next(self) -> Token:
        now = self._now
        self._now = next(self._tokens, now)
        return now

    def _take(self, kind: str, what: str) -> Token:
        if self._now.kind != kind:
            self._fail(f"{self._now.text!r} stands where {what} must")
        return self._next()

    def _keyword(self, word: str) -> None:
        if self._now.kind != "name" or self._now.text != word:
            self._fail(f"{self._now.text!r} stands where {word} must")
        self._next()

    def _mark(self, mark: str) -> None:
        if self._now.kind != "mark" or self._now.text != mark:
            self._fail(f"{self._now.text!r} stands where {mark} must")
        self._next()

    def _fail(self, why: str, line: int | None = None, clause: str = CLAUSE) -> NoReturn:
        raise InvalidProvenanceError(
            f"{why}.", line=self._now.line if line is None else line, clause=clause, hint="See https://www.w3.org/TR/prov-n/."
        )
