"""The catalog of captures, with the file blocks that each capture wrote and read. A SQLite file, derived from the kept captures.

The catalog can be deleted and made again from the folders of the captures. It contains no records. The cost of a query depends on its
result, not on the size of the catalog. A step of a trace asks only about blocks and datasets that it has reached.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.graph.associations import Manifest
from headwater.graph.damage import damaged, translated
from headwater.graph.records import dataset_index, moved_files, schema
from headwater.graph.records.batches import batched
from headwater.graph.records.dataset_index import KnownDatasets
from headwater.graph.records.file_digest import FileAtRest
from headwater.graph.records.layout import KeptFile, files_text, manifest_text
from headwater.graph.records.moved_files import KnownMoves, name_key
from headwater.graph.records.overwrites import Replaces, instant, replaced_by
from headwater.graph.records.prune_candidates import Prunable
from headwater.graph.records.safe_names import FileBlock, block_at
from headwater.graph.records.versions import KnownVersions

_WHAT = "The catalog of captures"
_CHECKPOINT = 5_000  # rows that are changed between two checkpoints: some megabytes of the write-ahead log
_BATCH = 200  # blocks per statement: three parameters each, far below SQLite's limit
_MOST_OUTPUTS = 100  # datasets in the condition of a statement; for more datasets, the result is filtered afterwards
_BUSY_MS = 60_000  # how long a process waits while another process writes
_TABLES = ("job", "dataset", "alias", "capture", "tally", "path", "unkept", "journal", "lost")  # that name the tenant


@dataclass(frozen=True, slots=True)
class CaptureEntry:
    """A capture in the catalog."""

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
    """The catalog of a home, for all tenants. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._filling = False
        self._path = path
        self._rest = FileAtRest(path)
        self._changes = 0  # at the last checkpoint
        with translated(path, _WHAT):
            self._database = schema.connect(path)
        self.datasets = KnownDatasets(self._rows)
        self.versions = KnownVersions(self._rows)
        self.moves = KnownMoves(self._rows)
        self.prunable = Prunable(self._rows, self._transaction)

    def close(self) -> None:
        with self._lock, self._rest.changing() if self._rest.log_bytes else nullcontext():
            self._database.close()

    def check(self) -> None:
        """Check the checksum of the catalog's file, if the file has changed since the last check.

        Raises:
            DamagedError: the checksum is wrong.
        """
        if not self._rest.is_sound():
            raise damaged(self._path, _WHAT, "its checksum is not that of what was written")

    @contextmanager
    def brought_up_to_date(self) -> Iterator[bool]:
        """Make missing tables in one transaction. Yield whether the caller must `put` every kept capture in it.

        Raises:
            ConfigurationError: a newer Headwater wrote the catalog.
        """
        with translated(self._path, _WHAT):
            current = schema.version_of(self._database, self._path) == schema.VERSION
            lacks_tables = current and schema.lacks_tables(self._database)
        if lacks_tables:
            with self._transaction() as database:
                schema.add_tables(database)
        if current and self._rest.is_sound():
            yield False
        else:
            with self._transaction() as database:
                version = schema.version_of(database, self._path)  # another process may have been quicker
                is_to_be_filled = version < schema.VERSION or not self._rest.is_sound()
                if is_to_be_filled:
                    schema.make_tables(database)
                yield is_to_be_filled  # version 0: a new home, which has no captures, or a catalog that was lost
            self._bring_into_file(made_anew=is_to_be_filled)
        self._database.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")

    def _bring_into_file(self, *, made_anew: bool = False) -> None:
        """Copy the write-ahead log into the file, as far as no reader prevents it."""
        with self._lock, translated(self._path, _WHAT), self._rest.changing(made_anew=made_anew):
            self._database.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._changes = self._database.total_changes

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run the `put` and `forget` calls of a block in one transaction."""
        with self._transaction():
            yield

    def put(self, tenant: str, manifest: Manifest, files: Sequence[KeptFile], *, size: int = 0, pruned: bool = False) -> None:
        """Enter a capture, or replace its entry.

        `size` is the size of its tables in bytes; `pruned` means that they are or will be deleted.
        """
        run, content = manifest.run, content_digest(manifest, files)
        with self._transaction() as database:
            database.execute("DELETE FROM lost WHERE tenant = ? AND capture = ?", [tenant, manifest.capture])
            if self._content(tenant, manifest.capture) == content:
                return
            self._forget_captures(database, tenant, manifest.capture)
            database.execute("UPDATE generation SET number = number + 1")
            names = [tenant, run.namespace, run.job]
            database.execute("INSERT OR IGNORE INTO job (tenant, namespace, name) VALUES (?, ?, ?)", names)
            ((job,),) = database.execute("SELECT number FROM job WHERE tenant = ? AND namespace = ? AND name = ?", names)
            uses, output = dataset_index.enter(database, tenant, manifest, dataset_index.uses_of(manifest), job)
            recomputed = any(boundary.recomputed is not None for boundary in manifest.boundaries)
            replaces = replaced_by(manifest.sink) if manifest.sink is not None else Replaces.NOTHING
            end_instant = instant(manifest.ended)
            inserted = database.execute(
                "INSERT INTO capture (tenant, capture, run, job, started, ended, status, output, derived, content, at, replaces, replaced, "
                "held, bytes, pruned) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)",
                [tenant, manifest.capture, run.run_id, job, manifest.started, manifest.ended, manifest.status, output, recomputed, content,
                 end_instant, replaces, _find_replacement_time(database, output, end_instant) if output else "", size, int(pruned)],
            )  # fmt: skip
            number, end_time = inserted.lastrowid, manifest.ended
            if output and replaces is Replaces.ALL and manifest.status != "refused":
                database.execute(
                    "UPDATE capture SET replaced = ? WHERE output = ? AND replaced = '' AND at <= ? AND number <> ?",
                    [end_instant, output, instant(manifest.started), number],
                )
            tally_statement = (
                "INSERT INTO tally VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET captures = captures + 1, bytes = bytes + excluded.bytes"
            )
            database.execute(tally_statement, [tenant, size])
            database.executemany(
                "INSERT INTO use VALUES (?, ?, ?, ?, ?, ?)",
                [(dataset, use.role, use.shaped, end_time, number, use.scanned) for use, dataset in uses.items()],
            )
            datasets = {(use.namespace, use.name): dataset for use, dataset in uses.items()}
            datasets_by_block = {
                (block_at(file.path, file.length, file.modified), datasets[source.dataset.namespace, source.dataset.name])
                for source in manifest.sources
                for file in source.files
            }
            read_blocks = {block for block, _ in datasets_by_block}
            paths = {block.path for block in read_blocks} | {file.block.path for file in files}
            database.executemany("INSERT OR IGNORE INTO path (tenant, uri) VALUES (?, ?)", [(tenant, path) for path in sorted(paths)])
            database.executemany(
                "INSERT INTO written SELECT number, ?, ?, ?, ?, ?, ? FROM path WHERE tenant = ? AND uri = ?",
                [(*file.block[1:], end_time, number, file.rows, name_key(tenant, file.block), tenant, file.block.path) for file in files],
            )
            database.executemany(
                "INSERT INTO consumed SELECT number, ?, ?, ?, ?, ? FROM path WHERE tenant = ? AND uri = ?",
                [(*block[1:], output, end_time, number, tenant, block.path) for block in sorted(read_blocks)],
            )
            moved_files.enter_read(database, tenant, sorted(datasets_by_block))
            moved_files.enter_handed(database, number, output)
            if recomputed and not pruned:
                database.execute("INSERT INTO unkept (tenant, capture) VALUES (?, ?)", [tenant, manifest.capture])
            # Captures may have read these files before the catalog had their writer. Their unwritten groups must be checked again.
            database.executemany(
                "INSERT OR REPLACE INTO unkept (tenant, capture) SELECT c.tenant, c.capture FROM path p "
                "CROSS JOIN consumed r ON r.path = p.number AND r.length = ? AND r.modified = ? "
                "CROSS JOIN capture c ON c.number = r.capture AND c.derived AND c.pruned = 0 "
                "WHERE p.tenant = ? AND p.uri = ?",
                [(*file.block[1:], tenant, file.block.path) for file in files],
            )

    def forget(self, tenant: str, capture: str | None = None) -> None:
        with self._transaction() as database:
            database.execute("UPDATE generation SET number = number + 1")
            self._forget_captures(database, tenant, capture)

    def tenants(self) -> list[str]:
        return [str(row[0]) for row in self._rows("SELECT tenant FROM tally", [])]

    def generation(self) -> int:
        """Return the number of changes to the catalog."""
        return int(self._rows("SELECT number FROM generation", [])[0][0])

    def go_on_from(self, generation: int) -> None:
        """Raise the number of changes to `generation`, if it is smaller."""
        with self._transaction() as database:
            database.execute("UPDATE generation SET number = max(number, ?)", [generation])

    def lost(self, tenant: str) -> dict[str, str]:
        return dict(self._rows("SELECT capture, reason FROM lost WHERE tenant = ? ORDER BY capture", [tenant]))

    def note_lost(self, tenant: str, capture: str, reason: str) -> None:
        """Note that a capture cannot be read, so its sources and outputs are unknown. A later `put` removes the note."""
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO lost VALUES (?, ?, ?)", [tenant, capture, reason])

    def captures(self, tenant: str, *, run: str | None = None) -> list[CaptureEntry]:
        """Return all captures of a tenant, or those of one run, by the time of their end."""
        condition, values = ("", []) if run is None else (" AND c.run = ?", [run])
        rows = self._rows(
            "SELECT c.capture, c.run, j.namespace, j.name, c.started, c.ended, c.status FROM capture c JOIN job j ON j.number = c.job "
            f"WHERE c.tenant = ?{condition} ORDER BY c.ended, c.capture", [tenant, *values],
        )  # fmt: skip
        return [CaptureEntry(*row) for row in rows]

    def has(self, tenant: str, capture: str) -> bool:
        return self._content(tenant, capture) is not None

    def count(self, tenant: str) -> int:
        return sum(row[0] for row in self._rows("SELECT captures FROM tally WHERE tenant = ?", [tenant]))

    def touched(self, tenant: str, capture: str) -> list[DatasetEntry]:
        rows = self._rows(
            "SELECT d.namespace, d.name, d.path, u.role, c.capture FROM capture c JOIN use u ON u.capture = c.number "
            "JOIN dataset d ON d.number = u.dataset WHERE c.tenant = ? AND c.capture = ?", [tenant, capture],
        )  # fmt: skip
        return [DatasetEntry(*row) for row in rows]

    def writers(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, str]:
        """Return the capture that wrote each block. If several captures state to have written a block, return the last."""
        return {block: captures[-1] for block, captures in self._find_linked("written", tenant, blocks).items()}

    def all_writers(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, list[str]]:
        """Return all captures that wrote a block or records in it, for each block, by the time of their end."""
        return self._find_linked("written", tenant, blocks)

    def readers(self, tenant: str, blocks: Iterable[FileBlock], towards: Collection[str] | None = None) -> dict[FileBlock, list[str]]:
        """Return all captures that read a block, for each block, by the time of their end.

        `towards` restricts the result to captures that wrote one of these datasets.
        """
        return self._find_linked("consumed", tenant, blocks, None if towards is None else self.datasets.outputs(tenant, towards))

    def written_by(self, tenant: str, capture: str) -> list[KeptFile]:
        rows = self._rows(
            "SELECT p.uri, w.length, w.modified, w.rows FROM capture c JOIN written w ON w.capture = c.number "
            "JOIN path p ON p.number = w.path WHERE c.tenant = ? AND c.capture = ? ORDER BY p.uri", [tenant, capture],
        )  # fmt: skip
        return [KeptFile(FileBlock(*row[:3]), row[3]) for row in rows]

    def read(self, tenant: str, blocks: Iterable[FileBlock]) -> set[FileBlock]:
        return {block for part in batched(dict.fromkeys(blocks), _BATCH) for block in self._find_existing("consumed", tenant, part)}

    def knows(self, tenant: str, blocks: Iterable[FileBlock]) -> bool:
        """Return whether a capture wrote or read one of the blocks."""
        parts = batched(dict.fromkeys(blocks), _BATCH)
        return any(self._find_existing(table, tenant, part) for part in parts for table in ("written", "consumed"))

    def was_written(self, tenant: str, block: FileBlock, before: str) -> bool:
        """Return whether a capture that ended before an instant wrote another block at the same path."""
        rows = self._rows(
            "SELECT 1 FROM path p CROSS JOIN written w ON w.path = p.number AND w.ended <= ? AND (w.length, w.modified) <> (?, ?) "
            "WHERE p.tenant = ? AND p.uri = ? LIMIT 1", [before, *block[1:], tenant, block.path],
        )  # fmt: skip
        return bool(rows)

    def last_reader(self, tenant: str, block: FileBlock) -> str | None:
        """Return the job that last read another block at the same path. None if no job did."""
        rows = self._rows(
            "SELECT j.name FROM consumed r JOIN capture c ON c.number = r.capture JOIN job j ON j.number = c.job "
            "WHERE r.path = (SELECT number FROM path WHERE tenant = ? AND uri = ?) AND (r.length, r.modified) <> (?, ?) "
            "ORDER BY r.ended DESC LIMIT 1", [tenant, block.path, *block[1:]],
        )  # fmt: skip
        return str(rows[0][0]) if rows else None

    def last_known(self, tenant: str, path: str) -> list[tuple[FileBlock, str]]:
        """Return the block that was last written at a path, and the block that was last read there, each with its capture."""
        rows = [
            row
            for table in ("written", "consumed")
            for row in self._rows(
                f"SELECT t.length, t.modified, c.capture FROM {table} t JOIN capture c ON c.number = t.capture "
                "WHERE t.path = (SELECT number FROM path WHERE tenant = ? AND uri = ?) ORDER BY t.ended DESC LIMIT 1", [tenant, path],
            )
        ]  # fmt: skip
        return [(FileBlock(path, length, modified), capture) for length, modified, capture in rows]

    def written_at(self, tenant: str, paths: Iterable[str]) -> dict[str, list[FileBlock]]:
        """Return the blocks that captures wrote at each path, the latest last."""
        blocks_by_path: dict[str, list[FileBlock]] = {}
        for part in batched(dict.fromkeys(paths), _BATCH):
            rows = self._rows(
                f"SELECT p.uri, t.length, t.modified FROM path p CROSS JOIN written t ON t.path = p.number "
                f"WHERE p.tenant = ? AND p.uri IN ({', '.join('?' * len(part))}) GROUP BY 1, 2, 3 ORDER BY max(t.ended)", [tenant, *part],
            )  # fmt: skip
            for path, length, modified in rows:
                blocks_by_path.setdefault(path, []).append(FileBlock(path, length, modified))
        return blocks_by_path

    def unwritten(self, tenant: str, folder: str) -> list[FileBlock]:
        """Return the blocks below a folder that a capture read and no capture wrote."""
        begin = f"{folder.rstrip('/')}/"
        rows = self._rows(
            "SELECT DISTINCT p.uri, t.length, t.modified FROM path p CROSS JOIN consumed t ON t.path = p.number "
            "WHERE p.tenant = ? AND p.uri >= ? AND p.uri < ? AND NOT EXISTS "
            "(SELECT 1 FROM written w WHERE w.path = p.number AND w.length = t.length AND w.modified = t.modified)",
            [tenant, begin, f"{begin[:-1]}0"],  # 0 is the character after the slash
        )
        return [FileBlock(*row) for row in rows]

    def next_unkept(self, tenant: str, after: int) -> tuple[int, str] | None:
        """Return number and id of the next capture whose groups the job did not write, and that is still to be checked.

        Pass the number as `after` to get the following capture.
        """
        rows = self._rows("SELECT number, capture FROM unkept WHERE tenant = ? AND number > ? ORDER BY number LIMIT 1", [tenant, after])
        return rows[0] if rows else None

    def looked_at(self, number: int) -> None:
        """Remove a capture from those that `next_unkept` returns."""
        with self._transaction() as database:
            database.execute("DELETE FROM unkept WHERE number = ?", [number])

    def journal(self, tenant: str) -> set[str]:
        """Return the journal entries of a shared place that were read last, and the position from which to search for more."""
        return {str(row[0]) for row in self._rows("SELECT entry FROM journal WHERE tenant = ?", [tenant])}

    def note_journal(self, tenant: str, entries: Iterable[str], *, since: str = "") -> None:
        """Note journal entries that were read. Every entry before `since` was read too."""
        with self._transaction() as database:
            database.executemany("INSERT OR IGNORE INTO journal VALUES (?, ?)", [(tenant, entry) for entry in entries])
            if since:
                database.execute("DELETE FROM journal WHERE tenant = ? AND entry < ?", [tenant, since])
                database.execute("INSERT OR IGNORE INTO journal VALUES (?, ?)", [tenant, since])

    def _find_linked(
        self, table: str, tenant: str, blocks: Iterable[FileBlock], outputs: Collection[int] | None = None
    ) -> dict[FileBlock, list[str]]:
        captures_by_block: dict[FileBlock, list[str]] = {}
        output_condition, has_few_outputs = "", outputs is not None and len(outputs) <= _MOST_OUTPUTS
        if has_few_outputs and outputs is not None:
            output_condition = f" AND t.output IN ({', '.join(str(int(output)) for output in outputs)})"
        for part in batched(dict.fromkeys(blocks), _BATCH):
            rows = self._rows(
                f"{_asked(part)} SELECT a.uri, a.length, a.modified, c.capture, c.output FROM asked a "
                "CROSS JOIN path p ON p.tenant = ? AND p.uri = a.uri "
                f"CROSS JOIN {table} t ON t.path = p.number AND t.length = a.length AND t.modified = a.modified{output_condition} "
                "CROSS JOIN capture c ON c.number = t.capture ORDER BY t.ended, c.capture",
                [*(value for block in part for value in block), tenant],
            )
            wanted_outputs = None if has_few_outputs or outputs is None else frozenset(outputs)
            for path, length, modified, capture, output in rows:
                if wanted_outputs is None or output in wanted_outputs:
                    captures_by_block.setdefault(FileBlock(path, length, modified), []).append(capture)
        return captures_by_block

    def _find_existing(self, table: str, tenant: str, part: Sequence[FileBlock]) -> list[FileBlock]:
        rows = self._rows(
            f"{_asked(part)} SELECT a.uri, a.length, a.modified FROM asked a CROSS JOIN path p ON p.tenant = ? AND p.uri = a.uri WHERE "
            f"EXISTS (SELECT 1 FROM {table} t WHERE t.path = p.number AND t.length = a.length AND t.modified = a.modified)",
            [*(value for block in part for value in block), tenant],
        )
        return [FileBlock(*row) for row in rows]

    def _content(self, tenant: str, capture: str) -> bytes | None:
        rows = self._rows("SELECT content FROM capture WHERE tenant = ? AND capture = ?", [tenant, capture])
        return bytes(rows[0][0]) if rows else None

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._lock, translated(self._path, _WHAT):
            return self._database.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translated(self._path, _WHAT):
            if self._filling:
                yield self._database
                return
            self._database.execute("BEGIN IMMEDIATE")
            self._filling = True
            try:
                yield self._database
                self._database.execute("COMMIT")
                if self._database.total_changes - self._changes > _CHECKPOINT:
                    self._bring_into_file()
            except BaseException:
                if self._database.in_transaction:  # a full disk may have ended it
                    self._database.execute("ROLLBACK")
                raise
            finally:
                self._filling = False

    @staticmethod
    def _forget_captures(database: sqlite3.Connection, tenant: str, capture: str | None) -> None:
        if capture is None:
            numbers = "SELECT number FROM capture WHERE tenant = ?"
            for table in ("use", "written", "consumed"):
                database.execute(f"DELETE FROM {table} WHERE capture IN ({numbers})", [tenant])
            database.execute("DELETE FROM sourced WHERE path IN (SELECT number FROM path WHERE tenant = ?)", [tenant])
            for table, column in (("flow", "input"), ("handed", "input"), ("taken", "dataset")):
                database.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT number FROM dataset WHERE tenant = ?)", [tenant])
            for table in _TABLES:
                database.execute(f"DELETE FROM {table} WHERE tenant = ?", [tenant])
            return
        selection = "SELECT number, bytes FROM capture WHERE tenant = ? AND capture = ?"
        for number, size in database.execute(selection, [tenant, capture]).fetchall():
            dataset_index.strike(database, number)
            database.execute("UPDATE capture SET held = 0 WHERE held = ? AND held <> 0", [number])
            for table in ("written", "consumed", "capture"):
                column = "number" if table == "capture" else "capture"
                database.execute(f"DELETE FROM {table} WHERE {column} = ?", [number])
            database.execute("DELETE FROM unkept WHERE tenant = ? AND capture = ?", [tenant, capture])
            database.execute("DELETE FROM lost WHERE tenant = ? AND capture = ?", [tenant, capture])
            database.execute("UPDATE tally SET captures = captures - 1, bytes = bytes - ? WHERE tenant = ?", [size, tenant])


def _find_replacement_time(database: sqlite3.Connection, output: int, at: str) -> str:
    """Return the time at which a later capture that is already in the catalog replaced this output. Empty if there is none."""
    later_captures = "SELECT at, started FROM capture WHERE output = ? AND at >= ? AND replaces = ? AND status <> 'refused' ORDER BY at"
    replacements = database.execute(later_captures, [output, at, Replaces.ALL])
    return next((str(replaced_at) for replaced_at, started in replacements if instant(started) >= at), "")


def _asked(part: Sequence[FileBlock]) -> str:
    """Return SQL for a table of blocks at the begin of a statement. Join it by CROSS JOIN, so that SQLite starts with it."""
    return f"WITH asked (uri, length, modified) AS (VALUES {', '.join(['(?, ?, ?)'] * len(part))})"


def content_digest(manifest: Manifest, files: Sequence[KeptFile]) -> bytes:
    """Return a hash of a capture's manifest and files, from which its entry is made."""
    digest = hashlib.blake2b(manifest_text(manifest), digest_size=16)
    digest.update(files_text(files))
    return digest.digest()
