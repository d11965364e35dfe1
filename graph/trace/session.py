"""The state of one trace: its database, its files, and the reasons why its answer is not exact."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import ReadFile, query_kept_rows
from headwater.graph.files.reader import Reader
from headwater.graph.files.row_ids import TableRows
from headwater.graph.files.shapes import Shape, find_partition_values
from headwater.graph.files.table_cache import TableCache
from headwater.graph.model import node_id
from headwater.graph.records import AssociationStore, DataRoots, FileBlock, KeptFile, Look, uri_of
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
    from headwater.graph.trace.file_checks import DatasetContent

_LONGS = 64_000_000  # in all tables of a trace in memory: 512 MB. The database keeps further tables, and spills.


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture, with its plan and its files."""

    manifest: Manifest  # without long lists of files, which `files` and `list_files_of` return
    plan: Plan
    files: WrittenFiles
    read: Mapping[int, SourceFiles]

    @property
    def id(self) -> str:
        return self.manifest.capture

    def source(self, number: int | None) -> Source:
        return next(source for source in self.manifest.sources if source.source == number)

    def files_of(self, source: Source) -> SourceFiles:
        return self.read[source.source]


@dataclass(frozen=True)
class KnownFile:
    """A file of the trace, in one state, with a number. `dataset` is a node id."""

    number: int
    block: FileBlock
    dataset: str
    shape: Shape
    partition: Mapping[str, str | None]
    look: Look = field(repr=False, compare=False)
    must_look: bool = field(
        default=False, repr=False, compare=False
    )  # whether to check the file again even if an earlier check is remembered
    keys: KeyBook | None = field(default=None, repr=False, compare=False)  # for rows whose numbers stand for keys

    @cached_property
    def problem(self) -> str | None:
        """Return the reason why the records of the file cannot be read as the run read them. None if they can be read."""
        if unreadable := get_format(self.shape.format).unreadable_reason:
            return unreadable
        if isinstance(self._current_block, str):
            return self._current_block
        return self.changed

    @cached_property
    def changed(self) -> str | None:
        """Return the difference between the file now and the file that the run read. None if they are equal or cannot be compared."""
        if isinstance(self._current_block, str) or self._current_block[1:] == self.block[1:]:
            return None
        return f"it has changed since the run: it had {self.block}; it has {self._current_block}"

    @property
    def real_uri(self) -> str:
        """Return the URI of the file with links resolved, or the file's name if its location is unknown."""
        stored = None if isinstance(self._current_block, str) else self._file[1]
        return uri_of(stored.path) if isinstance(stored, LocalFile) else self.block.path

    @cached_property
    def _current_block(self) -> FileBlock | str:
        try:
            return self._file[0]
        except (UnsupportedError, SourceUnavailableError) as error:
            return str(error).removesuffix(".")
        except OSError as error:
            message = get_format(self.shape.format).missing_file_reason if isinstance(error, FileNotFoundError) else None
            return f"it cannot be read any more ({error.strerror}{f': {message}' if message else ''})"

    @cached_property
    def _file(self) -> tuple[FileBlock, StoredFile]:
        block, stored = self.look.file(self.block.path, anew=self.must_look)
        if isinstance(stored, StoredTable) and self.keys is not None:
            stored.recorded = self.keys.find_keys
        return block, stored

    @property
    def is_pinned(self) -> bool:
        """Return whether the storage guarantees that the content cannot change while it is read."""
        stored = self._file[1]
        return isinstance(stored, RemoteFile) and stored.is_pinned

    def report_changes(self) -> None:
        """Report in the answer that the file changed while it was read."""
        self.look.excuse(self._file[1])

    def make_read_file_as(self, shape: Shape) -> ReadFile:
        """Return the reader's description of the file in another shape. Raises as `make_read_file` does."""
        return replace(self, shape=shape, partition=find_partition_values(self.block.path, shape, {})).make_read_file()

    def list_doubts(self) -> dict[int, str]:
        """Return the rows of a database table that could not be read as the run read them, with reasons. Row -1 stands for all rows."""
        stored = self._file[1]
        return stored.doubts if isinstance(stored, StoredTable) else {}

    def make_read_file(self) -> ReadFile:
        """Return the reader's description of the file.

        Raises:
            SourceChangedError: the file has changed since the run read it.
        """
        if self.problem:
            raise SourceChangedError(f"{self.block.path}: {self.problem}.")
        self.look.reads(self._file[1])
        return ReadFile(self.number, self._file[1], self.block, self.partition)


