"""The state of one trace: its database, the files that it met, and what its answer will lack."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from headwater.errors import DamagedError, SourceChangedError, SourceUnavailableError, UnavailableError, UnsupportedError
from headwater.graph.associations import Boundary, Manifest, Source
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns, Database
from headwater.graph.files.formats import format_of
from headwater.graph.files.reader import Reader, ReadFile, kept_rows
from headwater.graph.files.row_ids import TableRows
from headwater.graph.files.shapes import Shape, partition_values
from headwater.graph.files.table_cache import KnownTables
from headwater.graph.model import node_id
from headwater.graph.records import AssociationStore, FileBlock, KeptFile, Look, uri_of
from headwater.graph.records.decode import Longs
from headwater.graph.records.key_lookup import KeptTables, check_table
from headwater.graph.records.layout import CATALOG
from headwater.graph.records.lists import SourceFiles, WrittenFiles
from headwater.graph.storage import LocalFile, RemoteFile, StoredFile, Traffic
from headwater.graph.storage.tables import StoredTable
from headwater.graph.trace.answer import FoundAgain, Incomplete
from headwater.graph.trace.plan import Plan
from headwater.graph.trace.recorded_row_keys import KeyBook

if TYPE_CHECKING:
    from headwater.graph.trace.file_checks import Holding

_LONGS = 64_000_000  # of all tables that one trace holds: 512 MB; what comes then is for the database, which spills


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture as traces use it."""

    manifest: Manifest  # without the lists of many files: `files`, and `files_of` a source, tell those
    plan: Plan
    files: WrittenFiles
    read: Mapping[int, SourceFiles]

    @property
    def id(self) -> str:
        """Its UUID."""
        return self.manifest.capture

    def source(self, number: int | None) -> Source:
        """A source of the manifest."""
        return next(source for source in self.manifest.sources if source.source == number)

    def files_of(self, source: Source) -> SourceFiles:
        """The files that a source read."""
        return self.read[source.source]


@dataclass(frozen=True)
class KnownFile:
    """A file block that the trace met, by number. `dataset` is a node id."""

    number: int
    block: FileBlock
    dataset: str
    shape: Shape
    partition: Mapping[str, str | None]
    look: Look = field(repr=False, compare=False)
    anew: bool = field(default=False, repr=False, compare=False)  # whether it is to be looked at even if a look is remembered
    keys: KeyBook | None = field(default=None, repr=False, compare=False)  # of rows whose numbers stand for keys

    @cached_property
    def problem(self) -> str | None:
        """The reason why its records cannot be read as they were; None if they can."""
        if unreadable := format_of(self.shape.format).unreadable:
            return unreadable
        if isinstance(self._now, str):
            return self._now
        return self.changed

    @cached_property
    def changed(self) -> str | None:
        """How the file differs from the one that the run read; None if it does not, or cannot be looked at."""
        if isinstance(self._now, str) or self._now[1:] == self.block[1:]:
            return None
        then = f"{self.block.length} bytes, modified at {self.block.modified} ms"
        return f"it has changed since the run: it had {then}; it has {self._now.length}, at {self._now.modified}"

    @property
    def lies(self) -> str:
        """Where the very file lies that was looked at, as a URI without links; what it is called where that cannot be told."""
        stored = None if isinstance(self._now, str) else self._file[1]
        return uri_of(stored.path) if isinstance(stored, LocalFile) else self.block.path

    @cached_property
    def _now(self) -> FileBlock | str:
        """The file as it is, or why that cannot be told."""
        try:
            return self._file[0]
        except (UnsupportedError, SourceUnavailableError) as error:
            return str(error).removesuffix(".")
        except OSError as error:
            gone = format_of(self.shape.format).gone if isinstance(error, FileNotFoundError) else None
            return f"it cannot be read any more ({error.strerror}{f': {gone}' if gone else ''})"

    @cached_property
    def _file(self) -> tuple[FileBlock, StoredFile]:
        block, stored = self.look.file(self.block.path, anew=self.anew)
        if isinstance(stored, StoredTable) and self.keys is not None:
            stored.recorded = self.keys.of
        return block, stored

    @property
    def is_pinned(self) -> bool:
        """Whether its storage gives bytes of the very content that was looked at alone, so that it cannot change while it is read."""
        stored = self._file[1]
        return isinstance(stored, RemoteFile) and stored.is_pinned

    def excuse(self) -> None:
        """Note that the answer says of the file that it changed while it was read."""
        self.look.excuse(self._file[1])

    def readable_as(self, shape: Shape) -> ReadFile:
        """What the reader needs to read its records in another shape. Raises as `readable` does."""
        return replace(self, shape=shape, partition=partition_values(self.block.path, shape, {})).readable()

    def doubts(self) -> dict[int, str]:
        """Of a table whose rows were read: those that could not be given as the run read them, and why; -1 stands for all."""
        stored = self._file[1]
        return stored.doubts if isinstance(stored, StoredTable) else {}

    def readable(self) -> ReadFile:
        """What the reader needs.

        Raises:
            SourceChangedError: the file is not what it was.
        """
        if self.problem:
            raise SourceChangedError(f"{self.block.path}: {self.problem}.")
        self.look.reads(self._file[1])
        return ReadFile(self.number, self._file[1], self.block, self.partition)


