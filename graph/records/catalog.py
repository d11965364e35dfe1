"""The catalog: which captures there are, and which file blocks each wrote and read. SQLite; made of the kept captures alone.

What it holds can be dropped and read again from the folders beside it. It never sees a record.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.graph.associations import Manifest
from headwater.graph.records.layout import KeptFile
from headwater.graph.records.names import FileBlock, uri_of

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS capture (
  tenant TEXT NOT NULL, capture TEXT NOT NULL, run TEXT NOT NULL, job_namespace TEXT NOT NULL, job_name TEXT NOT NULL,
  started TEXT NOT NULL, ended TEXT NOT NULL, status TEXT NOT NULL, PRIMARY KEY (tenant, capture)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS capture_run ON capture (tenant, run);
CREATE TABLE IF NOT EXISTS dataset (
  tenant TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, role TEXT NOT NULL, capture TEXT NOT NULL,
  PRIMARY KEY (tenant, namespace, name, role, capture, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (
  tenant TEXT NOT NULL, path TEXT NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, capture TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (tenant, path, length, modified, capture)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS consumed (
  tenant TEXT NOT NULL, path TEXT NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, capture TEXT NOT NULL,
  PRIMARY KEY (tenant, path, length, modified, capture)) WITHOUT ROWID;
"""
_TABLES = ("capture", "dataset", "written", "consumed")
_BATCH = 200  # blocks a statement: three parameters each, far below SQLite's limit


@dataclass(frozen=True, slots=True)
class CaptureEntry:
    """A capture as the catalog knows it."""

    capture: str
    run: str
    job_namespace: str
    job_name: str
    started: str
    ended: str
    status: str


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A dataset that a capture read (`source`) or wrote (`sink`)."""

    namespace: str
    name: str
    path: str
    role: str
    capture: str


class Catalog:
    """See the module's docstring. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; {_SCHEMA} PRAGMA user_version = {_VERSION};")

    def close(self) -> None:
        """Give the file free."""
        with self._lock:
            self._database.close()

    def put(self, tenant: str, manifest: Manifest, files: Sequence[KeptFile]) -> None:
        """Enter a capture, in place of what was known of it."""
        of = (tenant, manifest.capture)
        read = {FileBlock(uri_of(file.path), file.length, file.modified) for source in manifest.sources for file in source.files}
        datasets = {(source.dataset.namespace, source.dataset.name, uri_of(source.path), "source") for source in manifest.sources}
        if manifest.sink:
            datasets.add((manifest.sink.dataset.namespace, manifest.sink.dataset.name, uri_of(manifest.sink.path), "sink"))
        with self._transaction() as database:
            self._forget(database, *of)
            database.execute(
                "INSERT INTO capture VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*of, manifest.run.run_id, manifest.run.namespace, manifest.run.job, manifest.started, manifest.ended, manifest.status),
            )
            database.executemany(
                "INSERT INTO dataset VALUES (?, ?, ?, ?, ?, ?)",
                [(tenant, namespace, name, path, role, manifest.capture) for namespace, name, path, role in datasets],
            )
            database.executemany(
                "INSERT INTO written VALUES (?, ?, ?, ?, ?, ?)", [(tenant, *file.block, manifest.capture, file.rows) for file in files]
            )
            database.executemany("INSERT INTO consumed VALUES (?, ?, ?, ?, ?)", [(tenant, *block, manifest.capture) for block in read])

    def forget(self, tenant: str, capture: str | None = None) -> None:
        """Strike a capture, or all of a tenant's."""
        with self._transaction() as database:
            self._forget(database, tenant, capture)

    def captures(self, tenant: str, *, run: str | None = None, ids: Collection[str] | None = None) -> list[CaptureEntry]:
        """Captures in the order in which they ended: all, of one run, or of those ids."""
        condition, values = ("", []) if run is None else (" AND run = ?", [run])
        rows = self._rows(
            "SELECT capture, run, job_namespace, job_name, started, ended, status FROM capture "
            f"WHERE tenant = ?{condition} ORDER BY ended, capture", [tenant, *values],
        )  # fmt: skip
        return [CaptureEntry(*row) for row in rows if ids is None or row[0] in ids]

    def count(self, tenant: str) -> int:
        """Number of captures."""
        return int(self._rows("SELECT count(*) FROM capture WHERE tenant = ?", [tenant])[0][0])

    def datasets(self, tenant: str) -> list[DatasetEntry]:
        """Every dataset that a capture read or wrote, once a capture and role."""
        return [
            DatasetEntry(*row) for row in self._rows("SELECT namespace, name, path, role, capture FROM dataset WHERE tenant = ?", [tenant])
        ]

    def writers(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, str]:
        """For each block the capture that wrote it; where several say so, the last."""
        found = self._linked("written", tenant, blocks)
        return {block: captures[-1] for block, captures in found.items()}

    def readers(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, list[str]]:
        """For each block the captures that read it, in the order in which they ended."""
        return self._linked("consumed", tenant, blocks)

    def written_at(self, tenant: str, path: str) -> list[tuple[FileBlock, str]]:
        """The blocks that captures wrote at a path, the latest last."""
        return self._at("written", tenant, path)

    def read_at(self, tenant: str, path: str) -> list[tuple[FileBlock, str]]:
        """The blocks that captures read at a path, the latest last."""
        return self._at("consumed", tenant, path)

    def _at(self, table: str, tenant: str, path: str) -> list[tuple[FileBlock, str]]:
        rows = self._rows(
            f"SELECT t.path, t.length, t.modified, t.capture FROM {table} t JOIN capture c USING (tenant, capture) "
            "WHERE t.tenant = ? AND t.path = ? ORDER BY c.ended", [tenant, path],
        )  # fmt: skip
        return [(FileBlock(*row[:3]), row[3]) for row in rows]

    def _linked(self, table: str, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, list[str]]:
        asked = list(dict.fromkeys(blocks))
        found: dict[FileBlock, list[str]] = {}
        for begin in range(0, len(asked), _BATCH):
            part = asked[begin : begin + _BATCH]
            rows = self._rows(
                f"SELECT t.path, t.length, t.modified, t.capture FROM {table} t JOIN capture c USING (tenant, capture) WHERE t.tenant = ? "
                f"AND (t.path, t.length, t.modified) IN (VALUES {', '.join(['(?, ?, ?)'] * len(part))}) ORDER BY c.ended, c.capture",
                [tenant, *(value for block in part for value in block)],
            )
            for path, length, modified, capture in rows:
                found.setdefault(FileBlock(path, length, modified), []).append(capture)
        return found

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @staticmethod
    def _forget(database: sqlite3.Connection, tenant: str, capture: str | None) -> None:
        for table in _TABLES:
            if capture is None:
                database.execute(f"DELETE FROM {table} WHERE tenant = ?", [tenant])
            else:
                database.execute(f"DELETE FROM {table} WHERE tenant = ? AND capture = ?", [tenant, capture])
