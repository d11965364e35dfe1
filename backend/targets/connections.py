"""Connects to hosts that an operator named.

The host name is resolved once. The connection uses the checked address, so a name server cannot redirect it after the check.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from ipaddress import ip_address
from urllib.parse import urlsplit

from headwater.errors import UnavailableError

SECONDS = 10.0  # time limit of a connection, and of each answer


class AddressError(UnavailableError):
    """A host has no address, or an address that the service may not use."""

    transient = False


def connect(host: str, port: int, *, is_private: bool) -> socket.socket:
    """Connect to a host. Unless `is_private` is true, all addresses of the host must be public.

    Raises:
        AddressError: an address belongs to a private network, or to this machine.
        OSError: the host does not answer.
    """
    found = [info[4][0] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    addresses = [ip_address(str(one).partition("%")[0]) for one in dict.fromkeys(found)]
    mapped = [getattr(one, "ipv4_mapped", None) or one for one in addresses]
    if not is_private and (inner := next((one for one in mapped if not one.is_global or one.is_multicast), None)):
        raise AddressError(
            f"{host} has the address {inner}, which is not public.", hint="The operator may allow it: private = true in targets.toml."
        )
    failure: OSError | None = None
    for address in addresses:
        try:
            return socket.create_connection((str(address), port), timeout=SECONDS)
        except OSError as error:
            failure = error
    raise failure or OSError("no address")


class _HttpConnection(http.client.HTTPConnection):
    """A connection to the checked address of a host, with TLS for `https`."""

    def __init__(self, host: str, port: int, *, is_private: bool, tls: ssl.SSLContext | None) -> None:
        super().__init__(host, port, timeout=SECONDS)
        self._is_private = is_private
        self._tls = tls

    def connect(self) -> None:
        plain = connect(self.host, self.port, is_private=self._is_private)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host) if self._tls else plain


def connection_to(url: str, *, is_private: bool) -> tuple[http.client.HTTPConnection, str]:
    """Return a connection that is not yet open to the host of an http or https address, and the path to request."""
    parts = urlsplit(url)
    assert parts.hostname is not None  # noqa: S101 - the settings check it
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    connection = _HttpConnection(parts.hostname, parts.port or (443 if tls else 80), is_private=is_private, tls=tls)
    return connection, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
