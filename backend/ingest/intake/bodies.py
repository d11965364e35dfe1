"""Decompresses request bodies within limits, because a small body may decompress to a very large one."""

from __future__ import annotations

import zlib

from headwater.errors import InvalidInputError

_GZIP = 16 + zlib.MAX_WBITS
_PIECE = 1 << 20  # bytes of output per step
_PACKED_PIECE = 1 << 12  # bytes of input per step; a body may consist of members of twenty bytes


class BodyTooLargeError(InvalidInputError):
    """A body is larger than the limit, before or after decompression."""


def unpack(body: bytes, *, encoding: str | None, limit: int) -> bytes:
    """Return the decompressed body. The encoding is `gzip`, `identity` or None.

    Raises:
        BodyTooLargeError: the result would have more than `limit` bytes. No more than that is ever decompressed.
        InvalidInputError: the body is not gzip, or is truncated, or the encoding is unsupported.
    """
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return body
    if name not in ("gzip", "x-gzip"):
        raise InvalidInputError(f"Content-Encoding {name!r} is not known.", field="Content-Encoding", hint="Send gzip or nothing.")
    return _gunzip(body, limit)


def _gunzip(body: bytes, limit: int) -> bytes:
    unpacked = bytearray()
    place = 0
    while place < len(body):
        place = _gunzip_member(body, place, unpacked, limit)
    return bytes(unpacked)


def _gunzip_member(body: bytes, start: int, unpacked: bytearray, limit: int) -> int:
    """Decompress the member that begins at `start`, and return the position after it.

    Both sides are processed in pieces. The result is in memory once, and the rest of the input is never copied as a whole.
    """
    member = zlib.decompressobj(_GZIP)
    for place in range(start, len(body), _PACKED_PIECE):
        rest = body[place : place + _PACKED_PIECE]
        while rest:
            try:
                piece = member.decompress(rest, min(_PIECE, limit + 1 - len(unpacked)))
            except zlib.error as error:
                raise InvalidInputError(
                    f"The body is not gzip: {error}.", field="body", hint="Send what Content-Encoding promises."
                ) from error
            if len(unpacked) + len(piece) > limit:
                raise BodyTooLargeError(f"The body unpacks to more than {limit} bytes.", field="body", hint="Send fewer events at once.")
            unpacked += piece
            if member.eof:
                return place + min(_PACKED_PIECE, len(body) - place) - len(member.unused_data)
            rest = member.unconsumed_tail
    raise InvalidInputError("The gzip body is cut short.", field="body", hint="Send it again.")
