"""Request bodies, unpacked within bounds: a small body must not become a large one unseen."""

from __future__ import annotations

import zlib

from headwater.errors import InvalidInputError

_GZIP = 16 + zlib.MAX_WBITS
_PIECE = 1 << 20  # bytes that are unpacked at once
_PACKED_PIECE = 1 << 12  # packed bytes that are unpacked at once; a body may consist of members of twenty bytes


class BodyTooLargeError(InvalidInputError):
    """A body that is larger than the service takes, packed or unpacked."""


def unpack(body: bytes, *, encoding: str | None, limit: int) -> bytes:
    """The body without its content encoding (`gzip`, `identity` or none).

    Raises:
        BodyTooLargeError: it would unpack to more than `limit` bytes; no more than that is ever unpacked.
        InvalidInputError: it is not gzip, or is cut short, or the encoding is another one.
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
    """Unpack the member that begins at `start`; the place behind it.

    Piece by piece, in both: what is unpacked is in memory once, and of what is not used nothing is copied but a
    piece.
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
