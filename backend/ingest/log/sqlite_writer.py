"""Appends to the SQLite log: a few statements for all drafts of one commit.

Each statement releases the interpreter lock and waits to get it back, for milliseconds if other threads are busy. With two statements per
draft, fifty callers would wait a third of a second. The drafts of all callers are therefore written together. Statements have a few fixed
sizes, and SQLite compiles each once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headwater.backend.ingest.log.model import Draft, Receipt

T = TypeVar("T")

_SIZES = (64, 16, 4, 1)  # rows per statement
# Offsets are assigned here. The writer holds the only write lock; AUTOINCREMENT continues after the greatest offset ever assigned.
_GREATEST = "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'entry'), 0), coalesce((SELECT max(offset) FROM entry), 0))"
_KNOWN = {size: f"SELECT key, offset FROM entry WHERE tenant = ? AND key IN ({', '.join('?' * size)})" for size in _SIZES}
_INSERT = {
    size: f"INSERT INTO entry (offset, tenant, kind, key, received, body) VALUES {', '.join(['(?, ?, ?, ?, ?, ?)'] * size)}"
    for size in _SIZES
}


@dataclass(frozen=True, slots=True)
class Append:
    """Drafts of a tenant to append together."""

    tenant: str
    drafts: Sequence[Draft]
    received: str


def insert(connection: sqlite3.Connection, appends: Sequence[Append]) -> list[Sequence[Receipt]]:
    """Append new documents, in order, and return the receipts of each append. The caller's transaction holds the write lock."""
    if not appends:
        return []
    known = _known(connection, appends)
    (greatest,) = connection.execute(_GREATEST).fetchone()
    rows: list[tuple[Any, ...]] = []
    receipts: list[Sequence[Receipt]] = []
    for append in appends:
        of_append = []
        for draft in append.drafts:
            key = (append.tenant, draft.key)
            offset = known.get(key)
            of_append.append(Receipt(offset or greatest + 1, duplicate=offset is not None))
            if offset is None:
                greatest += 1
                known[key] = greatest
                rows.append((greatest, append.tenant, draft.kind, draft.key, append.received, draft.body))
        receipts.append(of_append)
    for some in _portions(rows):
        connection.execute(_INSERT[len(some)], [value for row in some for value in row])
    return receipts


def _known(connection: sqlite3.Connection, appends: Sequence[Append]) -> dict[tuple[str, bytes], int]:
    keys: dict[str, dict[bytes, None]] = {}
    for append in appends:
        keys.setdefault(append.tenant, {}).update(dict.fromkeys(draft.key for draft in append.drafts))
    found: dict[tuple[str, bytes], int] = {}
    for tenant, of_tenant in keys.items():
        for some in _portions(list(of_tenant)):
            found |= {(tenant, key): offset for key, offset in connection.execute(_KNOWN[len(some)], [tenant, *some])}
    return found


def _portions(items: Sequence[T]) -> Iterator[Sequence[T]]:
    place = 0
    for size in _SIZES:
        while len(items) - place >= size:
            yield items[place : place + size]
            place += size
