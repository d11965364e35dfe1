"""Messages between the service and its child processes: a length of eight bytes, then a pickle.

Both ends are this program, over a private pipe. Network input is never unpickled.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")


def packed(message: object) -> bytes:
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> Any:
    return pickle.loads(body)  # noqa: S301 - from our own process, see above


def read(stream: BinaryIO) -> Any | None:
    """Read the next message of a blocking stream. Returns None at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return unpacked(body) if len(body) == length else None
