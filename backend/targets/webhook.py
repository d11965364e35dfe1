"""Sends webhooks: JSON by POST to an address that the operator named, signed with HMAC.

The signature is in `X-Headwater-Signature: t=SECONDS,v1=HEX`: HMAC-SHA256 of `SECONDS.BODY` with the target's secret. `Idempotency-Key`
is the same for each attempt of one delivery. Redirects are not followed and proxies are not used. Only the status of the answer counts.
"""

from __future__ import annotations

import hmac
import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import headwater
from headwater.backend.targets.connections import SECONDS, connect
from headwater.errors import HeadwaterError, UnavailableError

SIGNATURE = "X-Headwater-Signature"
_AGAIN = {408, 425, 429}


class DeliveryError(HeadwaterError):
    """The receiver refused a request, and would refuse a repeated request too."""


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A webhook. If `is_private` is true, its host may have an address of a private network.

    A delivery is repeated for `retry_seconds` while the receiver does not answer.
    """

    name: str
    url: str
    secret: bytes = field(repr=False)
    is_private: bool = False
    retry_seconds: float = 86_400.0


class _Connection(http.client.HTTPConnection):
    """A connection to the checked address of a host, with TLS for `https`."""

    def __init__(self, host: str, port: int, *, is_private: bool, tls: ssl.SSLContext | None) -> None:
        super().__init__(host, port, timeout=SECONDS)
        self._is_private = is_private
        self._tls = tls

    def connect(self) -> None:
        plain = connect(self.host, self.port, is_private=self._is_private)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host) if self._tls else plain


def call_webhook(target: WebhookTarget, document: Mapping[str, Any], *, key: str) -> int:
    """Send a document, and return the status code of the answer. `key` identifies the delivery.

    Raises:
        UnavailableError: the receiver does not answer, or asks for a later attempt.
        DeliveryError: the receiver refused the request.
    """
    parts = urlsplit(target.url)
    assert parts.hostname is not None  # noqa: S101 - the settings check it
    body = json.dumps(document, separators=(",", ":")).encode()
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    connection = _Connection(parts.hostname, parts.port or (443 if tls else 80), is_private=target.is_private, tls=tls)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {
        "Content-Type": "application/json", "User-Agent": f"headwater/{headwater.__version__}", "Idempotency-Key": key,
        SIGNATURE: sign(target.secret, body, int(time.time())), "Connection": "close",
    }  # fmt: skip
    try:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UnavailableError(f"The webhook {target.name} does not answer: {reason}.", hint="It is called again.") from error
    finally:
        connection.close()
    if 200 <= response.status < 300:
        return response.status
    if response.status >= 500 or response.status in _AGAIN:
        raise UnavailableError(f"The webhook {target.name} answered {response.status}.", hint="It is called again.")
    raise DeliveryError(f"The webhook {target.name} answered {response.status}.", hint="Redirects are not followed; look at the receiver.")


def sign(secret: bytes, body: bytes, seconds: int) -> str:
    """Return the signature of a body. `seconds` is the time of sending."""
    return f"t={seconds},v1={hmac.new(secret, b'%d.' % seconds + body, sha256).hexdigest()}"
