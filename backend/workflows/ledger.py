"""The ledger of workflows: the blocks of channels, the cursors of tasks, and the runs. The ledger is a SQLite file of the home.

A run takes effect with the transaction of `commit`. The transaction records the blocks, the cursors, and the file moves that are left to
do. After a crash, the next user of the workflow completes these moves. A run therefore takes effect completely or not at all.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from headwater.backend.workflows.model import Production
from headwater.backend.workflows.plan import BlockNumber
from headwater.backend.workflows.sources import NewBlock
from headwater.errors import ConfigurationError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS workflow (name TEXT PRIMARY KEY, document TEXT NOT NULL, folder TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS channel (
  workflow TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, written INTEGER NOT NULL, PRIMARY KEY (workflow, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS block (
  workflow TEXT NOT NULL, channel TEXT NOT NULL, sequence INTEGER NOT NULL, mode TEXT NOT NULL, run TEXT, at TEXT NOT NULL,
  PRIMARY KEY (workflow, channel, sequence)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS file (
  workflow TEXT NOT NULL, channel TEXT NOT NULL, sequence INTEGER NOT NULL, path TEXT NOT NULL, length INTEGER NOT NULL,
  modified INTEGER NOT NULL, PRIMARY KEY (workflow, channel, sequence, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cursor (
  workflow TEXT NOT NULL, task TEXT NOT NULL, channel TEXT NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (workflow, task, channel)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run (
  id TEXT PRIMARY KEY, workflow TEXT NOT NULL, task TEXT NOT NULL, state TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT,
  error TEXT, reads TEXT NOT NULL, shadow TEXT NOT NULL, is_clean INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_of_task ON run (workflow, task, started_at);
CREATE TABLE IF NOT EXISTS move (
  run TEXT NOT NULL, channel TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (run, channel)
) WITHOUT ROWID;
"""
_PATIENCE = 30.0  # seconds to wait for another writer


class RunState(StrEnum):
    """The state of a run: `running` → `committed` → `complete`, or `failed`. The files of a committed run may still have to be moved."""

    RUNNING = "running"
    COMMITTED = "committed"
    COMPLETE = "complete"
    FAILED = "failed"


class MoveKind(StrEnum):
    """`place` moves a block into its channel's folder. `exchange` replaces the folder."""

    PLACE = "place"
    EXCHANGE = "exchange"


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a run's output. `source` is in the separate folder that the program wrote to (the shadow)."""

    channel: str
    kind: MoveKind
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a task.

    `reads` has the numbers of the read blocks by channel and mode. `shadow` is the folder that the program writes to.
    """

    id: str
    workflow: str
    task: str
    state: RunState
    started_at: str
    ended_at: str | None = None
    error: str | None = None
    reads: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    shadow: str = ""
    is_clean: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a channel. `run` is the run that wrote it, or None for a source."""

    channel: str
    sequence: int
    mode: Production
    run: str | None
    at: str


