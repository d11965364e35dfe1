"""Reads the body of a request outside of the event loop, unless the body is very small."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fastapi import Request

from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.ingest.intake.bodies import unpack
from headwater.backend.process.turns import Caller
from headwater.errors import InvalidInputError

SMALL = 4 * 1024  # bodies up to this number of bytes are read on the event loop, in a millisecond
T = TypeVar("T")


async def read_body(
    request: Request, parts: Service, who: Principal, read: Callable[..., T], *arguments: object, limit: int | None = None, inline: int = 0
) -> T:
    """Return the result of `read` for a body.

    `read` is called with the bytes, their content encoding, the limit of the unpacked size, and `arguments`. A body of less than `inline`
    unpacked bytes is read immediately, unless bodies of the tenant take long. Raises like `Readers.read`.
    """
    body = await request.body()
    encoding = request.headers.get("content-encoding")
    most = parts.settings.max_body_bytes if limit is None else min(limit, parts.settings.max_body_bytes)
    if parts.readers.inline.has_left(who.tenant) and (small := small_body(body, encoding, inline)) is not None:
        with parts.readers.inline.counted(who.tenant):
            return read(small, None, most, *arguments)
    return await parts.readers.read(Caller(who.tenant, who.holder), request.receive, read, body, encoding, most, *arguments)


def small_body(body: bytes, encoding: str | None, inline: int) -> bytes | None:
    """Return the unpacked body if it has less than `inline` bytes, or None if it is larger or its encoding is wrong."""
    if encoding is None:
        return body if len(body) < inline else None
    try:
        return unpack(body, encoding=encoding, limit=inline - 1) if len(body) < min(inline, SMALL) else None
    except InvalidInputError:
        return None
