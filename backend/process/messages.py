"""Messages between the service and its child processes: a length of eight bytes, then a pickle.

Both ends are this program, over a private pipe. Network input is never unpickled.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")


def packed(message: object) -> bytes:
    """The bytes of a message."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> Any:
    """The message of bytes without their length."""
    return pickle.loads(body)  # noqa: S301 - from our own process, see above


def read(stream: BinaryIO) -> Any | None:
    """The next message of a blocking stream; None at its end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return unpacked(body) if len(body) == length else None
