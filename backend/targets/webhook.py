"""Sends webhooks: JSON by POST to an address that the operator named, signed with HMAC.

The signature is in `X-Headwater-Signature: t=SECONDS,v1=HEX`: HMAC-SHA256 of `SECONDS.BODY` with the target's secret. `Idempotency-Key`
is the same for each attempt of one delivery. Redirects are not followed and proxies are not used. Only the status of the answer counts.
"""

from __future__ import annotations

import hmac
import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import headwater
from headwater.backend.targets.connections import connection_to
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


def call_webhook(target: WebhookTarget, document: Mapping[str, Any], *, key: str) -> int:
    """Send a document, and return the status code of the answer. `key` identifies the delivery.

    Raises:
        UnavailableError: the receiver does not answer, or asks for a later attempt.
        DeliveryError: the receiver refused the request.
    """
    body = json.dumps(document, separators=(",", ":")).encode()
    connection, path = connection_to(target.url, is_private=target.is_private)
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
