"""Searches the latest matching lines of all replicas, by time. Only the necessary lines are read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headwater.backend.audit.lines import Entry, MatchingEntries, Wanted
from headwater.backend.audit.shared.chains import entry_of, instant
from headwater.backend.ingest.log.postgres.address import Questions

_AT_ONCE = 20_000  # lines that one statement reads
_END = "9999"  # later than every instant
_BEFORE = "(at, chain, number) < (:at, :chain, CAST(:number AS bigint))"
_FITTING = """
    WITH latest AS MATERIALIZED (
        SELECT at, chain, number, who, decision, subjects, line FROM audit_line WHERE {which}
        ORDER BY at DESC, chain DESC, number DESC LIMIT :size)
    (SELECT at, chain, number, 0 AS looked_at, line FROM latest
        WHERE (CAST(:who AS text) IS NULL OR strpos(who, :who) > 0)
        AND (CAST(:dataset AS text) IS NULL OR strpos(subjects, :dataset) > 0
            OR (CAST(:shortened AS boolean) AND position(CAST('"more":' AS bytea) IN line) > 0))
        AND (CAST(:decision AS text) IS NULL OR decision = :decision)
        AND at >= :since
        ORDER BY at DESC, chain DESC, number DESC LIMIT :most)
    UNION ALL
    (SELECT at, chain, number, (SELECT count(*) FROM latest), NULL FROM latest ORDER BY at, chain, number LIMIT 1)"""


def latest_shared(questions: Questions, wanted: Wanted, most: int, *, within: int | None = None) -> MatchingEntries:
    """Return the latest matching entries, earliest first, each with its `chain` and `number`.

    `within` is an approximate limit of the lines to read.

    Raises:
        UnavailableError: the database does not answer.
    """
    found: list[Entry] = []
    damaged = seen = 0
    since = instant(wanted.since) if wanted.since else ""
    # "~" sorts after every possible rest of an instant.
    at, chain, number = (instant(wanted.until) + "~" if wanted.until else _END), "", 0
    statement = _FITTING.format(which=_BEFORE if wanted.tenant is None else f"tenant = :tenant AND {_BEFORE}")
    while True:
        rows = questions.ask(
            statement, tenant=wanted.tenant, at=at, chain=chain, number=number, size=_AT_ONCE, who=_text(wanted.who),
            dataset=_text(wanted.dataset), shortened=wanted.is_shortened_too, decision=wanted.decision, since=since, most=most - len(found),
        )  # fmt: skip
        looked_at = 0
        for at, chain, number, looked_at, line in rows:  # noqa: B007 - the last row says where the statement ended
            if line is not None:
                entry = _entry(bytes(line), chain, int(number))
                damaged += not entry
                if entry and wanted.fits(entry):
                    found.append(entry)
        seen += looked_at
        is_whole = looked_at < _AT_ONCE or at < since
        if len(found) >= most or is_whole or (within is not None and seen >= within):
            more = len(found) >= most or not is_whole
            earliest = found[-1]["at"] if len(found) >= most else at
            return MatchingEntries(tuple(reversed(found)), damaged, left_at=datetime.fromisoformat(earliest) if more else None)


def _entry(line: bytes, chain: str, number: int) -> dict[str, Any]:
    entry = entry_of(line)
    return {**entry, "chain": chain, "number": number} if entry else {}


def _text(part: str | None) -> str | None:
    return part.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8") if part is not None else None
