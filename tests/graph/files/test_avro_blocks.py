"""Blocks of Avro: which records stand before a split, whatever byte it begins with; damaged files are said to be."""

import io
import sys
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import UnsupportedError
from headwater.graph.files.avro_blocks import find_blocks

SCHEMA = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}, {"name": "s", "type": "string"}]}


def made(rows: int, interval: int = 200) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA, [{"id": i, "s": "x" * (i % 30)} for i in range(rows)], codec="null", sync_interval=interval)
    return out.getvalue()


@given(rows=st.integers(0, 300), interval=st.integers(16, 500), start=st.integers(0, 10_000))
def test_a_split_begins_with_the_first_mark_at_its_start_or_after(rows: int, interval: int, start: int) -> None:
    data = made(rows, interval)
    found = find_blocks(data, "a.avro")
    assert found.records == rows
    mark = data[found.header - 16 : found.header]
    at = data.find(mark, start)  # as a reader of the split looks for it
    if start > 0 and at >= 0 and at + 16 < len(data):
        rest: list[Any] = list(fastavro.reader(io.BytesIO(data[: found.header] + data[at + 16 :])))
        assert found.count_before(start) == rest[0]["id"]
    elif start > 0:
        assert found.count_before(start) == rows
    else:
        assert found.count_before(start) == 0


def test_records_are_cut_out_by_their_blocks() -> None:
    data = made(300)
    found = find_blocks(data, "a.avro")
    import numpy as np

    blocks = found.find_holding(np.array([3, 150, 299]))
    ids = [record["id"] for record in fastavro.reader(found.cut_file(data, blocks)) if isinstance(record, dict)]
    assert {3, 150, 299} <= set(ids)
    assert len(ids) < 100


@pytest.mark.parametrize("cut", [10, 60, -1, -17])
def test_a_file_that_is_cut_off_is_damaged(cut: int) -> None:
    with pytest.raises(OSError, match="cannot be read as Avro"):
        find_blocks(made(300)[:cut], "a.avro")


@pytest.mark.parametrize("place", [0, 2, -1, -16])
def test_a_byte_that_changed_makes_no_other_records(place: int) -> None:
    data = bytearray(made(300))
    data[place] ^= 0xFF
    with pytest.raises(OSError, match="cannot be read as Avro"):
        find_blocks(bytes(data), "a.avro")


def test_the_extra_is_named_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(UnsupportedError, match="avro"):
        find_blocks(made(1), "a.avro")
