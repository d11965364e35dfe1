"""The names of an export: our node ids and our own terms, each in a namespace of its own.

An id becomes the qualified name `node:<id>`. Node ids hold only characters that a qualified name may hold (the others are
percent-encoded in them), so the id can be read back from the name without a table.
"""

from __future__ import annotations

from datetime import datetime

from prov.identifier import Namespace, QualifiedName

NODE = Namespace("node", "urn:headwater:node:")
TERM = Namespace("hw", "urn:headwater:term:")
NAMESPACES = (NODE, TERM)


def qname(identifier: str) -> QualifiedName:
    """The qualified name of a node id."""
    return NODE[identifier]


def term(name: str) -> QualifiedName:
    """A term of ours: a type as `hw:Version`, an attribute as `hw:rowCount`."""
    return TERM[name]


def instant(text: object) -> datetime | None:
    """A point in time from a property of a node; None where there is none.

    Raises:
        ValueError: it is no ISO 8601 instant; the projector stores no other.
    """
    return None if text is None else datetime.fromisoformat(str(text))
