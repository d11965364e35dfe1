"""Segments: what is written is read back, and every damage is found and named."""

import json
import struct
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidCaptureError
from headwater.graph.associations import NONE, pack, unpack
from headwater.graph.associations.segment import BLOCK, COLUMN, LENGTH, LISTED, MAGIC, NUMBERED, ROWS, Segment
from headwater.graph.associations.writer import segment
from headwater.graph.records.decode import decode

LONGS = st.integers(-(2**63), 2**63 - 1)
FOOTER = {
    "capture": "c",
    "boundary": 0,
    "stage": 1,
    "stage_attempt": 0,
    "partition": 0,
    "attempt": 7,
    "columns": [{"role": "key"}, {"role": "ref"}],
}


@given(st.integers(0, 2**23 - 1), st.integers(0, 2**40 - 1))
def test_a_reference_is_unpacked_as_it_was_packed(ordinal, position) -> None:
    assert unpack(pack(ordinal, position)) == (ordinal, position)
    assert pack(ordinal, position) >= 0


@pytest.mark.parametrize("reference", [NONE, -1])
def test_a_negative_reference_is_none(reference) -> None:
    assert unpack(reference) is None


@pytest.mark.parametrize("place", [(2**23, 0), (0, 2**40), (-1, 0), (0, -1)])
def test_what_does_not_fit_a_reference_is_refused(place) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        pack(*place)


@given(st.lists(st.tuples(LONGS, LONGS), max_size=40), st.integers(1, 9))
def test_any_longs_come_back_from_a_segment(rows, block_rows) -> None:
    columns = [[row[index] for row in rows] for index in range(2)]
    opened = Segment.open("s", segment(columns, FOOTER, block_rows=block_rows))
    assert [column.tolist() for column in decode(opened)] == columns
    assert opened.footer.rows == len(rows)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-300, 300), st.integers(2, 30))
def test_steady_columns_take_a_byte_a_row_or_less(start, step, rows) -> None:
    values = [(start + step * n + 2**63) % 2**64 - 2**63 for n in range(rows)]
    opened = Segment.open("s", segment([values, [start] * rows], FOOTER))
    (block,) = opened.blocks()
    assert block.columns[1].width == 0
    assert block.columns[0].width <= 2
    assert decode(opened)[0].tolist() == values


@given(st.lists(LONGS, min_size=1, max_size=12), st.lists(st.integers(0, 2**20), min_size=60, max_size=90))
def test_few_values_that_are_far_apart_take_a_byte_a_row(values, picks) -> None:
    column = [values[pick % len(values)] for pick in picks]
    written = segment([column], FOOTER)
    opened = Segment.open("s", written)
    assert decode(opened)[0].tolist() == column
    assert all(len(packed.payload) <= 4 * len(column) for block in opened.blocks() for packed in block.columns)


def test_the_number_of_a_value_that_is_not_there_is_damage() -> None:
    raw = ROWS.pack(3, 1) + COLUMN.pack(1, NUMBERED, 2) + bytes([0, 1, 2]) + struct.pack("<2q", 5, -(2**62))
    packed = pa.Codec("zstd").compress(raw, asbytes=True)
    block = BLOCK.pack(len(raw), len(packed), zlib.crc32(packed)) + packed
    whole = segment([[]], FOOTER).replace(b'"rows":0', b'"rows":3')
    with pytest.raises(InvalidCaptureError, match="a column of 2 values has a row with number 2"):
        decode(Segment.open("s", whole[: len(MAGIC)] + block + whole[len(MAGIC) :]))


def _segment_of(*blocks: tuple[int, bytes]) -> Segment:
    """A segment of one column, of blocks as they lie there: their rows, and their column."""
    framed = []
    for rows, column in blocks:
        raw = ROWS.pack(rows, 1) + column
        packed = pa.Codec("zstd").compress(raw, asbytes=True)
        framed.append(BLOCK.pack(len(raw), len(packed), zlib.crc32(packed)) + packed)
    text = json.dumps({**FOOTER, "rows": sum(rows for rows, _ in blocks)}).encode()
    return Segment.open("s", b"".join([MAGIC, *framed, LENGTH.pack(0), text, LENGTH.pack(len(text)), MAGIC]))


