"""Limits the size of the table metadata that one trace reads, and turns errors in metadata into `UnsupportedError`.

Anybody who may write to a table's folder can write its metadata. A small file may unpack to terabytes, or contain any number of entries.
Metadata beyond the limits are refused, and the answer reports what is missing.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from headwater.errors import HeadwaterError, UnsupportedError
from headwater.graph.files.avro_blocks import find_blocks, load_avro
from headwater.graph.records import Look

_FILES = 2_000
_BYTES = 256 << 20  # bytes of all files, as stored
_UNPACKED = 512 << 20  # bytes of all files, unpacked
_ENTRIES = 500_000  # entries; each takes a few hundred bytes of memory
_TEXT = 64 << 20  # bytes of one JSON document, which takes ten times as much memory
_STEP = 1 << 22


class Allowance:
    """The remaining limits for the metadata of one table."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._files, self._bytes, self._unpacked, self._entries = _FILES, _BYTES, _UNPACKED, _ENTRIES

    def read_content(self, look: Look, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            UnsupportedError: the file may not be read, or is too large.
            SourceUnavailableError: the storage does not return the file.
            OSError: the file cannot be read.
        """
        block, stored = look.file(path)
        self._files -= 1
        self._bytes -= block.length
        if self._files < 0:
            raise self._make_limit_error(f"{_FILES} files")
        if self._bytes < 0:
            raise self._make_limit_error(f"{_BYTES >> 20} MB")
        return bytes(stored.content())

    def read_text(self, look: Look, path: str, *, is_packed: bool = False) -> bytes:
        """Return the bytes of a JSON document, unpacked if it is packed by gzip. Raises as `read_content` does."""
        content = self.read_content(look, path)
        if is_packed:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as gzip_file:
                content = gzip_file.read(_TEXT + 1)
        if len(content) > _TEXT:
            raise self._make_limit_error(f"{_TEXT >> 20} MB in one document")
        return content

    def read_records(self, look: Look, path: str) -> Iterator[Mapping[str, Any]]:
        """Return the records of an Avro file. Raises as `read_content` does."""
        content = self.read_content(look, path)
        self._check_unpacked(content, path)
        for record in load_avro().reader(io.BytesIO(content)):
            self.count_entry()
            yield record

    def count_entry(self) -> None:
        """Count an entry of the metadata.

        Raises:
            UnsupportedError: there are too many entries.
        """
        self._entries -= 1
        if self._entries < 0:
            raise self._make_limit_error(f"{_ENTRIES:,} entries")

    def count_unpacked(self, size: int) -> None:
        """Count unpacked bytes. Raises as `count_entry` does."""
        self._unpacked -= size
        if self._unpacked < 0:
            raise self._make_limit_error(f"{_UNPACKED >> 20} MB once they are unpacked")

    def _check_unpacked(self, content: bytes, path: str) -> None:
        """Check the unpacked size of the blocks of an Avro file before its reader unpacks them."""
        blocks = find_blocks(content, path)
        codec = blocks.metadata.get("avro.codec", "null")
        if codec not in _CODECS:
            raise UnsupportedError(f"{path} is compressed in a way that is not read here ({codec[:40]}).")
        for begin, end in zip(blocks.begins.tolist(), blocks.ends.tolist(), strict=True):
            position = begin
            for _ in range(2):  # the numbers of records and of bytes
                while content[position] >= 0x80:
                    position += 1
                position += 1
            for size in _CODECS[codec](content[position : end - 16]):
                self.count_unpacked(size)

    def _make_limit_error(self, bound: str) -> UnsupportedError:
        return UnsupportedError(f"The metadata of {self._table} are too much to be read for a trace: more than {bound}.")


@contextmanager
def translate_faults(table: str) -> Iterator[None]:
    """Turn any error that invalid metadata cause into `UnsupportedError`.

    Raises:
        UnsupportedError: the metadata cannot be read.
    """
    try:
        yield
    except (HeadwaterError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - the library's own, numbers beyond any range, nesting beyond any depth
        reason = str(error).splitlines()[0][:200] if str(error) else "no more is known"
        raise UnsupportedError(f"The metadata of {table} cannot be read: {type(error).__name__}: {reason}.") from None


def _deflate(data: bytes) -> Iterator[int]:
    stream = zlib.decompressobj(-15)
    while data and not stream.eof:
        yield len(stream.decompress(data, _STEP))
        data = stream.unconsumed_tail


def _unpack_zstandard(data: bytes) -> Iterator[int]:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while part := stream.read(_STEP):
            yield len(part)


def _unpack_snappy(data: bytes) -> Iterator[int]:
    """Unpack a snappy block. The block begins with the length of its unpacked bytes."""
    size = 0
    for place, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    yield size


_CODECS = {"null": lambda data: iter([len(data)]), "deflate": _deflate, "zstandard": _unpack_zstandard, "snappy": _unpack_snappy}
