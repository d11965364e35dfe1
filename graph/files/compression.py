"""Unpacks compressed text files like Hadoop's codecs, which are chosen by the file's suffix.

A limit protects against a small file that unpacks to terabytes.
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
    """Return whether a file name has the suffix of a compressed file."""
    suffix = PurePath(name).suffix
    return suffix in _CODECS or suffix in _OTHERS


def unpack_file(stored: StoredFile, most_bytes: int = _MOST) -> mmap | bytes:
    """Return the content of a file, unpacked if its name has the suffix of a codec. `most_bytes` limits the unpacked size.

    Raises:
        OSError: the file cannot be read, or is damaged.
        UnsupportedError: the compression is not supported, or the file is larger than the limit.
    """
    suffix = PurePath(stored.name).suffix  # Hadoop's suffixes are case-sensitive
    if suffix in _OTHERS:
        raise UnsupportedError(f"{stored.name} is compressed in a way that records cannot be read from ({suffix}).")
    content = stored.content()
    if suffix not in _CODECS:
        return content
    parts, size = [], 0
    try:
        for part in _CODECS[suffix](content):
            size += len(part)
            if size > most_bytes:
                raise UnsupportedError(f"{stored.name} is larger than {most_bytes} bytes when unpacked; its records are not read.")
            parts.append(part)
    except (ValueError, EOFError, zlib.error, pa.ArrowException, OSError) as error:
        raise OSError(f"{stored.name} cannot be decompressed: {error}") from error
    return b"".join(parts)


def _read_stream(stream: io.BufferedIOBase) -> Iterator[bytes]:
    while part := stream.read(_STEP):
        yield part


def _unpack_gzip(content: mmap | bytes) -> Iterator[bytes]:
    return _read_stream(gzip.GzipFile(fileobj=io.BytesIO(content)))


def _unpack_bzip2(content: mmap | bytes) -> Iterator[bytes]:
    return _read_stream(bz2.BZ2File(io.BytesIO(content)))


def _unpack_deflate(content: mmap | bytes) -> Iterator[bytes]:
    stream, remaining = zlib.decompressobj(), bytes(content[:])
    while not stream.eof:
        part = stream.decompress(remaining, _STEP)
        if not part:
            raise EOFError("it ends before its last record")
        yield part
        remaining = stream.unconsumed_tail


def _unpack_zstd(content: mmap | bytes) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(content)), "zstd") as stream:
        while part := stream.read(_STEP):
            yield part


def _unpack_snappy(content: mmap | bytes) -> Iterator[bytes]:
    """Unpack Hadoop's snappy frames: the length of a block, then its chunks, each after its own length, all big-endian."""
    position, codec = 0, pa.Codec("snappy")
    while position < len(content):
        bytes_left, position = _read_length(content, position)
        while bytes_left > 0:
            size, position = _read_length(content, position)
            chunk = content[position : position + size]
            raw = _read_varint(chunk)
            if len(chunk) < size or not 0 < raw <= bytes_left:
                raise EOFError("a block of snappy is cut off")
            yield codec.decompress(chunk, decompressed_size=raw, asbytes=True)
            position, bytes_left = position + size, bytes_left - raw


def _read_length(content: mmap | bytes, position: int) -> tuple[int, int]:
    if position + 4 > len(content):
        raise EOFError("a block of snappy is cut off")
    return int.from_bytes(content[position : position + 4], "big"), position + 4


def _read_varint(chunk: bytes) -> int:
    value = 0
    for place, byte in enumerate(chunk[:5]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value
    raise EOFError("a block of snappy is cut off")


_CODECS: dict[str, Callable[[mmap | bytes], Iterator[bytes]]] = {
    ".gz": _unpack_gzip, ".bz2": _unpack_bzip2, ".deflate": _unpack_deflate, ".zst": _unpack_zstd, ".snappy": _unpack_snappy,
}  # fmt: skip