class Ledger:
    """The ledger in the file `workflows.db`. Threads and processes may share it. Every method is one transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def apply(
        self, name: str, document: str, folder: str, channels: Mapping[str, tuple[str, bool]], reads: Mapping[str, Iterable[str]]
    ) -> None:
        """Store a workflow. Cursors of inputs that it no longer has are deleted.

        `channels` maps names to their path, and whether a task writes there. `reads` maps tasks to the channels that they read.
        """
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO workflow VALUES (?, ?, ?, ?)", [name, document, folder, _now()])
            database.execute("DELETE FROM channel WHERE workflow = ?", [name])
            rows = [[name, channel, path, int(written)] for channel, (path, written) in channels.items()]
            database.executemany("INSERT INTO channel VALUES (?, ?, ?, ?)", rows)
            for task, channel in database.execute("SELECT task, channel FROM cursor WHERE workflow = ?", [name]).fetchall():
                if channel not in reads.get(task, ()):
                    database.execute("DELETE FROM cursor WHERE workflow = ? AND task = ? AND channel = ?", [name, task, channel])

    def workflows(self) -> dict[str, tuple[str, str, str]]:
        """Return the workflows by name, each with its document, its folder, and the time when it was applied."""
        return {row[0]: (row[1], row[2], row[3]) for row in self._read("SELECT name, document, folder, at FROM workflow ORDER BY name")}

    def channels(self) -> list[tuple[str, str, str, bool]]:
        """Return the channels of all workflows, as (workflow, name, path, whether a task writes it)."""
        return [(row[0], row[1], row[2], bool(row[3])) for row in self._read("SELECT workflow, name, path, written FROM channel")]

    def blocks(self, workflow: str, channel: str) -> list[Block]:
        query = "SELECT channel, sequence, mode, run, at FROM block WHERE workflow = ? AND channel = ? ORDER BY sequence"
        return [Block(row[0], row[1], Production(row[2]), row[3], row[4]) for row in self._read(query, workflow, channel)]

    def latest_blocks(self, workflow: str, channel: str, first: int) -> list[Block]:
        """Return the latest blocks of a channel, newest first."""
        query = "SELECT channel, sequence, mode, run, at FROM block WHERE workflow = ? AND channel = ? ORDER BY sequence DESC LIMIT ?"
        return [Block(row[0], row[1], Production(row[2]), row[3], row[4]) for row in self._read(query, workflow, channel, first)]

    def block_numbers(self, workflow: str, channel: str) -> list[BlockNumber]:
        """Return the blocks of a channel's current version: the last base and all blocks after it."""
        query = "SELECT sequence, mode FROM block WHERE workflow = ? AND channel = ? AND sequence >= "
        query += "(SELECT coalesce(max(sequence), 0) FROM block WHERE workflow = ? AND channel = ? AND mode = 'base') ORDER BY sequence"
        return [BlockNumber(row[0], Production(row[1])) for row in self._read(query, workflow, channel, workflow, channel)]

    def files(self, workflow: str, channel: str, sequences: Sequence[int]) -> dict[str, tuple[int, int]]:
        """Return the files of blocks with their length and modification time, by their paths in the channel's folder."""
        if not sequences:
            return {}
        query = "SELECT sequence, path, length, modified FROM file WHERE workflow = ? AND channel = ? AND sequence >= ? AND sequence <= ?"
        rows = self._read(query, workflow, channel, sequences[0], sequences[-1])
        wanted = set(sequences)
        return {row[1]: (row[2], row[3]) for row in rows if row[0] in wanted}

    def cursors(self, workflow: str, task: str) -> dict[str, int]:
        return dict(self._read("SELECT channel, sequence FROM cursor WHERE workflow = ? AND task = ?", workflow, task))

    def last_read(self, workflow: str, channel: str) -> int:
        """Return the number of the last block of a channel that any task has read, or 0."""
        return int(self._read("SELECT coalesce(max(sequence), 0) FROM cursor WHERE workflow = ? AND channel = ?", workflow, channel)[0][0])

    def add_source_block(self, workflow: str, channel: str, block: NewBlock | None, *, in_place_of_blocks_after: int | None) -> None:
        """Add a block for files that arrived in a source.

        If `in_place_of_blocks_after` is given, the new block replaces all blocks after that number. The number of the new block was never
        used.
        """
        with self._writing() as database:
            query = "SELECT coalesce(max(sequence), 0) + 1 FROM block WHERE workflow = ? AND channel = ?"
            (sequence,) = database.execute(query, [workflow, channel]).fetchone()
            if in_place_of_blocks_after is not None:
                for table in ("block", "file"):
                    condition = "workflow = ? AND channel = ? AND sequence > ?"
                    database.execute(f"DELETE FROM {table} WHERE {condition}", [workflow, channel, in_place_of_blocks_after])
            if block is not None:
                _insert_block(database, workflow, channel, sequence, block, None)

    def start(self, run: Run) -> None:
        with self._writing() as database:
            values = [run.id, run.workflow, run.task, run.state, run.started_at, json.dumps(run.reads), run.shadow]
            columns = "id, workflow, task, state, started_at, reads, shadow"
            database.execute(f"INSERT INTO run ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def commit(self, run: Run, blocks: Mapping[str, tuple[int, NewBlock]], cursors: Mapping[str, int], moves: Sequence[Move]) -> None:
        """Record that a run succeeded, with its blocks, its cursors, and the moves to make. The run takes effect here."""
        with self._writing() as database:
            for channel, (sequence, block) in blocks.items():
                _insert_block(database, run.workflow, channel, sequence, block, run.id)
            rows = [[run.workflow, run.task, channel, sequence] for channel, sequence in cursors.items()]
            database.executemany("INSERT OR REPLACE INTO cursor VALUES (?, ?, ?, ?)", rows)
            database.executemany(
                "INSERT INTO move VALUES (?, ?, ?, ?, ?)", [[run.id, move.channel, move.kind, move.source, move.target] for move in moves]
            )
            database.execute("UPDATE run SET state = ?, ended_at = ? WHERE id = ?", [RunState.COMMITTED, _now(), run.id])

    def moves(self, run: str) -> list[Move]:
        query = "SELECT channel, kind, source, target FROM move WHERE run = ? ORDER BY channel"
        return [Move(row[0], MoveKind(row[1]), row[2], row[3]) for row in self._read(query, run)]

    def complete(self, run: str) -> None:
        """Record that the moves of a committed run were made."""
        with self._writing() as database:
            database.execute("UPDATE run SET state = ? WHERE id = ?", [RunState.COMPLETE, run])

    def fail(self, run: str, error: str) -> None:
        """Record that a run failed. A committed run stays committed, even if an error follows."""
        with self._writing() as database:
            values = [RunState.FAILED, _now(), error, run, RunState.RUNNING]
            database.execute("UPDATE run SET state = ?, ended_at = ?, error = ? WHERE id = ? AND state = ?", values)

    def note_clean(self, run: str) -> None:
        """Record that no work and no temporary files of a run are left."""
        with self._writing() as database:
            database.execute("UPDATE run SET is_clean = 1 WHERE id = ?", [run])

    def unfinished(self, workflow: str) -> list[Run]:
        """Return the runs that still have moves, lineage or temporary folders, oldest first."""
        return self._runs("workflow = ? AND is_clean = 0 ORDER BY id", workflow)

    def runs(self, workflow: str, first: int) -> list[Run]:
        return self._runs("workflow = ? ORDER BY id DESC LIMIT ?", workflow, first)

    def blocks_of_run(self, run: str) -> dict[str, int]:
        query = "SELECT channel, sequence FROM block WHERE workflow = (SELECT workflow FROM run WHERE id = ?) AND run = ?"
        return dict(self._read(query, run, run))

    def modes_of_run(self, run: str) -> dict[str, str]:
        """Return the modes of the blocks that a run wrote, by the paths of their channels."""
        query = "SELECT c.path, b.mode FROM block b JOIN channel c ON c.workflow = b.workflow AND c.name = b.channel WHERE "
        return dict(self._read(f"{query} b.workflow = (SELECT workflow FROM run WHERE id = ?) AND b.run = ?", run, run))

    def earlier_exchange(self, run: Run, channel: str) -> str | None:
        """Return the shadow of the last run before `run` that replaced a channel's folder. The older folder is in this shadow."""
        query = "SELECT run.shadow FROM move JOIN run ON run.id = move.run WHERE run.workflow = ? AND move.channel = ? "
        query += "AND kind = 'exchange' AND run.id < ? ORDER BY run.id DESC LIMIT 1"
        rows = self._read(query, run.workflow, channel, run.id)
        return str(rows[0][0]) if rows else None

    def _runs(self, condition: str, *values: Any) -> list[Run]:
        columns = "id, workflow, task, state, started_at, ended_at, error, reads, shadow, is_clean"
        rows = self._read(f"SELECT {columns} FROM run WHERE {condition}", *values)
        return [
            Run(
                id=row[0], workflow=row[1], task=row[2], state=RunState(row[3]), started_at=row[4], ended_at=row[5], error=row[6],
                reads=json.loads(row[7]), shadow=row[8], is_clean=bool(row[9]),
            )
            for row in rows
        ]  # fmt: skip

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        if not self.path.exists():
            return []
        try:
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            if "no such table" in str(error):  # the process that made the file was killed before it made the tables
                return []
            raise self._unusable(error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = FULL")
                database.executescript(_SCHEMA)
                database.execute("BEGIN IMMEDIATE")
                try:
                    yield database
                except BaseException:
                    database.execute("ROLLBACK")
                    raise
                database.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(f"{self.path} cannot be used: {error}.", hint="Check the disk. A backup of the home holds the file.")


def _insert_block(database: sqlite3.Connection, workflow: str, channel: str, sequence: int, block: NewBlock, run: str | None) -> None:
    database.execute("INSERT INTO block VALUES (?, ?, ?, ?, ?, ?)", [workflow, channel, sequence, block.mode, run, _now()])
    rows = [[workflow, channel, sequence, path, *state] for path, state in block.files.items()]
    database.executemany("INSERT INTO file VALUES (?, ?, ?, ?, ?, ?)", rows)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
