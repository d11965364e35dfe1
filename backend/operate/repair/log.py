"""Repairs a damaged ingest log: makes a new log from its intact entries and the backup's.

Entries keep their offsets, and no offset is used twice. New entries follow the last offset that the log or the graph
has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from headwater.backend.home.folder import Home
from headwater.backend.home.sqlite_reader import open_to_read
from headwater.backend.ingest.log.model import ERASED
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.operate.repair.result import Repair, put_aside
from headwater.backend.operate.repair.salvage import Row, whole_entries


def mended_log(home: Home, backup: Path | None) -> Repair:
    """Make a new log from the intact entries of the damaged log and of the backup."""
    draft = home.log.with_name(".ingest.db.repairing")
    for left in home.path.glob(f"{draft.name}*"):
        left.unlink()
    SqliteLog(draft).close()
    there = home.log.exists()
    with closing(sqlite3.connect(draft, isolation_level=None)) as log:
        log.execute("BEGIN")
        if there:  # first, so that a backup does not bring the contents of erased entries back
            _insert(log, (row for row in whole_entries(home.log) if row.kind == ERASED))
        brought, _ = _insert(log, whole_entries(backup / "ingest.db")) if backup is not None else (0, [])
        found, others = _insert(log, whole_entries(home.log)) if there else (0, [])
        last = max(log.execute("SELECT coalesce(max(offset), 0) FROM entry").fetchone()[0], _sequence(home.log), _graph_offset(home))
        # A log that was created again used offsets twice. Its entries follow after the others.
        _insert(log, (replace(row, offset=last + place) for place, row in enumerate(others, start=1)))
        last += len(others)
        present = log.execute("SELECT count(*) FROM entry").fetchone()[0]
        log.execute("DELETE FROM sqlite_sequence WHERE name = 'entry'")
        log.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('entry', ?)", [last])
        _bring_dead_letters(home.log, log)
        gaps = _gaps([row[0] for row in log.execute("SELECT offset FROM entry ORDER BY offset")], last)
        log.execute("COMMIT")
        log.execute("PRAGMA journal_mode = DELETE")
    aside = put_aside(home.log) if there else None
    draft.rename(home.log)
    from_backup = f", {brought:,} come from the backup" if backup is not None else ""
    damaged = f"; the damaged file is {aside.name} now" if aside else ""
    lost = f"{last - present:,} entries: {gaps}; the graph keeps what they stated until it is rebuilt" if gaps else ""
    return Repair(home.log, f"{found + len(others):,} entries came from the damaged file{from_backup}{damaged}", lost)


def _insert(log: sqlite3.Connection, rows: Iterable[Row]) -> tuple[int, list[Row]]:
    """Insert entries. Returns the number of new ones, and the entries whose offset is already used."""
    new, others = 0, []
    for row in rows:
        known = log.execute("SELECT 1 FROM entry WHERE tenant = ? AND key = ?", [row.tenant, row.key]).fetchone()
        if known is None and log.execute("SELECT 1 FROM entry WHERE offset = ?", [row.offset]).fetchone() is not None:
            others.append(row)
        elif known is None:
            log.execute(
                "INSERT INTO entry (offset, tenant, kind, key, received, body) VALUES (?, ?, ?, ?, ?, ?)",
                [row.offset, row.tenant, row.kind, row.key, row.received, row.body],
            )
            new += 1
    return new, sorted({(row.tenant, row.key): row for row in others}.values(), key=lambda row: row.offset)


def is_short(home: Home) -> bool:
    """Whether the graph has offsets that the log never assigned, because the log vanished or was created again."""
    return _sequence(home.log) < _graph_offset(home)


def _sequence(path: Path) -> int:
    try:
        with closing(open_to_read(path)) as damaged:
            return int(damaged.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry'").fetchone()[0])
    except (sqlite3.Error, TypeError):
        return 0


def _graph_offset(home: Home) -> int:
    try:
        with closing(open_to_read(home.graph)) as graph:
            return int(graph.execute("SELECT max(offset) FROM progress").fetchone()[0] or 0)
    except sqlite3.Error:
        return 0


def _bring_dead_letters(path: Path, log: sqlite3.Connection) -> None:
    names = "tenant, stage, hash, offset, reason, field, received, times, body"
    try:
        with closing(open_to_read(path)) as damaged:
            for row in damaged.execute(f"SELECT {names} FROM dead_letter ORDER BY id"):
                log.execute(f"INSERT OR IGNORE INTO dead_letter ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    except sqlite3.Error:
        return


def _gaps(offsets: list[int], last: int) -> str:
    """Format the missing offsets up to the last one, for example `4, 7 to 9`."""
    gaps, expected = [], 1
    for offset in [*offsets, last + 1]:
        if offset > expected:
            gaps.append(str(expected) if offset == expected + 1 else f"{expected} to {offset - 1}")
        expected = offset + 1
    return ", ".join(gaps[:20]) + (" …" if len(gaps) > 20 else "")
