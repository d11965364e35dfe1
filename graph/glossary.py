"""A glossary: business terms with their definitions, each below at most one broader term. Read from CSV or SKOS, stored by a declaration.

A document is checked as a whole before anything is stored. Terms that it does not name stay as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import InvalidInputError, UnsupportedError
from headwater.graph.model import Node, NodeKind, node_id
from headwater.graph.model.declaration import Aspect
from headwater.graph.model.descriptions import broader_of, descriptions_of
from headwater.graph.model.stated_texts import LONGEST_NAME, LONGEST_TEXT, find_fault

MOST_TERMS = 20_000
_DEEPEST = 32  # levels of the hierarchy
_COLUMNS = {
    "term": "name", "name": "name", "label": "name", "parent": "broader", "broader": "broader", "description": "description",
    "definition": "description", "owner": "owners", "owners": "owners", "steward": "stewards", "stewards": "stewards",
}  # fmt: skip
_SKOS = "http://www.w3.org/2004/02/skos/core#"


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a glossary. `broader` is the name of the term above it, or None."""

    name: str
    broader: str | None = None
    description: str | None = None
    owners: tuple[str, ...] = ()
    stewards: tuple[str, ...] = ()

    @classmethod
    def of(cls, node: Node) -> Term:
        found = descriptions_of(node)
        return cls(node.name, broader_of(node), found.description, found.owners, found.stewards)


def read_glossary(data: bytes, name: str) -> list[Term]:
    """Read the terms of a file. The end of its name decides about the format: `.csv`, or `.ttl`, `.rdf`, `.nt` for SKOS.

    Raises:
        InvalidInputError: the file is malformed, or its terms contradict one another.
        UnsupportedError: SKOS needs a package that is not installed.
    """
    end = name.rpartition(".")[2].lower()
    formats = {"ttl": "turtle", "rdf": "xml", "xml": "xml", "nt": "nt"}
    terms = _read_skos(data, formats[end]) if end in formats else _read_csv(data)
    if not terms:
        raise InvalidInputError("The file has no terms.", field="$", hint="Write a line for each term: term,parent,description,owner")
    if len(terms) > MOST_TERMS:
        raise InvalidInputError(f"The file has {len(terms):,} terms.", field="$", hint=f"Import at most {MOST_TERMS:,} at once.")
    return terms


def declaration_of(terms: Sequence[Term], present: Iterable[Term], by: str = "") -> dict[str, Any]:
    """Return the declaration that states some terms, next to the terms that are `present`.

    Raises:
        InvalidInputError: a term is stated twice, or is above itself, or a text is invalid.
    """
    stated: dict[str, Term] = {}
    for term in terms:
        _check(term)
        if term.name in stated:
            raise InvalidInputError(f"The term {term.name!r} is stated twice.", field="term", hint="State each term once.")
        stated[term.name] = term
    above = {term.name: term.broader for term in present} | {term.name: term.broader for term in terms}
    for name in stated:
        _check_path(name, above)
    return {"by": by, "descriptions": [each for term in terms for each in _descriptions(term)]}


def sort_terms(terms: Iterable[Term]) -> list[tuple[int, Term]]:
    """Return the terms in the order of a tree, each with its level. A term in a cycle, or below an unknown term, is at the top.

    >>> [(level, term.name) for level, term in sort_terms([Term("net", "money"), Term("money"), Term("age")])]
    [(0, 'age'), (0, 'money'), (1, 'net')]
    """
    known = {term.name: term for term in terms}
    below: dict[str, list[str]] = {}
    top = []
    for name, term in sorted(known.items()):
        if term.broader in known and term.broader != name:
            below.setdefault(term.broader or "", []).append(name)
        else:
            top.append(name)
    found: dict[str, tuple[int, Term]] = {}
    for start in (*top, *sorted(known)):
        waiting = [(0, start)]
        while waiting:
            level, name = waiting.pop()
            if name not in found:
                found[name] = (level, known[name])
                waiting += [(level + 1, child) for child in reversed(below.get(name, ()))]
    return list(found.values())


def _descriptions(term: Term) -> list[dict[str, Any]]:
    identifier = node_id(NodeKind.TERM, term.name)
    # A term without a broader one states that, so that an earlier import does not count. The removal also creates the node.
    broader = {"value": term.broader} if term.broader else {"value": "-", "removed": True}
    found: list[dict[str, Any]] = [{"id": identifier, "aspect": Aspect.BROADER.value, **broader}]
    if term.description:
        found.append({"id": identifier, "aspect": Aspect.DESCRIPTION.value, "value": term.description})
    for aspect, names in ((Aspect.OWNER, term.owners), (Aspect.STEWARD, term.stewards)):
        found += [{"id": identifier, "aspect": aspect.value, "value": name} for name in names]
    return found


def _check(term: Term) -> None:
    texts = [("term", term.name), ("parent", term.broader), *(("owner", name) for name in (*term.owners, *term.stewards))]
    for field, text in texts:
        if text is not None and (fault := find_fault(text, LONGEST_NAME)) is not None:
            raise InvalidInputError(f"The {field} {text[:80]!r} is no name: {fault}.", field=field, hint="Change the text.")
    if term.description is not None and (fault := find_fault(term.description, LONGEST_TEXT, lines=True)) is not None:
        raise InvalidInputError(f"The description of {term.name!r} is invalid: {fault}.", field="description", hint="Change the text.")


