"""Connections to hosts that an operator named.

The name is resolved once, and the connection goes to the address that was checked: a name server cannot lead it elsewhere in between.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address

from headwater.errors import UnavailableError

SECONDS = 10.0  # for a connection, and for each answer


class AddressError(UnavailableError):
    """The host has no address, or only one where the service may not connect to."""

    transient = False


def connect(host: str, port: int, *, is_private: bool) -> socket.socket:
    """Connect to a host. Without `is_private`, all of its addresses must be public.

    Raises:
        AddressError: an address is of a private network, or of this machine.
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
