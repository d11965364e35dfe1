"""Bodies become documents that keep their bytes; equal documents have equal keys, however they are written."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.backend.ingest.intake.documents import MAX_DOCUMENTS, Document, document_key, key_of
from headwater.backend.ingest.intake.documents import read_document as read_one
from headwater.backend.ingest.intake.documents import read_documents as read_in_turn
from headwater.backend.ingest.intake.scan import DECLARATION, EVENT, MAX_DEPTH, Bounds
from headwater.errors import InvalidJsonError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


def read_documents(body: bytes) -> list[Document]:
    """All documents of a body; raises the fault of one."""
    documents = list(read_in_turn(body))
    for document in documents:
        if document.fault is not None:
            raise document.fault
    return documents


@given(_JSON)
@example({"b": {'\x7f\x1f"\\/é\u2028': [True, None, -0, 10**15 - 1, "1.5,2.5"]}, "a": [], "ü": {}})
@example({"a": 1.0, "b": [1e21]})
@example({"a": '":1.5', "b": ",1e5"})
@example({"\U00010000": 1, "\uffff": 2})
@example({"a": [10**15, 2**53 - 1]})
def test_a_key_is_the_hash_of_the_canonical_form(value: Any) -> None:
    try:
        canonical = rfc8785.dumps({"value": value})
    except rfc8785.IntegerDomainError:
        return  # integers that this form does not have, which have one of ours
    assert document_key({"value": value}) == sha256(canonical).digest()


@given(_JSON, st.booleans(), st.sampled_from([(",", ":"), (", ", " : ")]))
@example({"a": {"b": '"'}}, False, (",", ":"))
@example({"a": ":1.5", "é": [":", ""]}, False, (",", ":"))
@example({"\U00010000": 1, "\uffff": 2}, False, (",", ":"))
def test_a_document_has_the_key_of_its_value_however_it_was_read(value: Any, ascii: bool, separators: tuple[str, str]) -> None:  # noqa: A002
    (document,) = read_documents(json.dumps({"value": value}, ensure_ascii=ascii, separators=separators).encode())
    assert document.value == {"value": value}
    assert key_of(document) == document_key({"value": value})


@given(st.lists(st.tuples(_TEXT, _JSON), max_size=5))
def test_members_that_stand_twice_are_seen_in_every_plain_document(pairs: list[tuple[str, Any]]) -> None:
    members = ",".join(f"{json.dumps(name, ensure_ascii=False)}:{json.dumps(value, ensure_ascii=False)}" for name, value in pairs)
    body = f'{{"a":[{{{members}}}]}}'.encode()
    (document,) = read_in_turn(body)
    assert (document.fault is not None) == (len(dict(pairs)) < len(pairs))


def test_a_small_body_may_not_be_nested_too_deeply() -> None:
    deepest = b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH
    assert len(read_documents(deepest)) == 1
    with pytest.raises(InvalidJsonError, match="nested too deeply"):
        read_documents(b'{"a":' + deepest + b"}")


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
    with pytest.raises(InvalidJsonError, match=message) as caught:
        read_documents(body)
    assert caught.value.field in ("$", "$[0]")


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
    with pytest.raises(InvalidJsonError, match="canonical form"):
        document_key(json.loads('{"a": "\\ud800"}'))


@pytest.mark.parametrize("body", [b'{"a": "\\ud800"}', b'{"\\udfff": 1}', b'["x", {"a": ["\\uDC00\\uD800"]}]'])
def test_half_a_character_is_refused_wherever_it_stands(body: bytes) -> None:
    with pytest.raises(InvalidJsonError, match="lone surrogate"):
        read_documents(body)


def test_a_whole_character_in_two_escapes_is_read() -> None:
    assert read_documents(b'{"a": "\\ud83c\\udf0a"}')[0].value == {"a": "\N{WATER WAVE}"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"password": 1, "password": 2}',
        b'[{}, {"a": [{"b": {"password": 1, "x": 2, "password": 1}}]}]',
        b'{"pass\\u0077ord":1,"password":2}',
    ],
)
def test_a_member_that_stands_twice_is_refused_by_its_name(body: bytes) -> None:
    with pytest.raises(InvalidJsonError, match="the member 'password' twice") as caught:
        read_documents(body)
    assert caught.value.field == "password"


def test_of_an_array_only_the_document_with_the_fault_is_refused() -> None:
    documents = list(read_in_turn(b'[{"a": 1}, {"a": 1, "a": 2}, {"b": 1e999}, {"c": 3}]'))
    assert [document.value for document in documents] == [{"a": 1}, None, None, {"c": 3}]
    assert [document.path for document in documents if document.fault] == ["$[1]", "$[2]"]


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_is_bounded_before_anything_is_parsed(opening: bytes, closing: bytes) -> None:
    within = opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH
    assert read_one(within, DECLARATION) is not None
    with pytest.raises(InvalidJsonError, match="nested too deeply"):
        read_one(opening + within + closing, DECLARATION)


def test_brackets_and_quotes_within_texts_count_for_nothing() -> None:
    text = "[{" * 5_000 + '\\"' * 5_000 + "\\"
    (document,) = read_documents(json.dumps([{"a": text}]).encode())
    assert document.value == {"a": text}


@pytest.mark.parametrize(
    ("bounds", "body", "message"),
    [
        (Bounds(1 << 20), b'"' + b"x" * (1 << 20) + b'"', "more than 1 MB"),
        (Bounds(1 << 20), b'{"a": "' + b"x" * (1 << 20) + b'"}', "more than 1 MB"),
        (Bounds(1 << 20), b'{"a": [' + b"1.5, " * (1 << 18), "more than 1 MB"),
        (Bounds(1 << 20, containers=1_000), b"[" + b"{}," * 1_000 + b"{}]", "more than 1,000 objects and arrays"),
        (Bounds(1 << 20, values=1_000), b"[" + b"1," * 1_001 + b"1]", "more than 1,000 values"),
    ],
)
def test_a_document_that_is_too_large_is_refused_before_it_is_parsed(bounds: Bounds, body: bytes, message: str) -> None:
    with pytest.raises(InvalidJsonError, match=message):
        read_one(body, bounds)


def test_the_documents_of_a_body_are_counted() -> None:
    with pytest.raises(InvalidJsonError, match="more than 50,000 documents"):
        list(read_in_turn(b"[" + b"{}," * MAX_DOCUMENTS + b"{}]"))


@given(st.lists(_JSON, min_size=1, max_size=4), st.integers(1, 40))
def test_where_a_document_ends_does_not_depend_on_the_window(values: list[object], window: int) -> None:
    text = json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headwater.backend.ingest.intake.scan._WINDOW", window)
        assert [document.value for document in read_in_turn(text, EVENT)] == json.loads(text)
