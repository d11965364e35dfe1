"""The names of an export: our node ids and our own terms, each in its own namespace.

An id becomes the IRI `urn:headwater:node:<id>`. Node ids only have characters that such an IRI may contain (the others are
percent-encoded). So the id can be read back from the name without a table.
"""

from __future__ import annotations

from datetime import UTC, datetime

from headwater.graph.prov.model import PROV, XSD

NODE = "urn:headwater:node:"
TERM = "urn:headwater:term:"
NAMESPACES = {"node": NODE, "hw": TERM, "prov": PROV, "xsd": XSD}

TYPE = f"{PROV}type"
LABEL = f"{PROV}label"


def iri(identifier: str) -> str:
    return NODE + identifier


def term(name: str) -> str:
    """Return the IRI of our own term: a type like `hw:Version`, an attribute like `hw:rows`."""
    return TERM + name


def instant(value: object) -> str | None:
    """Return a property of a node as xsd:dateTime, or None if the node has none.

    Raises:
        ValueError: the property is no instant in ISO 8601. The projector stores no such property.
    """
    if value is None:
        return None
    parsed = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    zoned = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return zoned.isoformat().replace("+00:00", "Z")
