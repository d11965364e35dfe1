"""Keys of rows: their bytes tell them from each other, and give their columns again."""

from __future__ import annotations

import datetime as dt
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import UnsupportedError
from headwater.graph.storage.row_keys import KeyColumn, key_columns, key_of, position_of, texts_of, without_padding

_TIMES = st.datetimes(dt.datetime(1600, 1, 1), dt.datetime(9999, 12, 31))  # noqa: DTZ001 - as text, with and without a zone
VALUES = {
    "int": st.integers(-(1 << 63), (1 << 63) - 1).map(str), "boolean": st.sampled_from(["true", "false"]),
    "text": st.text(st.characters(codec="utf-8"), max_size=40), "char": st.text("ab é", max_size=9).map(lambda text: text.rstrip(" ")),
    "uuid": st.uuids().map(str), "date": st.dates(dt.date(1600, 1, 1)).map(str),
    "timestamp": _TIMES.map(lambda at: at.isoformat(" ", "microseconds")),
    "instant": _TIMES.map(lambda at: at.isoformat(" ", "microseconds") + "+00"),
    "decimal(18,4)": st.integers(-(10**18) + 1, 10**18 - 1).map(lambda number: _decimal(number, 4)),
    "decimal(38,10)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda number: _decimal(number, 10)),
}  # fmt: skip


def _decimal(number: int, scale: int) -> str:
    digits = f"{abs(number):0{scale + 1}}"
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


@st.composite
def keys(draw: st.DrawFn) -> tuple[tuple[KeyColumn, ...], list[str], list[str]]:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    columns = tuple(KeyColumn(f"c{place}", kind) for place, kind in enumerate(kinds))
    return columns, [draw(VALUES[kind]) for kind in kinds], [draw(VALUES[kind]) for kind in kinds]


@given(keys(), st.integers(0, 40))
def test_bytes_give_the_columns_again_and_differ_where_a_column_does(drawn, zeros: int) -> None:
    columns, one, other = drawn
    key, different = key_of(columns, one), key_of(columns, other)
    assert key is not None
    assert texts_of(columns, key) == one
    assert (key == different) == (one == other)
    assert without_padding(columns, key + bytes(zeros)) == key
    assert 0 <= position_of(key) < 1 << 53


@given(keys(), st.binary(max_size=60))
def test_other_bytes_are_no_key_or_just_that_key(drawn, content: bytes) -> None:
    columns, _, _ = drawn
    if (key := without_padding(columns, content)) is not None:
        assert content.startswith(key)
        assert not any(content[len(key) :])


def test_a_position_is_a_hash_of_stated_bytes() -> None:
    columns = key_columns('[["a", "int"], ["b", "text"]]')
    key = key_of(columns, ["-2", "é"])
    assert key == b"\xff" * 7 + b"\xfe" + b"\x00\x00\x00\x02" + "é".encode()
    assert position_of(key) == int(hashlib.sha256(key).hexdigest()[:16], 16) >> 11


@pytest.mark.parametrize(
    ("kind", "text"),
    [("date", "0044-03-15 BC"), ("date", "infinity"), ("date", "1599-12-31"), ("date", "10000-01-01"), ("timestamp", "infinity"),
     ("decimal(5,1)", "NaN"), ("decimal(5,1)", "1.23"), ("int", "9" * 30), ("boolean", "maybe"), ("text", None)],
)  # fmt: skip
def test_what_no_run_records_is_no_key(kind: str, text: str | None) -> None:
    assert key_of([KeyColumn("c", kind)], [text]) is None


@pytest.mark.parametrize(
    "stated", ["", "[]", "{}", '[["a"]]', '[["a", "float"]]', '[["a", "decimal(5)"]]', '"ab"', "[" * 9000], ids=range(8)
)
def test_what_is_stated_of_a_key_and_not_understood_is_refused(stated: str) -> None:
    with pytest.raises(UnsupportedError, match="not understood"):
        key_columns(stated)
