"""Bodies become documents that keep their bytes; equal documents have equal keys, however they are written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.intake.documents import document_key, read_documents
from headwater.errors import InvalidEventError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


def test_one_document_is_the_body_itself() -> None:
    (document,) = read_documents(b' {"a": 1}\n')
    assert (document.value, document.body, document.path) == ({"a": 1}, b' {"a": 1}\n', "$")


def test_elements_of_an_array_keep_their_own_bytes() -> None:
    documents = read_documents(b' [ {"a" :1} ,\n{"b":\t"[,]"}, 3 ]')
    assert [document.body for document in documents] == [b'{"a" :1}', b'{"b":\t"[,]"}', b"3"]
    assert [document.path for document in documents] == ["$[0]", "$[1]", "$[2]"]


def test_an_empty_array_holds_nothing() -> None:
    assert read_documents(b"[ ]") == []


@given(st.lists(_JSON, max_size=5))
def test_an_array_reads_as_json_does(values: list[object]) -> None:
    text = json.dumps(values)
    documents = read_documents(text.encode())
    assert [document.value for document in documents] == json.loads(text)
    assert [json.loads(document.body) for document in documents] == json.loads(text)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "line 1, column 1"),
        (b'{"a": }', "line 1, column 7"),
        (b'{"a": 1} {}', "Extra data"),
        (b"[1,]", "not JSON"),
        (b"[1 2]", "delimiter"),
        (b"[1] 2", "Extra data"),
        (b"[1", "delimiter"),
        (b'"\xff"', "byte 1 is 0xff"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b"[-Infinity]", "not a JSON number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_the_place(body: bytes, message: str) -> None:
    with pytest.raises(InvalidEventError, match=message) as caught:
        read_documents(body)
    assert caught.value.field == "$"


@given(_JSON)
def test_the_key_does_not_depend_on_the_writing(value: object) -> None:
    written = json.loads(json.dumps(value, indent=3, sort_keys=True))
    assert document_key(written) == document_key(json.loads(json.dumps(value, ensure_ascii=False)))


def test_the_key_depends_on_order_in_arrays_alone() -> None:
    assert document_key({"a": 1, "b": 2}) == document_key({"b": 2, "a": 1})
    assert document_key([1, 2]) != document_key([2, 1])


def test_numbers_that_are_one_double_have_one_key() -> None:
    assert document_key({"a": 1.0}) == document_key({"a": 1})


def test_large_integers_are_told_apart() -> None:
    assert document_key({"rows": 2**63}) != document_key({"rows": 2**63 + 1})


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InvalidEventError, match="canonical form"):
        document_key(json.loads('{"a": "\\ud800"}'))
