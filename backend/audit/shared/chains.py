"""The tables of the shared audit log: `audit_chain` has a row for each home's log, and `audit_line` its lines, numbered from 1.

A line is stored byte for byte, because the next line contains the digest of these bytes. Searchable members have columns of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from headwater.backend.audit.lines import Entry

if TYPE_CHECKING:
    from pg8000.native import Connection

HEADS = "audit.heads"  # type of a line with the ends of other chains
REMOVED = "audit.removed"
_INSERT = """
    INSERT INTO audit_line (chain, number, digest, at, tenant, who, decision, subjects, line)
    SELECT :chain, CAST(:first AS bigint) + g.place - 1, g.digest, g.at, g.tenant, g.who, g.decision, g.subjects, g.line
    FROM unnest(CAST(:digests AS bytea[]), CAST(:times AS text[]), CAST(:tenants AS text[]), CAST(:names AS text[]),
        CAST(:decisions AS text[]), CAST(:subjects AS text[]), CAST(:lines AS bytea[]))
        WITH ORDINALITY AS g(digest, at, tenant, who, decision, subjects, line, place)"""


@dataclass(frozen=True, slots=True)
class End:
    """The last line of a chain: its number, from 1, and its digest. Number 0 means that the chain is empty."""

    number: int = 0
    digest: bytes = b""


def end_of(connection: Connection, chain: str) -> End:
    rows = connection.run("SELECT number, digest FROM audit_line WHERE chain = :chain ORDER BY number DESC LIMIT 1", chain=chain)
    return End(int(rows[0][0]), bytes(rows[0][1])) if rows else End()


def known_of(connection: Connection, chain: str | None, lines: Sequence[bytes]) -> dict[bytes, tuple[str, int]]:
    """Return the chain and number of the lines that are already copied, by digest. A `chain` of None searches all chains."""
    rows = connection.run(
        "SELECT digest, chain, number FROM audit_line WHERE digest = ANY (CAST(:digests AS bytea[]))"
        " AND chain = coalesce(CAST(:chain AS text), chain) ORDER BY number",
        chain=chain, digests=_bytes([sha256(line).digest() for line in lines]),
    )  # fmt: skip
    return {bytes(digest): (str(of), int(number)) for digest, of, number in rows or ()}


def append(connection: Connection, chain: str, host: str, after: End, lines: Sequence[bytes]) -> End:
    """Append lines to a chain that ends at `after`, and return its new end. The same transaction must have read this end."""
    entries = [entry_of(line) for line in lines]
    digests = [sha256(line).digest() for line in lines]
    times = _times(entries)
    last = after.number + len(lines)
    # The last line with other content than ends of chains. Replicas record the end of a chain only if this number grows.
    telling = max((n for n, entry in enumerate(entries, after.number + 1) if entry.get("what") != HEADS), default=0)
    connection.run(
        "INSERT INTO audit_chain (chain, host, number, telling, seen) VALUES (:chain, :host, :last, :telling, clock_timestamp())"
        " ON CONFLICT (chain) DO UPDATE SET host = excluded.host, number = excluded.number, seen = excluded.seen,"
        " telling = greatest(audit_chain.telling, excluded.telling)",
        chain=chain, host=host, last=last, telling=telling,
    )  # fmt: skip
    connection.run(
        _INSERT, chain=chain, first=after.number + 1, digests=_bytes(digests), times=times,
        tenants=[_text(entry.get("tenant")) for entry in entries], names=[_text(entry.get("who")) or "" for entry in entries],
        decisions=[_text(entry.get("decision")) for entry in entries], subjects=[_subjects(entry) for entry in entries],
        lines=_bytes(lines),
    )  # fmt: skip
    return End(last, digests[-1])


def entry_of(line: bytes) -> Entry:
    """Return the members of a line, or an empty object if the line is damaged."""
    try:
        entry = json.loads(line)
        datetime.fromisoformat(entry["at"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def instant(at: datetime) -> str:
    """Return an instant as text. The order of these texts is the order of time."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _times(entries: Sequence[Entry]) -> list[str]:
    """Return the times of lines. A damaged line gets the time of the previous line, or of the next."""
    known = [instant(datetime.fromisoformat(entry["at"])) if entry else None for entry in entries]
    before = next(filter(None, known), instant(datetime.now(UTC)))
    found = []
    for at in known:
        before = at or before
        found.append(before)
    return found


def _subjects(entry: Entry) -> str:
    on = entry.get("on")
    return _text("\n".join(map(str, on))) or "" if isinstance(on, list) else ""


def _text(value: Any) -> str | None:
    """Replace characters that PostgreSQL cannot store: NUL and lone surrogates."""
    if value is None:
        return None
    return str(value).replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def _bytes(values: Sequence[bytes]) -> str:
    return "{" + ",".join(f'"\\\\x{value.hex()}"' for value in values) + "}"
