"""Compressed text files, unpacked as Hadoop's codecs do, by the file's suffix.

Nothing is unpacked beyond a bound: a file of a few megabytes may say that it stands for terabytes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from mmap import mmap
from pathlib import PurePath

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.storage import StoredFile

_MOST = 2 << 30  # bytes of a file, unpacked
_STEP = 1 << 24
_OTHERS = frozenset({".lz4", ".xz", ".zip"})


def is_packed(name: str) -> bool:
    """Whether a file of this name is compressed."""
    suffix = PurePath(name).suffix
    return suffix in _CODECS or suffix in _OTHERS


def unpacked(stored: StoredFile, most: int = _MOST) -> mmap | bytes:
    """The content of a file, unpacked where its suffix says so. `most` is a bound in bytes, of what is unpacked.

    Raises:
        OSError: it cannot be read, or is damaged.
        UnsupportedError: it is compressed in another way, or is larger than the bound.
    """
    suffix = PurePath(stored.name).suffix  # Hadoop minds its case
    if suffix in _OTHERS:
        raise UnsupportedError(f"{stored.name} is compressed in a way that records cannot be read from ({suffix}).")
    content = stored.content()
    if suffix not in _CODECS:
        return content
    parts, size = [], 0
    try:
        for part in _CODECS[suffix](content):
            size += len(part)
            if size > most:
                raise UnsupportedError(f"{stored.name} is larger than {most} bytes when unpacked; its records are not read.")
            parts.append(part)
    except (ValueError, EOFError, zlib.error, pa.ArrowException, OSError) as error:
        raise OSError(f"{stored.name} cannot be decompressed: {error}") from error
    return b"".join(parts)


def _streamed(opened: io.BufferedIOBase) -> Iterator[bytes]:
    while part := opened.read(_STEP):
        yield part


def _gzip(content: mmap | bytes) -> Iterator[bytes]:
    return _streamed(gzip.GzipFile(fileobj=io.BytesIO(content)))


def _bzip2(content: mmap | bytes) -> Iterator[bytes]:
    return _streamed(bz2.BZ2File(io.BytesIO(content)))


def _deflate(content: mmap | bytes) -> Iterator[bytes]:
    stream, given = zlib.decompressobj(), bytes(content[:])
    while not stream.eof:
        part = stream.decompress(given, _STEP)
        if not part:
            raise EOFError("it ends before its last record")
        yield part
        given = stream.unconsumed_tail


def _zstd(content: mmap | bytes) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(content)), "zstd") as stream:
        while part := stream.read(_STEP):
            yield part


def _snappy(content: mmap | bytes) -> Iterator[bytes]:
    """Hadoop's frame: the length of a block, then chunks of it, each behind its own length; all big-endian."""
    at, codec = 0, pa.Codec("snappy")
    while at < len(content):
        left, at = _length(content, at)
        while left > 0:
            size, at = _length(content, at)
            chunk = content[at : at + size]
            raw = _varint(chunk)
            if len(chunk) < size or not 0 < raw <= left:
                raise EOFError("a block of snappy is cut off")
            yield codec.decompress(chunk, decompressed_size=raw, asbytes=True)
            at, left = at + size, left - raw


def _length(content: mmap | bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(content):
        raise EOFError("a block of snappy is cut off")
    return int.from_bytes(content[at : at + 4], "big"), at + 4


def _varint(chunk: bytes) -> int:
    """The length with which a chunk of snappy begins."""
    value = 0
    for place, byte in enumerate(chunk[:5]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value
    raise EOFError("a block of snappy is cut off")


_CODECS: dict[str, Callable[[mmap | bytes], Iterator[bytes]]] = {
    ".gz": _gzip, ".bz2": _bzip2, ".deflate": _deflate, ".zst": _zstd, ".snappy": _snappy,
}  # fmt: skip
