"""Verifies the links of all chains of the shared audit log, and the ends that replicas record of each other's chains.

The links of a chain reveal a line that was changed, removed, inserted or moved, except at the end. Lines cut off at the end are revealed if
another chain records a later end (`audit.heads`), or if the caller gives a head that was stored elsewhere. Nothing reveals that all chains
were cut off or rewritten together from one moment on. To detect this, store heads elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from headwater.backend.audit.chain import Break, ChainHead, Verified, digest
from headwater.backend.audit.lines import Entry
from headwater.backend.audit.shared.chains import HEADS, REMOVED, entry_of
from headwater.backend.ingest.log.postgres.address import Address, drop

if TYPE_CHECKING:
    from pg8000.native import Connection

_CHAINS = """
    WITH RECURSIVE c(chain) AS (SELECT min(chain) FROM audit_line
        UNION ALL SELECT (SELECT min(chain) FROM audit_line WHERE chain > c.chain) FROM c WHERE c.chain IS NOT NULL)
    SELECT coalesce(c.chain, a.chain), coalesce(a.host, ''),
        (SELECT coalesce(max(number), 0) FROM audit_line WHERE chain = c.chain), a.number
    FROM (SELECT chain FROM c WHERE chain IS NOT NULL) c FULL JOIN audit_chain a ON a.chain = c.chain ORDER BY a.seen, c.chain"""
_AT_ONCE = 2_000  # lines per statement
_STATED = 500  # ends to compare in one statement
_MOST_MISSING = 1_000  # limit of ends without a line that are checked after all lines are read


@dataclass(frozen=True, slots=True)
class _Head:
    """A recorded end: according to line `by` of the chain `of`, line `number` of `chain` has this digest."""

    chain: str
    number: int
    digest: str
    of: str
    by: int


@dataclass(slots=True)
class _AuditFacts:
    """The facts collected from all lines."""

    found: Verified = field(default_factory=Verified)
    removed: dict[str, int] = field(default_factory=dict)  # number of the last line removed as too old, by chain
    removed_digests: set[str] = field(default_factory=set)
    beginnings: dict[str, tuple[int, str | None]] = field(default_factory=dict)  # the first line: its number and its link
    missing: list[_Head] = field(default_factory=list)


def verify_shared(address: Address, *, head: str | None = None, most: int | None = None) -> Verified:
    """Verify the links of all chains, each from its first line, or from `most` lines before its end.

    Raises:
        UnavailableError: the database does not answer.
    """
    connection = address.connect()
    try:
        with address.faults():
            # One snapshot of the tables is read, because replicas continue writing.
            connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            read = _AuditFacts()
            read.found.whole = True
            for chain, host, number, copied in connection.run(_CHAINS) or ():
                _follow(connection, read, str(chain), str(host), max(0, int(number) - most) if most is not None else 0)
                if copied is not None and copied > number:
                    _report(read, str(chain), int(copied), "its end is gone: so many lines had been copied")
            _judge_beginnings(connection, read)
            _judge_missing(read)
            if head is not None:
                known = connection.run("SELECT 1 FROM audit_line WHERE digest = decode(:head, 'hex')", head=_hexadecimal(head))
                read.found.has_head = bool(known)
            return read.found
    finally:
        drop(connection)


def _follow(connection: Connection, read: _AuditFacts, chain: str, host: str, after: int) -> None:
    found, is_linked, count = read.found, False, 0
    before: tuple[int, str] | None = None  # the previous line: its number and digest
    entry: Entry = {}
    heads: list[_Head] = []
    last = None
    for number, stored, line in _lines(connection, chain, after):
        found.lines += 1
        count += 1
        entry = entry_of(line)
        if digest(line) != stored:
            _report(read, chain, number, "it was changed after it was copied")
        if before is not None and number != before[0] + 1:
            _report(read, chain, number, f"the lines from {before[0] + 1} on, before it, are gone")
        if not entry:
            found.damaged += 1
        else:
            found.first = min(found.first or entry["at"], entry["at"])
            last = max(last or entry["at"], entry["at"])
            is_linked = _check_link(read, chain, number, entry, before, is_linked=is_linked)
            heads += _stated(read, chain, number, entry)
        if before is None:
            if after and number == after + 1:
                found.whole = False
            else:
                read.beginnings[chain] = (number, entry.get("prev") if entry else None)
        before = (number, stored)
        if len(heads) >= _STATED:
            _compare(connection, read, heads)
            heads = []
    _compare(connection, read, heads)
    found.last = max(filter(None, (found.last, last)), default=None)
    found.chains.append(ChainHead(chain, host, count, before[1] if before else None, last, ended=entry.get("what") == "service.end"))


def _lines(connection: Connection, chain: str, after: int) -> Iterator[tuple[int, str, bytes]]:
    while True:
        rows = connection.run(
            "SELECT number, digest, line FROM audit_line"
            " WHERE chain = :chain AND number > CAST(:after AS bigint) ORDER BY number LIMIT :most",
            chain=chain, after=after, most=_AT_ONCE,
        )  # fmt: skip
        for number, stored, line in rows or ():
            yield int(number), bytes(stored).hex(), bytes(line)
        if not rows or len(rows) < _AT_ONCE:
            return
        after = int(rows[-1][0])


def _check_link(read: _AuditFacts, chain: str, number: int, entry: Entry, before: tuple[int, str] | None, *, is_linked: bool) -> bool:
    if "prev" not in entry:
        if is_linked:
            _report(read, chain, number, "it has no link, as no line of the service is without")
        else:
            read.found.older += 1
        return is_linked
    if before is not None and entry["prev"] != before[1]:
        _report(read, chain, number, "it does not link to the line before it: one of the two was changed, or lines between are gone")
    return True


def _stated(read: _AuditFacts, chain: str, number: int, entry: Entry) -> list[_Head]:
    if entry.get("what") == REMOVED:
        for of, up_to, link in _triples(entry.get("removed")):
            read.removed[of] = max(up_to, read.removed.get(of, 0))
            read.removed_digests.add(link)
        if isinstance(entry.get("up_to"), str):  # the line is about the home's files, from before the log was shared
            read.removed_digests.add(entry["up_to"])
    return [_Head(of, at, link, chain, number) for of, at, link in _triples(entry.get("heads"))] if entry.get("what") == HEADS else []


def _triples(stated: object) -> list[tuple[str, int, str]]:
    found = []
    for one in stated if isinstance(stated, list) else ():
        match one:
            case [str() as chain, int() as number, str() as link]:
                found.append((chain, number, link))
    return found


def _compare(connection: Connection, read: _AuditFacts, heads: Sequence[_Head]) -> None:
    if not heads:
        return
    rows = connection.run(
        "SELECT g.chain, g.number, l.line FROM unnest(CAST(:chains AS text[]), CAST(:numbers AS bigint[])) AS g(chain, number)"
        " JOIN audit_line l ON l.chain = g.chain AND l.number = g.number",
        chains=[head.chain for head in heads], numbers=[head.number for head in heads],
    )  # fmt: skip
    there = {(str(chain), int(number)): digest(bytes(line)) for chain, number, line in rows or ()}
    for head in heads:
        known = there.get((head.chain, head.number))
        if known is None and len(read.missing) < _MOST_MISSING:
            read.missing.append(head)
        elif known is not None and known != head.digest:
            _report(read, head.chain, head.number, f"it is not the line that line {head.by} of chain {head.of} states")


def _judge_missing(read: _AuditFacts) -> None:
    """Report the latest recorded end of each chain that is missing, unless it was removed as too old."""
    latest: dict[str, _Head] = {}
    for head in read.missing:
        if head.number > read.removed.get(head.chain, 0) and head.number >= latest.get(head.chain, head).number:
            latest[head.chain] = head
    for head in latest.values():
        _report(read, head.chain, head.number, f"it is gone, and line {head.by} of chain {head.of} states that it was there")


def _judge_beginnings(connection: Connection, read: _AuditFacts) -> None:
    """Report chains whose first line links to missing lines without a record of their removal."""
    for chain, (number, link) in read.beginnings.items():
        if link is None and number == 1:
            continue
        if link in read.removed_digests:
            read.found.begins_after = read.found.begins_after or link
            continue
        parent = connection.run("SELECT chain, number FROM audit_line WHERE digest = decode(:link, 'hex')", link=_hexadecimal(link))
        if parent and number == 1:
            _report(
                read, chain, number,
                f"it goes on after line {parent[0][1]} of chain {parent[0][0]}: the files of that home were cut off there, or restored",
            )  # fmt: skip
        else:
            _report(read, chain, number, "the lines before it are gone, and no line says so")


def _report(read: _AuditFacts, chain: str, number: int, reason: str) -> None:
    read.found.report_break(Break(f"chain {chain}", number, reason))


def _hexadecimal(text: object) -> str:
    """Normalize a digest. An invalid digest becomes the digest of nothing."""
    try:
        return bytes.fromhex(str(text)).hex()
    except ValueError:
        return sha256(b"").hexdigest()
