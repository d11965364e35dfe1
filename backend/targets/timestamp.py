"""Asks a time-stamp authority that the operator named (RFC 3161 over HTTP).

The request has a hash only. The answer is limited in size, and in the time of all of it. Redirects are not followed, and proxies not used.
"""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field

import headwater
from headwater.backend.targets.connections import connection_to
from headwater.errors import UnavailableError

_QUERY, _REPLY = "application/timestamp-query", "application/timestamp-reply"
_MOST_BYTES = 1 << 16
_SECONDS = 30.0  # for the whole exchange


@dataclass(frozen=True, slots=True)
class TimestampTarget:
    """A time-stamp authority. `certificate` is a PEM file with certificates that its tokens must lead to."""

    name: str
    url: str
    certificate: bytes = field(repr=False)
    is_private: bool = False


def ask_authority(target: TimestampTarget, request: bytes, *, seconds: float = _SECONDS) -> bytes:
    """Send a request, and return the answer.

    Raises:
        UnavailableError: the authority does not answer in time, or answers something else.
    """
    connection, path = connection_to(target.url, is_private=target.is_private)
    headers = {"Content-Type": _QUERY, "Accept": _REPLY, "User-Agent": f"headwater/{headwater.__version__}", "Connection": "close"}

    is_over = threading.Event()

    def stop() -> None:
        """End the exchange. Timeouts of a socket count from byte to byte, so a slow answer would never end."""
        is_over.set()
        if connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    limit = threading.Timer(seconds, stop)
    limit.daemon = True
    limit.start()
    try:
        connection.request("POST", path, request, headers)
        response = connection.getresponse()
        answer = response.read(_MOST_BYTES + 1)
        is_whole = not response.length
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error)[:200] or type(error).__name__
        raise UnavailableError(f"The time-stamp authority {target.name} does not answer: {reason}.", hint="Try again later.") from error
    finally:
        limit.cancel()
        connection.close()
    if is_over.is_set():
        raise UnavailableError(f"The time-stamp authority {target.name} does not answer in {seconds:.0f} s.", hint="Try again later.")
    kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
    if response.status != http.HTTPStatus.OK or kind != _REPLY:
        raise UnavailableError(
            f"The time-stamp authority {target.name} answered {response.status} and {kind[:80]!r}, not a time stamp.",
            hint="Look at the url in targets.toml. Redirects are not followed.",
        )  # fmt: skip
    if len(answer) > _MOST_BYTES or not is_whole:
        raise UnavailableError(
            f"The answer of the time-stamp authority {target.name} is not whole, or has more than {_MOST_BYTES:,} bytes.", hint="Try again."
        )
    return answer
