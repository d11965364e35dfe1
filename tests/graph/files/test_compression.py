"""Compressed text: unpacked as Hadoop's codecs do, within a bound; what is damaged is said to be."""

import bz2
import gzip
import zlib

import pyarrow as pa
import pytest

from headwater.errors import UnsupportedError
from headwater.graph.files.compression import unpack_file
from headwater.graph.storage import StoredFile
from tests.graph.trace.local import local

TEXT = b"".join(b"%d,%d\n" % (i, i * 7919 % 10007) for i in range(5000))


def hadoop_snappy(text: bytes) -> bytes:
    """Blocks of two chunks each."""
    made, codec = [], pa.Codec("snappy")
    for at in range(0, len(text), 4000):
        block = text[at : at + 4000]
        made.append(len(block).to_bytes(4, "big"))
        for part in (block[:2500], block[2500:]):
            if part:
                packed = codec.compress(part, asbytes=True)
                made += [len(packed).to_bytes(4, "big"), packed]
    return b"".join(made)


def zstd(text: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(text, asbytes=True))


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".deflate": zlib.compress, ".zst": zstd, ".snappy": hadoop_snappy}


def stored(tmp_path, suffix, content) -> StoredFile:
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(content)
    return local(path)


@pytest.mark.parametrize("suffix", PACKED)
def test_text_is_what_was_packed(tmp_path, suffix) -> None:
    assert unpack_file(stored(tmp_path, suffix, PACKED[suffix](TEXT))) == TEXT


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_files_one_after_the_other_are_one_file(tmp_path, suffix) -> None:
    assert unpack_file(stored(tmp_path, suffix, PACKED[suffix](TEXT) + PACKED[suffix](b"end\n"))) == TEXT + b"end\n"


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("cut", [-1, -7, 100])
def test_a_file_that_is_cut_off_is_damaged(tmp_path, suffix, cut) -> None:
    with pytest.raises(OSError, match="cannot be decompressed"):
        unpack_file(stored(tmp_path, suffix, PACKED[suffix](TEXT)[:cut]))


@pytest.mark.parametrize("suffix", PACKED)
def test_a_file_that_says_too_much_is_not_unpacked(tmp_path, suffix) -> None:
    with pytest.raises(UnsupportedError, match="larger than 1000 bytes"):
        unpack_file(stored(tmp_path, suffix, PACKED[suffix](bytes(1 << 25))), 1000)


def test_what_no_codec_is_known_for_is_refused_and_other_suffixes_are_plain(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="lz4"):
        unpack_file(stored(tmp_path, ".lz4", TEXT))
    assert unpack_file(stored(tmp_path, ".GZ", TEXT))[:] == TEXT  # Hadoop minds the case