def _check_path(name: str, above: Mapping[str, str | None]) -> None:
    path = [name]
    while (broader := above.get(path[-1])) is not None:
        if broader in path:
            cycle = " › ".join([*path, broader])
            raise InvalidInputError(f"The term {name!r} is above itself: {cycle}.", field="parent", hint="Change a parent of these terms.")
        path.append(broader)
        if len(path) > _DEEPEST:
            raise InvalidInputError(f"{name!r} has more than {_DEEPEST} terms above it.", field="parent", hint="Use fewer levels.")


def _read_csv(data: bytes) -> list[Term]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"The file is no UTF-8: {error.reason}.", field="$", hint="Save it as UTF-8.") from None
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InvalidInputError(f"The file is no CSV: {error}.", field="$", hint="Quote texts with commas or lines.") from None
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    unknown = [cell for cell in header if cell not in _COLUMNS]
    parts = [_COLUMNS.get(cell, "") for cell in header]
    if unknown or "name" not in parts or len(set(parts)) < len(parts):
        columns = "term, parent, description, owner, steward"
        fault = f"has the column {unknown[0][:80]!r}" if unknown else "needs a column `term`, and each column once"
        raise InvalidInputError(f"The first line {fault}.", field="line 1", hint=f"The columns are {columns}.")
    terms = []
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(parts):
            raise InvalidInputError(
                f"The line {number} has {len(row)} cells, and the first line has {len(parts)}.", field=f"line {number}",
                hint="Quote cells that contain commas.",
            )  # fmt: skip
        cells = {part: cell.strip() for part, cell in zip(parts, row, strict=True)}
        several = {part: _names(cells.get(part, "")) for part in ("owners", "stewards")}
        terms.append(Term(cells["name"], cells.get("broader") or None, cells.get("description") or None, **several))
    return terms


def _names(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in cell.split(";") if (name := each.strip())))


def _check_encoding(data: bytes) -> None:
    """Check that a file of XML is in UTF-8, so that a document type is found in its bytes."""
    declared = re.match(rb"""(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)""", data)
    try:
        is_utf8 = "\0" not in data.decode("utf-8") and (declared is None or declared[1].lower() in (b"utf-8", b"utf8", b"us-ascii"))
    except UnicodeDecodeError:
        is_utf8 = False
    if not is_utf8:
        raise InvalidInputError("The file is not in UTF-8.", field="$", hint="Save it in UTF-8, and declare no other encoding.")


def _read_skos(data: bytes, notation: str) -> list[Term]:
    if notation == "xml":
        _check_encoding(data)
    if notation == "xml" and b"<!" in data.replace(b"<!--", b""):  # an entity may name a file, or grow without a limit
        raise InvalidInputError("The file declares a document type.", field="$", hint="Remove the line <!DOCTYPE …>.")
    try:
        from rdflib import Graph, Namespace
        from rdflib.namespace import RDF
    except ImportError:
        raise UnsupportedError("SKOS needs the package rdflib.", hint='Install it with: pip install "headwater[prov]"') from None
    graph, skos = Graph(), Namespace(_SKOS)
    try:
        graph.parse(data=data, format=notation)
    except Exception as error:  # noqa: BLE001 - each parser of rdflib has errors of its own
        raise InvalidInputError(f"The file cannot be read: {str(error)[:200]}.", field="$", hint="Check its notation.") from None
    concepts = sorted({str(each) for each in graph.subjects(RDF.type, skos.Concept)})
    if len(concepts) > MOST_TERMS:
        raise InvalidInputError(f"The file has {len(concepts):,} terms.", field="$", hint=f"Import at most {MOST_TERMS:,} at once.")
    named = {str(subject): label for subject in graph.subjects(RDF.type, skos.Concept) if (label := _label(graph, subject, skos.prefLabel))}
    terms = []
    for subject in sorted(graph.subjects(RDF.type, skos.Concept), key=str):
        name = named.get(str(subject))
        if name is None:
            raise InvalidInputError(f"The concept {str(subject)[:200]} has no prefLabel.", field="$", hint="Give each concept a label.")
        above = {str(each) for each in graph.objects(subject, skos.broader)}
        above |= {str(each) for each in graph.subjects(skos.narrower, subject)}
        labels = sorted(named[each] for each in above if each in named)
        if len(labels) > 1:
            raise InvalidInputError(f"{name!r} is below {labels[0]!r} and {labels[1]!r}.", field="$", hint="State one of them.")
        terms.append(Term(name, labels[0] if labels else None, _label(graph, subject, skos.definition)))
    return terms


def _label(graph: Any, subject: Any, predicate: Any) -> str | None:
    """Return a text of a concept: in English if there is one, else the first by language."""
    texts = sorted(
        ((each.language or "").lower(), str(each).strip()) for each in graph.objects(subject, predicate) if hasattr(each, "language")
    )
    english = [text for language, text in texts if language.startswith("en") or not language]
    return english[0] if english else texts[0][1] if texts else None
