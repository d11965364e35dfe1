"""Glossaries: from CSV and SKOS, their faults, and their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidInputError
from headwater.graph.glossary import Term, declaration_of, read_glossary, sort_terms

_CSV = b'\xef\xbb\xbfTerm,Parent,Description,Owner\r\nMoney,,,ann; bob\r\nRevenue,Money,"All, and more",\r\n\r\n'
_TURTLE = b"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://example.org/> .
:a a skos:Concept ; skos:prefLabel "Geld"@de, "Money"@en ; skos:narrower :b .
:b a skos:Concept ; skos:prefLabel "Revenue" ; skos:definition "All of it"@en .
"""


def test_a_csv_file_names_its_columns() -> None:
    assert read_glossary(_CSV, "terms.csv") == [Term("Money", owners=("ann", "bob")), Term("Revenue", "Money", "All, and more")]


def test_skos_has_a_term_for_each_concept() -> None:
    assert read_glossary(_TURTLE, "terms.ttl") == [Term("Money"), Term("Revenue", "Money", "All of it")]


@pytest.mark.parametrize(
    ("data", "name", "fault"),
    [
        (b"", "a.csv", "needs a column `term`"), (b"term\n", "a.csv", "no terms"), (b"term,colour\na,b\n", "a.csv", "'colour'"),
        (b"term,name\na,b\n", "a.csv", "once"), (b"term,parent\na\n", "a.csv", "1 cells"), (b'term\n"a\n', "a.csv", "no CSV"),
        (b"term\n\xff\n", "a.csv", "UTF-8"), (b"\x00", "a.csv", "first line|no CSV"), (b"<a", "a.ttl", "cannot be read"),
        (b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', "a.rdf", "document type"),
        *(('<!DOCTYPE x [<!ENTITY e "e">]><x>&e;</x>'.encode(encoding), "a.rdf", "UTF-8") for encoding in ("utf-16", "utf-16-be")),
        (b'<?xml version="1.0" encoding="UTF-7"?><x/>', "a.rdf", "UTF-8"), (b"<x>\xff</x>", "a.rdf", "UTF-8"),
        (b"@prefix s: <http://www.w3.org/2004/02/skos/core#> . <a:b> a s:Concept .", "a.ttl", "no prefLabel"),
    ],
)  # fmt: skip
def test_a_faulty_file_is_refused(data: bytes, name: str, fault: str) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        read_glossary(data, name)


@pytest.mark.parametrize(
    ("terms", "present", "fault"),
    [
        ([Term("a"), Term("a", "b")], [], "twice"), ([Term("a", "a")], [], "above itself"),
        ([Term("a", "b"), Term("b", "a")], [], "a › b › a"),
        ([Term("a", "b")], [Term("b", "c"), Term("c", "a")], "above itself"), ([Term("a\u202eb")], [], "direction"),
        ([Term("x" * 201)], [], "200"), ([Term("a", description="\x00")], [], "U\\+0000"), ([Term("a", owners=(" ",))], [], "blank"),
        ([Term(f"t{n}", f"t{n + 1}") for n in range(40)], [], "more than 32"),
    ],
)  # fmt: skip
def test_terms_that_cannot_be_a_hierarchy_are_refused(terms: list[Term], present: list[Term], fault: str) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        declaration_of(terms, present)


def test_an_import_that_removes_a_cycle_of_the_present_terms_is_accepted() -> None:
    assert declaration_of([Term("a")], [Term("a", "b"), Term("b", "a")])["descriptions"][0]["removed"] is True


@given(st.lists(st.builds(Term, st.sampled_from("abcdef"), st.sampled_from([None, *"abcdefg"])), max_size=8))
def test_each_term_is_listed_once_after_the_term_above_it(terms: list[Term]) -> None:
    found = sort_terms(terms)
    known = {term.name: term for term in terms}
    assert sorted(term.name for _, term in found) == sorted(known)
    levels = {term.name: level for level, term in found}
    for level, term in found:
        if level:
            assert term.broader is not None
            assert levels[term.broader] == level - 1