class Session:
    """The shared state of the steps of one trace. Tables are temporary tables of `database`, or kept in memory up to a limit of rows."""

    def __init__(
        self,
        store: AssociationStore,
        tenant: str,
        database: duckdb.DuckDBPyConnection,
        reader: Reader,
        kept_tables: KeptTables,
        captures: dict[str, Capture],
        known_tables: TableCache,
        *,
        memory_limit: int,
        sources: DataRoots | None = None,
    ) -> None:
        self.store = store
        self.look = (sources or store.sources).look(replaced=True)
        self.tenant = tenant
        self.database = self.local_database = Database(
            database
        )  # `local_database` belongs to this process, even if the walk runs elsewhere
        self.reader = reader
        self.kept_tables = kept_tables
        self._memory_limit = memory_limit
        self._longs = 0
        self.files: list[KnownFile] = []
        self.deleted_rows: dict[int, Longs] = {}  # number of a file → its rows that the dataset has deleted
        self.incomplete: dict[Incomplete, None] = {}
        self.affected_outputs: dict[Incomplete, set[str | None]] = {}  # the datasets to which a reason applies; None: to all
        self._output: str | None = None  # the dataset to which reasons apply now
        self.contents: dict[str, DatasetContent | None] = {}  # by dataset
        self.stated_captures: set[str] = set()  # captures whose files were compared with the records that they state
        self.expected_rows = 0  # kept rows that the walk is expected to read, if an estimate was made
        self.recomputed_groups: list[FoundAgain] = []
        self.recomputed_rows: dict[tuple[str, int], list[tuple[Longs, str]]] = {}  # boundary → keys, and a table of their recomputed rows
        self._numbers: dict[FileBlock, int] = {}
        self._table_rows: dict[tuple[str, str], TableRows | None] = {}
        self._captures = captures
        self._known_tables = known_tables
        self._tables = 0
        self._counts: dict[str, int] = {}
        self._table_names: list[str] = []
        self._scanned: set[Path] = set()
        self._previous_traffic = store.sources.remote.traffic

    @property
    def traffic(self) -> Traffic:
        """Return the number of requests to remote storage since the trace began."""
        return self.store.sources.remote.traffic.since(self._previous_traffic)

    def make_table(self, select: str, parameters: list[object] | None = None) -> str:
        name = self.make_name()
        row_count = self.database.execute(f"CREATE TEMP TABLE {name} AS {select}", parameters or []).fetchone()
        self._counts[name] = int(row_count[0]) if row_count else 0
        self._table_names.append(name)
        return name

    def take_table(self, local: Session, table: str) -> str:
        """Copy a table from the session `local`. An ordinary session shares its tables, and returns the same name."""
        del local
        return table

    @property
    def memory_limit(self) -> int:
        """Return the number of rows up to which a table is kept in memory. 0 once all tables together are large."""
        return self._memory_limit if self._longs < _LONGS else 0

    def keep_in_memory(self, columns: Columns) -> str:
        name = self.database.hold(columns)
        self._longs += memory_tables.count(columns) * len(columns)
        self._counts[name] = memory_tables.count(columns)
        return name

    def get_columns(self, table: str) -> Columns | None:
        """Return the columns of an integer table in memory. None if the table is large, is a query, or has nulls."""
        in_memory = self.database.columns(table)
        if in_memory is not None or self._counts.get(table, self.memory_limit) >= self.memory_limit:
            return in_memory
        arrays = self.database.execute(f"FROM {table}").fetchnumpy()
        if any(np.ma.is_masked(column) for column in arrays.values()):
            return None
        return {name: np.ma.getdata(column).astype(np.int64, copy=False) for name, column in arrays.items()}

    def unite_columns(self, tables: Sequence[str], names: Sequence[str]) -> str:
        in_memory = [self.get_columns(table) for table in tables]
        if all(columns is not None for columns in in_memory):
            return self.keep_in_memory(
                memory_tables.united([memory_tables.chosen(columns, names) for columns in in_memory if columns is not None])
            )
        return self.make_table(" UNION ".join(f"SELECT {', '.join(names)} FROM {table}" for table in tables))

    def list_files_of(self, tables: Sequence[str]) -> set[int]:
        in_memory = [(table, self.get_columns(table)) for table in tables]
        numbers = {int(file) for _, columns in in_memory if columns is not None for file in memory_tables.values(columns["file"])}
        if queried := [table for table, columns in in_memory if columns is None]:
            union = " UNION ".join(f"SELECT DISTINCT file FROM {table}" for table in queried)
            numbers |= {row[0] for row in self.database.execute(union).fetchall()}
        return numbers

    def make_name(self) -> str:
        self._tables += 1
        return f"t{self._tables}"

    def drop_tables_except(self, kept_names: Collection[str | None]) -> None:
        for name in [name for name in self._table_names if name not in kept_names]:
            self.database.execute(f"DROP TABLE IF EXISTS {name}")
            self._table_names.remove(name)

    def count_rows(self, table: str) -> int:
        if table not in self._counts:
            row = self.database.execute(f"SELECT count(*) FROM {table}").fetchone()
            return int(row[0]) if row else 0
        return self._counts[table]

    def report(self, subject: str, reason: str, effect: str) -> None:
        """Add a reason why the answer is not exact. A repeated reason is stored once."""
        entry = Incomplete(subject, reason, effect)
        self.incomplete[entry] = None
        self.affected_outputs.setdefault(entry, set()).add(self._output)

    @contextmanager
    def reports_about(self, output: str | None) -> Iterator[None]:
        """Apply the reasons that the block reports to the dataset `output`, and not to the whole answer."""
        previous_output, self._output = self._output, output
        try:
            yield
        finally:
            self._output = previous_output

    def require_values(self, purpose: str) -> None:
        """Declare that a step needs values of records. A session on Spark refuses.

        Raises:
            UnsupportedError: the session refuses.
        """

    @property
    def is_whole(self) -> bool:
        """Return whether the lineage is exact. Unreadable values and an earlier version do not make it inexact."""
        return all(entry.effect in ("unreadable", "version") for entry in self.incomplete)

    def get_capture(self, identifier: str) -> Capture:
        manifest = self.store.brief(self.tenant, identifier)
        cached_capture = self._captures.get(identifier)
        if cached_capture is None or cached_capture.manifest is not manifest:
            files, source_files = self.store.written_files(self.tenant, identifier), self.store.source_files(self.tenant, manifest)
            cached_capture = Capture(manifest, Plan(manifest), files, source_files)
            self._captures[identifier] = cached_capture
        return cached_capture

    def read_table_rows(self, format_: str, path: str) -> TableRows | None:
        """Return the present and the former files of a table at a path. Raises as the format does."""
        if (format_, path) not in self._table_rows:
            self._table_rows[format_, path] = self._known_tables.get_rows(self.look, format_, path)
        return self._table_rows[format_, path]

    def refresh(self) -> None:
        """Read captures that other services have published. Report a failure, and captures that cannot be read.

        Raises:
            DamagedError: the catalog is damaged.
        """
        try:
            self.store.refresh(self.tenant)
        except UnavailableError as error:
            self.report("associations", f"what other services kept a moment ago may be missing: {error.message}", "missing")
        except DamagedError as error:
            if error.path is not None and error.path.name == CATALOG:
                raise
            self.report("associations", f"what a capture read and wrote may be missing: {error.message}", "missing")

    def find_pruned(self, captures: Collection[str]) -> set[str]:
        """Return those captures whose record lineage was pruned, and report them in the answer."""
        pruned_captures = self.store.pruned(self.tenant, captures)
        for identifier, note in pruned_captures.items():
            manifest = self.get_capture(identifier).manifest
            run, sink = manifest.run, manifest.sink
            with self.reports_about(node_id("dataset", sink.dataset.namespace, sink.dataset.name) if sink is not None else None):
                self.report(node_id("job", run.namespace, run.job), f"of its run {run.run_id} {note}", "missing")
        return set(pruned_captures)

    def query_kept_table(self, capture: Capture, boundary: int) -> Path:
        return self.store.table(self.tenant, capture.id, boundary)

    def query_rows(self, capture: Capture, boundary: Boundary) -> str:
        """Return a query of the rows in a boundary's kept table.

        Raises:
            DamagedError: the checksum of the table is wrong.
        """
        path = self.query_kept_table(capture, boundary.boundary)
        self.kept_tables.check(path)
        self._scanned.add(path)
        return query_kept_rows(path)

    def check_scanned(self) -> None:
        """Check the checksum of every table that the database has read. Call it after a fault of the database.

        Raises:
            DamagedError: a table is damaged.
        """
        for path in sorted(self._scanned):
            check_table(path)

    def add_file(self, block: FileBlock, dataset: str, shape: Shape, partition: Mapping[str, object] | None = None) -> KnownFile:
        """Add a file to the session and return it. The first shape of a file stays valid; later calls add values of partition columns."""
        values = find_partition_values(block.path, shape, partition or {})
        if block not in self._numbers:
            self._numbers[block] = len(self.files)
            columns = get_format(shape.format).list_key_columns(shape)
            keys = KeyBook(self, block, tuple(columns)) if columns else None
            self.files.append(KnownFile(len(self.files), block, dataset, shape, values, self.look, keys=keys))
        known_file = self.files[self._numbers[block]]
        if known_file.shape != shape and get_format(shape.format).spans_ordinals and not _has_same_numbering(known_file.shape, shape):
            self.report(
                block.path, "runs know its rows by different keys, so a number of the one may be taken for one of the other", "missing"
            )
        if (
            known_file.shape != shape
            and (common_shape := get_format(shape.format).merge_shapes(known_file.shape, shape)) != known_file.shape
        ):
            known_file = self.files[known_file.number] = replace(known_file, shape=common_shape)
        if values.keys() - known_file.partition.keys():
            known_file = self.files[known_file.number] = replace(known_file, partition={**values, **known_file.partition})
        return known_file

    def get_written_file(self, capture: Capture, index: int) -> KnownFile:
        """Return the file with an index among the files that a capture wrote."""
        return self.add_written_file(capture, capture.files[index])

    def add_written_file(self, capture: Capture, kept_file: KeptFile) -> KnownFile:
        sink = capture.manifest.sink
        assert sink is not None  # noqa: S101 - a capture without a sink wrote no file
        return self.add_file(kept_file.block, node_id("dataset", sink.dataset.namespace, sink.dataset.name), Shape.from_sink(sink))


def _has_same_numbering(shape: Shape, other_shape: Shape) -> bool:
    return get_format(shape.format).describe_numbering(dict(shape.options)) == get_format(other_shape.format).describe_numbering(
        dict(other_shape.options)
    )


def map_places(session: Session, capture: Capture, numbers: Iterable[int]) -> dict[int, int]:
    """Map file numbers of the session to the indexes of these files in a capture."""
    places = {number: capture.files.place_of(session.files[number].block) for number in numbers}
    return {number: place for number, place in places.items() if place is not None}


def format_mapping(value: str, values: Mapping[int, int | None]) -> str:
    """Return SQL that maps an integer by a CASE. DuckDB plans a CASE much faster than a join."""
    branches = " ".join(f"WHEN {key} THEN {'NULL' if mapped is None else mapped}" for key, mapped in values.items())
    return f"(CASE {value} {branches} END)::BIGINT" if branches else "NULL::BIGINT"