def test_blocks_refer_to_what_blocks_before_them_listed() -> None:
    first = COLUMN.pack(1, LISTED, 2) + bytes([0, 1, 0]) + struct.pack("<2q", 5, -7)
    between = COLUMN.pack(0, 0, 9)
    second = COLUMN.pack(2, LISTED, 1) + bytes([2, 1, 0, 0]) + struct.pack("<q", 2**62)
    third = COLUMN.pack(1, LISTED, 0) + bytes([2])
    assert decode(_segment_of((3, first), (2, between), (2, second), (1, third)))[0].tolist() == [5, -7, 5, 9, 9, 2**62, -7, 2**62]


def test_a_place_beyond_the_list_is_damage() -> None:
    first = COLUMN.pack(1, LISTED, 2) + bytes([0, 1]) + struct.pack("<2q", 5, -7)
    second = COLUMN.pack(2, LISTED, 0) + bytes([0, 1, 0, 1])
    with pytest.raises(InvalidCaptureError, match="a column of 2 values has a row with number 257"):
        decode(_segment_of((2, first), (2, second)))


@pytest.mark.parametrize(("width", "base"), [(0, 0), (4, 1), (8, 1), (1, -1), (1, 3)])
def test_a_list_of_another_width_or_with_more_values_than_rows_is_damage(width: int, base: int) -> None:
    column = COLUMN.pack(width, LISTED, base) + bytes(2 * width) + bytes(8 * max(0, base))
    with pytest.raises(InvalidCaptureError, match="block 0 does not hold what its header states"):
        decode(_segment_of((2, column)))


def test_a_list_does_not_fill_the_memory() -> None:
    rows = 65_536
    block = COLUMN.pack(1, LISTED, rows) + bytes(rows) + bytes(8 * rows)
    with pytest.raises(InvalidCaptureError, match="a column lists more than 131072 values"):
        decode(_segment_of((rows, block), (rows, block), (rows, block)))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        segment([[1, 2], [1]], FOOTER)


@given(st.data())
def test_any_damaged_byte_of_the_blocks_is_found(data) -> None:
    whole = segment([list(range(50)), [n * 7919 % 97 for n in range(50)]], FOOTER, block_rows=20)
    end = Segment.open("s", whole).end
    at = data.draw(st.integers(len(MAGIC), end - 1))
    damaged = bytearray(whole)
    damaged[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidCaptureError, match=r"Segment b0\.seg is damaged") as caught:
        decode(Segment.open("b0.seg", bytes(damaged)))
    assert caught.value.field == "b0.seg"


@given(st.integers(0, 10_000))
def test_a_segment_that_was_cut_off_is_refused(length) -> None:
    whole = segment([list(range(50)), [3] * 50], FOOTER)
    with pytest.raises(InvalidCaptureError, match="damaged"):
        decode(Segment.open("s", whole[: length % len(whole)]))


def test_damage_names_the_block() -> None:
    whole = bytearray(segment([list(range(60)), [n * n for n in range(60)]], FOOTER, block_rows=20))
    whole[Segment.open("s", bytes(whole)).end - 1] ^= 1
    with pytest.raises(InvalidCaptureError, match="block 2 does not match its checksum"):
        decode(Segment.open("s", bytes(whole)))


def test_rows_that_are_missing_are_found() -> None:
    whole = segment([[1, 2], [3, 4]], FOOTER)
    lying = whole.replace(b'"rows":2', b'"rows":3')
    with pytest.raises(InvalidCaptureError, match="states 3 rows, its blocks hold 2"):
        decode(Segment.open("s", lying))
