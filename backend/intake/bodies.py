"""Request bodies, unpacked within bounds: a small body must not become a large one unseen."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from headwater.backend.intake.body_budget import BodyShare
from headwater.errors import InvalidInputError

_GZIP = 16 + zlib.MAX_WBITS
# Threads that read share one interpreter with the loop: more of them would make it wait longer, and the bodies no shorter.
_READERS = ThreadPoolExecutor(2, thread_name_prefix="headwater-bodies")
_PIECE = 1 << 20
T = TypeVar("T")


class BodyTooLargeError(InvalidInputError):
    """A body that is larger than the service takes, packed or unpacked."""


async def apart(read: Callable[..., T], *arguments: object) -> T:
    """What `read` returns, in a thread for large bodies. Two are read at once; others wait."""
    return await asyncio.get_running_loop().run_in_executor(_READERS, copy_context().run, read, *arguments)


async def unpack_apart(body: bytes, *, encoding: str | None, limit: int, share: BodyShare) -> bytes:
    """As `unpack`, off the event loop: what is small may unpack to much. What it comes to is counted in the `share` of its request."""
    return await apart(partial(_counted, body, encoding=encoding, limit=limit, share=share)) if encoding else body


def _counted(body: bytes, *, encoding: str | None, limit: int, share: BodyShare) -> bytes:
    unpacked = unpack(body, encoding=encoding, limit=limit)
    if unpacked is not body:
        share.take(len(unpacked))
    return unpacked


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
    rest = body
    while rest:
        member = zlib.decompressobj(_GZIP)
        # Piece by piece: what is unpacked is in memory once, and no more of it than the limit.
        while not member.eof:
            try:
                piece = member.decompress(rest, min(_PIECE, limit + 1 - len(unpacked)))
            except zlib.error as error:
                raise InvalidInputError(
                    f"The body is not gzip: {error}.", field="body", hint="Send what Content-Encoding promises."
                ) from error
            if len(unpacked) + len(piece) > limit:
                raise BodyTooLargeError(f"The body unpacks to more than {limit} bytes.", field="body", hint="Send fewer events at once.")
            unpacked += piece
            rest = member.unconsumed_tail
            if not piece and not rest:
                break
        if not member.eof:
            raise InvalidInputError("The gzip body is cut short.", field="body", hint="Send it again.")
        rest = member.unused_data
    return bytes(unpacked)
