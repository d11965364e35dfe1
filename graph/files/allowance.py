"""How much of a table's metadata one look at them may read, and what in them is taken for a fault.

For traces that go by the metadata of tables: whoever may write to a table's folder wrote them. A small file may stand for terabytes once it
is unpacked, or for any number of entries; what is beyond the bounds is refused, and the answer then says what it could not know.
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
from headwater.graph.files.avro_blocks import avro, find_blocks
from headwater.graph.records import Look

_FILES = 2_000
_BYTES = 256 << 20  # of all files, as they are stored
_UNPACKED = 512 << 20  # of all files, unpacked
_ENTRIES = 500_000  # a few hundred bytes each in memory
_TEXT = 64 << 20  # bytes of one JSON document: in memory it is ten times that
_STEP = 1 << 22


class Allowance:
    """What may still be read of the metadata of one table."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._files, self._bytes, self._unpacked, self._entries = _FILES, _BYTES, _UNPACKED, _ENTRIES

    def content(self, look: Look, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            UnsupportedError: it may not be read, or is too much.
            SourceUnavailableError: its storage does not give it.
            OSError: it cannot be read.
        """
        block, stored = look.file(path)
        self._files -= 1
        self._bytes -= block.length
        if self._files < 0:
            raise self._too_much(f"{_FILES} files")
        if self._bytes < 0:
            raise self._too_much(f"{_BYTES >> 20} MB")
        return bytes(stored.content())

    def text(self, look: Look, path: str, *, packed: bool = False) -> bytes:
        """The bytes of a JSON document, which may be packed by gzip. Raises as `content` does, and where it is damaged."""
        content = self.content(look, path)
        if packed:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as opened:
                content = opened.read(_TEXT + 1)
        if len(content) > _TEXT:
            raise self._too_much(f"{_TEXT >> 20} MB in one document")
        return content

    def records(self, look: Look, path: str) -> Iterator[Mapping[str, Any]]:
        """The records of an Avro file. Raises as `content` does, and where it is damaged."""
        content = self.content(look, path)
        self._check_unpacked(content, path)
        for record in avro().reader(io.BytesIO(content)):
            self.entry()
            yield record

    def entry(self) -> None:
        """Count an entry that is read.

        Raises:
            UnsupportedError: they are too many.
        """
        self._entries -= 1
        if self._entries < 0:
            raise self._too_much(f"{_ENTRIES:,} entries")

    def unpacked(self, size: int) -> None:
        """Count bytes that are unpacked. Raises as `entry` does."""
        self._unpacked -= size
        if self._unpacked < 0:
            raise self._too_much(f"{_UNPACKED >> 20} MB once they are unpacked")

    def _check_unpacked(self, content: bytes, path: str) -> None:
        """See what the blocks of an Avro file unpack to, before its reader does so."""
        blocks = find_blocks(content, path)
        codec = blocks.metadata.get("avro.codec", "null")
        if codec not in _CODECS:
            raise UnsupportedError(f"{path} is compressed in a way that is not read here ({codec[:40]}).")
        for begin, end in zip(blocks.begins.tolist(), blocks.ends.tolist(), strict=True):
            at = begin
            for _ in range(2):  # the numbers of records and of bytes
                while content[at] >= 0x80:
                    at += 1
                at += 1
            for size in _CODECS[codec](content[at : end - 16]):
                self.unpacked(size)

    def _too_much(self, bound: str) -> UnsupportedError:
        return UnsupportedError(f"The metadata of {self._table} are too much to be read for a trace: more than {bound}.")


@contextmanager
def faults_of_metadata(table: str) -> Iterator[None]:
    """Whatever metadata that are not as they must be give rise to, as one error.

    Raises:
        UnsupportedError: they cannot be read.
    """
    try:
        yield
    except (HeadwaterError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - the library's own, numbers beyond any range, nesting beyond any depth
        reason = str(error).splitlines()[0][:200] if str(error) else "no more is known"
        raise UnsupportedError(f"The metadata of {table} cannot be read: {type(error).__name__}: {reason}.") from None


def _deflated(data: bytes) -> Iterator[int]:
    stream = zlib.decompressobj(-15)
    while data and not stream.eof:
        yield len(stream.decompress(data, _STEP))
        data = stream.unconsumed_tail


def _zstandard(data: bytes) -> Iterator[int]:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while part := stream.read(_STEP):
            yield len(part)


def _snappy(data: bytes) -> Iterator[int]:
    """The length stands before the bytes."""
    size = 0
    for place, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    yield size


_CODECS = {"null": lambda data: iter([len(data)]), "deflate": _deflated, "zstandard": _zstandard, "snappy": _snappy}
