"""URIs of places whose records are read by key: tables of databases, partitions of topics.

URIs come from manifests and questions, so from anybody who may write to the service. Only a plain form is accepted, and nothing is
repaired.

    postgres://host:port/database.schema.table     a part of the name with a dot or a quote is in quotes
    kafka://host:port/topic/id of the topic/partition
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from headwater.errors import UnsupportedError
from headwater.graph.storage.addresses import CONTROL, LONGEST, Address

SCHEMES = ("kafka", "postgres")
_URI = re.compile(
    r"(kafka|postgres)://([A-Za-z0-9][A-Za-z0-9._-]{0,253}:[0-9]{1,5}|\[[0-9A-Fa-f:.]{2,64}\]:[0-9]{1,5})(?:/(.*))?", re.DOTALL
)
_PART = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')
_TOPIC = re.compile(r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]{1,249}(?:/[A-Za-z0-9_-]{22}/(?:0|[1-9][0-9]{0,6}))?")
_FORMS = "postgres://host:port/database.schema.table or kafka://host:port/topic"


def is_keyed(uri: str) -> bool:
    """Return whether a text is the URI of a table or a topic."""
    return uri.startswith(("kafka://", "postgres://"))


def keyed_address(uri: str) -> Address:
    """Return the address in the URI of a table, a topic, a database or a cluster. Escapes are decoded.

    Raises:
        UnsupportedError: the URI has another form.
    """
    match = _URI.fullmatch(uri) if len(uri) <= LONGEST else None
    try:
        path = unquote(match[3] or "", errors="strict") if match else ""
    except UnicodeDecodeError:
        path = "\x00"
    if match is None or CONTROL.search(path) or not _is_plain(match[1], path):
        raise UnsupportedError(f"What lies there is not readable here: its address has not the form {_FORMS}.")
    return Address(match[1], match[2], path)


def parts_of(address: Address) -> list[str]:
    """Return the parts of an address: database, schema, table, or topic, id, partition."""
    if address.scheme == "kafka":
        return address.path.split("/") if address.path else []
    parts, position, path = [], 0, address.path
    while position < len(path) and (part := _PART.match(path, position)):
        parts.append(part[1].replace('""', '"') if part[1] else part[2])
        position = part.end()
        if position == len(path):
            return parts
        if path[position] != ".":
            break
        position += 1
    return []


def is_below(address: Address, root: Address) -> bool:
    """Return whether an address belongs to a root, which is a database or the brokers of Kafka."""
    if (address.scheme, address.authority) != (root.scheme, root.authority):
        return False
    return root.scheme == "kafka" or address.path.startswith(f"{root.path}.")


def _is_plain(scheme: str, path: str) -> bool:
    if scheme == "kafka":
        return not path or _TOPIC.fullmatch(path) is not None
    return len(parts_of(Address(scheme, "", path))) in (1, 3)