class Session:
    """What the steps of one trace share. Every table that they make is a temporary one of `database`, or held in memory.

    Nothing is held of a table beyond `most` rows.
    """

    def __init__(
        self,
        store: AssociationStore,
        tenant: str,
        database: duckdb.DuckDBPyConnection,
        reader: Reader,
        kept_tables: KeptTables,
        captures: dict[str, Capture],
        known_tables: KnownTables,
        *,
        most: int,
    ) -> None:
        self.store = store
        self.look = store.sources.look()
        self.tenant = tenant
        self.database = self.here = Database(database)  # `here` is that of this process, wherever the walk goes on
        self.reader = reader
        self.kept_tables = kept_tables
        self._most = most
        self._longs = 0
        self.files: list[KnownFile] = []
        self.left_out: dict[int, Longs] = {}  # by number of a file: rows that its dataset does not hold now
        self.incomplete: dict[Incomplete, None] = {}
        self.holdings: dict[str, Holding | None] = {}  # by dataset: what it holds now
        self.expected = 0  # kept rows that the walk is expected to look at, where that was asked
        self.found_again: list[FoundAgain] = []
        self.recomputed: dict[tuple[str, int], list[tuple[Longs, str]]] = {}  # by boundary: keys, and a table of their rows, computed again
        self._numbers: dict[FileBlock, int] = {}
        self._table_rows: dict[tuple[str, str], TableRows | None] = {}
        self._captures = captures
        self._known_tables = known_tables
        self._tables = 0
        self._counts: dict[str, int] = {}
        self._made: list[str] = []
        self._scanned: set[Path] = set()
        self._before = store.sources.remote.traffic

    @property
    def traffic(self) -> Traffic:
        """What this process asked of remote storage since the trace began."""
        return self.store.sources.remote.traffic.since(self._before)

    def table(self, select: str, parameters: list[object] | None = None) -> str:
        """Make a temporary table of a query; its name."""
        name = self.name()
        made = self.database.execute(f"CREATE TEMP TABLE {name} AS {select}", parameters or []).fetchone()
        self._counts[name] = int(made[0]) if made else 0
        self._made.append(name)
        return name

    def take(self, local: Session, table: str) -> str:
        """A table of the session that this one comes from, here; of a session that comes from none, the same."""
        del local
        return table

    @property
    def most(self) -> int:
        """The number of rows up to which a table is kept in memory; 0 once all tables together are large."""
        return self._most if self._longs < _LONGS else 0

    def hold(self, columns: Columns) -> str:
        """Keep a table in memory, and return its name."""
        name = self.database.hold(columns)
        self._longs += memory_tables.count(columns) * len(columns)
        self._counts[name] = memory_tables.count(columns)
        return name

    def columns(self, table: str) -> Columns | None:
        """The columns of a table of longs, in memory; None where it is large, or no table but a query, or holds nulls."""
        known = self.database.columns(table)
        if known is not None or self._counts.get(table, self.most) >= self.most:
            return known
        fetched = self.database.execute(f"FROM {table}").fetchnumpy()
        if any(np.ma.is_masked(column) for column in fetched.values()):
            return None
        return {name: np.ma.getdata(column).astype(np.int64, copy=False) for name, column in fetched.items()}

    def united(self, tables: Sequence[str], names: Sequence[str]) -> str:
        """A table of these columns of several tables (or queries), each row once."""
        known = [self.columns(table) for table in tables]
        if all(columns is not None for columns in known):
            return self.hold(memory_tables.united([memory_tables.chosen(columns, names) for columns in known if columns is not None]))
        return self.table(" UNION ".join(f"SELECT {', '.join(names)} FROM {table}" for table in tables))

    def files_of(self, tables: Sequence[str]) -> set[int]:
        """The files that tables with a column `file` have records of."""
        known = [(table, self.columns(table)) for table in tables]
        found = {int(file) for _, columns in known if columns is not None for file in memory_tables.values(columns["file"])}
        if queried := [table for table, columns in known if columns is None]:
            union = " UNION ".join(f"SELECT DISTINCT file FROM {table}" for table in queried)
            found |= {row[0] for row in self.database.execute(union).fetchall()}
        return found

    def name(self) -> str:
        """Return a new name for a table."""
        self._tables += 1
        return f"t{self._tables}"

    def forget(self, kept: Collection[str | None]) -> None:
        """Drop all tables but some."""
        for name in [name for name in self._made if name not in kept]:
            self.database.execute(f"DROP TABLE IF EXISTS {name}")
            self._made.remove(name)

    def count(self, table: str) -> int:
        """Number of rows of a table."""
        if table not in self._counts:
            row = self.database.execute(f"SELECT count(*) FROM {table}").fetchone()
            return int(row[0]) if row else 0
        return self._counts[table]

    def say(self, what: str, reason: str, effect: str) -> None:
        """Add a reason why the answer is not exact, once."""
        self.incomplete[Incomplete(what, reason, effect)] = None

    def needs_values(self, what: str) -> None:
        """Something on the way needs values of records, which a session may refuse.

        Raises:
            UnsupportedError: it does.
        """

    @property
    def is_whole(self) -> bool:
        """Whether the lineage is exact. Values that cannot be read, and the name of a version, do not change which records are given."""
        return all(entry.effect in ("unreadable", "version") for entry in self.incomplete)

    def capture(self, identifier: str) -> Capture:
        """A published capture."""
        manifest = self.store.brief(self.tenant, identifier)
        known = self._captures.get(identifier)
        if known is None or known.manifest is not manifest:
            files, read = self.store.written_files(self.tenant, identifier), self.store.source_files(self.tenant, manifest)
            known = Capture(manifest, Plan(manifest), files, read)
            self._captures[identifier] = known
        return known

    def table_rows(self, format_: str, path: str) -> TableRows | None:
        """The files that a table at a path has and had. Raises as the format does."""
        if (format_, path) not in self._table_rows:
            self._table_rows[format_, path] = self._known_tables.rows(self.look, format_, path)
        return self._table_rows[format_, path]

    def refresh(self) -> None:
        """Learn what other services kept. The answer says so where that fails, or where a capture cannot be read by anybody.

        Raises:
            DamagedError: the catalog is damaged.
        """
        try:
            self.store.refresh(self.tenant)
        except UnavailableError as error:
            self.say("associations", f"what other services kept a moment ago may be missing: {error.message}", "missing")
        except DamagedError as error:
            if error.path is not None and error.path.name == CATALOG:
                raise
            self.say("associations", f"what a capture read and wrote may be missing: {error.message}", "missing")

    def pruned(self, captures: Collection[str]) -> set[str]:
        """Those of some captures whose record lineage was pruned. The answer then says so."""
        found = self.store.pruned(self.tenant, captures)
        for identifier, note in found.items():
            run = self.capture(identifier).manifest.run
            self.say(node_id("job", run.namespace, run.job), f"of its run {run.run_id} {note}", "missing")
        return set(found)

    def kept(self, capture: Capture, boundary: int) -> Path:
        """The table of a boundary."""
        return self.store.table(self.tenant, capture.id, boundary)

    def rows(self, capture: Capture, boundary: Boundary) -> str:
        """The rows of a boundary's table, in a query.

        Raises:
            DamagedError: the table is not what was written.
        """
        path = self.kept(capture, boundary.boundary)
        self.kept_tables.check(path)
        self._scanned.add(path)
        return kept_rows(path)

    def check_scanned(self) -> None:
        """See that every table that the database read is sound: for who met a fault of the database.

        Raises:
            DamagedError: one is not.
        """
        for path in sorted(self._scanned):
            check_table(path)

    def known(self, block: FileBlock, dataset: str, shape: Shape, partition: Mapping[str, object] | None = None) -> KnownFile:
        """The file of a block; what was said of it first holds. Who reads it with more partition columns adds their values."""
        values = partition_values(block.path, shape, partition or {})
        if block not in self._numbers:
            self._numbers[block] = len(self.files)
            columns = format_of(shape.format).key_columns(shape)
            keys = KeyBook(self, block, tuple(columns)) if columns else None
            self.files.append(KnownFile(len(self.files), block, dataset, shape, values, self.look, keys=keys))
        known = self.files[self._numbers[block]]
        if known.shape != shape and format_of(shape.format).spans_ordinals and not _counts_alike(known.shape, shape):
            self.say(
                block.path, "runs know its rows by different keys, so a number of the one may be taken for one of the other", "missing"
            )
        if known.shape != shape and (both := format_of(shape.format).shape_of_both(known.shape, shape)) != known.shape:
            known = self.files[known.number] = replace(known, shape=both)
        if values.keys() - known.partition.keys():
            known = self.files[known.number] = replace(known, partition={**values, **known.partition})
        return known

    def written(self, capture: Capture, index: int) -> KnownFile:
        """The file that a capture wrote at a place among those that it wrote."""
        return self.wrote(capture, capture.files[index])

    def wrote(self, capture: Capture, kept: KeptFile) -> KnownFile:
        """A file that a capture wrote."""
        sink = capture.manifest.sink
        assert sink is not None  # noqa: S101 - a capture without a sink wrote no file
        return self.known(kept.block, node_id("dataset", sink.dataset.namespace, sink.dataset.name), Shape.of_sink(sink))


def _counts_alike(one: Shape, other: Shape) -> bool:
    return format_of(one.format).numbering(dict(one.options)) == format_of(other.format).numbering(dict(other.options))


def places_among(session: Session, capture: Capture, numbers: Iterable[int]) -> dict[int, int]:
    """For files of the session, by number, their places among those that a capture wrote."""
    found = {number: capture.files.place_of(session.files[number].block) for number in numbers}
    return {number: place for number, place in found.items() if place is not None}


def mapped(value: str, values: Mapping[int, int | None]) -> str:
    """SQL that maps an integer by a CASE, which DuckDB plans much faster than a join."""
    branches = " ".join(f"WHEN {key} THEN {'NULL' if mapped is None else mapped}" for key, mapped in values.items())
    return f"(CASE {value} {branches} END)::BIGINT" if branches else "NULL::BIGINT"
