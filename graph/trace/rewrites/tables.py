"""The tables with row numbers that a walk passes, and their files.

`former_files` and `later_files` use it to find records that a program without capture copied into other files. Two rows are the same record
if they have the same number and version. Rows are never linked by time, by name or by equal values.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import duckdb
import numpy as np

from headwater.errors import HeadwaterError
from headwater.graph.associations.parts import NumberedFile
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.formats import get_format
from headwater.graph.files.row_ids import RowNumbers, TableFile, TableRows, has_new_rows, index_numbered_files, read_numbers
from headwater.graph.files.shapes import Shape
from headwater.graph.records import FileBlock, uri_of
from headwater.graph.records.decode import Longs
from headwater.graph.trace.session import KnownFile, Session

# Errors of a file or of a table's metadata that cannot be read.
CANNOT = (
    HeadwaterError, OSError, duckdb.InvalidInputException, duckdb.IOException, duckdb.DataError, duckdb.SerializationException,
    duckdb.NotSupportedError,
)  # fmt: skip
NEW_NUMBERS = "a run that is not known put rows of earlier files into it, and some of its rows have new numbers"
_MOST_WRITES = 2_000  # captures of writers of a table that one walk reads
_MOST_READ = 500  # data files whose row numbers one walk reads


class WalkTables:
    """The tables of one walk. The answer reports missing metadata."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._tables: dict[str, TableRows | str | None] = {}  # by dataset
        self._stated: dict[str, TableRows] = {}
        self._files_of_runs: dict[str, tuple[Mapping[str, NumberedFile], Mapping[FileBlock, int]]] = {}
        self._reads = 0

    def find_table(self, dataset: str) -> TableRows | str | None:
        """Return the table of a dataset. None if it is no table, or no captured run wrote it. A text is the reason why it is unreadable."""
        if dataset not in self._tables:
            self._tables[dataset] = self._look_up_table(dataset)
        return self._tables[dataset]

    def _look_up_table(self, dataset: str) -> TableRows | str | None:
        session = self.session
        catalog = session.store.catalog.datasets
        writer = catalog.latest(session.tenant, dataset, "sink")
        sink = session.get_capture(writer).manifest.sink if writer is not None else None
        entries = catalog.called(session.tenant, dataset)
        if sink is None or not entries or not get_format(sink.format).is_table:
            return None
        try:
            rows = session.read_table_rows(sink.format, entries[0].path)
        except CANNOT as error:
            return str(error).removesuffix(".")
        return rows if rows is not None else "its metadata are not there"

    def add_captured_files(self, dataset: str, table: TableRows) -> TableRows:
        """Return the table with all files that captured runs wrote, including files of expired snapshots."""
        if dataset not in self._stated:
            session = self.session
            files = list(table.files.values())
            for write in islice(session.store.catalog.versions.writes(session.tenant, dataset), _MOST_WRITES):
                sink = session.get_capture(write.capture).manifest.sink
                numbered_files = {uri_of(file.path): file for file in sink.numbered} if sink is not None else {}
                for kept_file in session.store.catalog.written_by(session.tenant, write.capture) if numbered_files else ():
                    if (file := numbered_files.get(kept_file.block.path)) is not None:
                        table_file = TableFile(
                            kept_file.block.path, kept_file.block.length, kept_file.rows, file.first, file.version, file.added, None
                        )
                        files.append(table_file)
            removals = {path: file.removed_at for path, file in table.files.items() if file.removed_at is not None}
            self._stated[dataset] = TableRows(index_numbered_files(files, removals), table.number, table.version)
        return self._stated[dataset]

    def find_written_files(self, files: Mapping[int, TableFile], dataset: str) -> dict[int, int]:
        """Return the files that a captured run wrote with record lineage, as numbers of the session.

        If the run and the table's metadata disagree about a file, the file is left out, and the answer reports that.
        """
        session = self.session
        blocks = session.store.catalog.written_at(session.tenant, [file.path for file in files.values()])
        present_blocks = {
            key: block for key, file in files.items() for block in blocks.get(file.path, ())[-1:] if block.length == file.length
        }
        writers = session.store.catalog.writers(session.tenant, present_blocks.values())
        pruned_captures = session.find_pruned(set(writers.values())) if writers else set()
        numbers = {}
        for key, block in present_blocks.items():
            sink = session.get_capture(writers[block]).manifest.sink
            if writers[block] not in pruned_captures and sink is not None and self._is_consistent(files[key], block, writers[block]):
                numbers[key] = session.add_file(block, dataset, Shape.from_sink(sink)).number
        return numbers

    def check_agreement(self, file: TableFile, block: FileBlock) -> bool:
        """Return whether the table's metadata and the capture that wrote the file agree. Report a difference in the answer."""
        writer = self.session.store.catalog.writers(self.session.tenant, [block]).get(block)
        return writer is None or self._is_consistent(file, block, writer)

    def _is_consistent(self, file: TableFile, block: FileBlock, writer: str) -> bool:
        if writer not in self._files_of_runs:
            sink = self.session.get_capture(writer).manifest.sink
            kept_files = self.session.store.catalog.written_by(self.session.tenant, writer)
            self._files_of_runs[writer] = (
                {uri_of(stated_file.path): stated_file for stated_file in sink.numbered} if sink is not None else {},
                {file.block: file.rows for file in kept_files},
            )
        numbered_files, rows = self._files_of_runs[writer]
        stated_file = numbered_files.get(file.path)
        if stated_file is not None and (stated_file.first, stated_file.version, stated_file.added) != (
            file.first,
            file.version,
            file.added,
        ):
            agrees = False
        else:
            agrees = file.rows is None or rows.get(block) in (None, file.rows)
        if not agrees:
            self.session.report(file.path, "the metadata of its table say otherwise of it than the run that wrote it", "missing")
        return agrees

    def read_numbers(
        self, table: TableRows, entry: TableFile, file: KnownFile, rows: Longs | None, numbers: Longs | None = None
    ) -> RowNumbers:
        """Return the row numbers of some rows of a file, or the rows with some numbers. Raises an error of `CANNOT`."""
        self._reads += 1
        if self._reads > _MOST_READ:
            raise OSError(f"the numbers of rows are in more than {_MOST_READ} files")
        row_numbers = read_numbers(self.session.local_database, table, entry, file.make_read_file(), rows=rows, numbers=numbers)
        if rows is not None and len(row_numbers.rows) != len(rows):
            raise OSError("it has fewer rows than were read of it")
        return row_numbers

    def has_new_rows(self, table: TableRows, entry: TableFile, file: KnownFile) -> bool:
        """Return whether a file has rows that are in no earlier file. Raises an error of `CANNOT`."""
        return has_new_rows(self.session.local_database, table, entry, file.make_read_file())

    def list_places(self, table: str, file: KnownFile) -> Columns:
        in_memory = self.session.get_columns(table)
        if in_memory is None:
            query = f"SELECT origin, row FROM {table} WHERE file = {file.number} AND row IS NOT NULL"
            columns = self.session.database.execute(query).fetchnumpy()
            return {name: np.ma.getdata(column).astype(np.int64, copy=False) for name, column in columns.items()}
        return memory_tables.chosen(memory_tables.taken(in_memory, in_memory["file"] == file.number), ["origin", "row"])

    def report_missing(self, file: KnownFile, reason: str) -> None:
        self.session.report(file.block.path, reason.removesuffix("."), "missing")


def format_table_name(file: KnownFile) -> bool:
    """Return whether a file belongs to a table format, whose metadata lists the files."""
    return get_format(file.shape.format).is_table
