"""The content of a file that counts: all of it, but for the order in which a Parquet footer lists encodings."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.rerun.recapture.contents import digest_of


def digest(path: Path, content: bytes) -> bytes | None:
    path.write_bytes(content)
    with path.open("rb", buffering=0) as file:
        return digest_of(file, len(content))


@pytest.fixture
def parquet(tmp_path: Path) -> bytes:
    """A file whose column chunk lists its encodings as 0, 3, 8: PLAIN, RLE, RLE_DICTIONARY."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2, 2], "b": ["x", "y", "z"]}), path)
    return path.read_bytes()


def swapped(content: bytes) -> bytes:
    """The file with the encodings of its first column in another order, as another JVM lists them."""
    listed = bytes([0x35, 0x00, 0x06, 0x10])  # a list of three numbers, zigzag
    assert listed in content
    return content.replace(listed, bytes([0x35, 0x10, 0x00, 0x06]), 1)


def test_the_order_of_encodings_in_a_parquet_footer_says_nothing(tmp_path: Path, parquet: bytes) -> None:
    other = swapped(parquet)
    assert other != parquet
    assert pq.read_table(pa.BufferReader(other)).equals(pq.read_table(pa.BufferReader(parquet)))
    assert digest(tmp_path / "a", other) == digest(tmp_path / "b", parquet) is not None


def test_every_other_byte_of_a_parquet_file_counts(tmp_path: Path, parquet: bytes) -> None:
    expected = digest(tmp_path / "a", parquet)
    same = []
    for place in range(len(parquet)):
        changed = bytearray(parquet)
        changed[place] ^= 1
        if digest(tmp_path / "b", bytes(changed)) == expected:
            same.append(place)
    assert same == []
    assert digest(tmp_path / "b", parquet[:-9] + b"\1" + parquet[-8:]) != expected  # the end of the footer's struct


def test_other_files_count_byte_by_byte_and_what_only_looks_like_parquet_too(tmp_path: Path, parquet: bytes) -> None:
    for content in (
        b"",
        b"a",
        b"PAR1",
        b"PAR1\xff\xff\xff\xffPAR1",
        b"PAR1\x04\0\0\0PAR1",
        parquet[:-1],
        b"PAR1" + b"\x1c" * 5000 + b"\x88\x13\0\0PAR1",
    ):
        assert digest(tmp_path / "a", content) == digest(tmp_path / "b", content) is not None
        assert digest(tmp_path / "a", content) != digest(tmp_path / "b", content + b"\0")


def test_a_file_of_another_length_than_it_had_has_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc" * 10)
    with path.open("rb", buffering=0) as file:
        assert digest_of(file, 29) is None
        assert digest_of(file, 31) is None
