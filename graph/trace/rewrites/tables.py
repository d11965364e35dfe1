"""The tables that a walk met: their files with the numbers of rows, and which of those files known runs wrote.

For `former_files` and `later_files`, which find records that a run which is not known carried into other files of a table. A row that has
the number and the version that it had in an earlier file is the same record; nothing is linked by time, by name or by equal values.
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
from headwater.graph.files.formats import format_of
from headwater.graph.files.row_ids import RowNumbers, TableFile, TableRows, has_new_rows, numbered_apart, numbers_in
from headwater.graph.files.shapes import Shape
from headwater.graph.records import FileBlock, uri_of
from headwater.graph.records.decode import Longs
from headwater.graph.trace.session import KnownFile, Session

# What a file, or the metadata of a table, raise that cannot be read.
CANNOT = (
    HeadwaterError, OSError, duckdb.InvalidInputException, duckdb.IOException, duckdb.DataError, duckdb.SerializationException,
    duckdb.NotSupportedError,
)  # fmt: skip
NEW_NUMBERS = "a run that is not known put rows of earlier files into it, and some of its rows have new numbers"
_MOST_WRITES = 2_000  # captures that wrote a table, of which one walk reads what they state of its files
_MOST_READ = 500  # data files whose row numbers one walk reads


class Tables:
    """What one walk knows of the tables that it met. What it cannot tell, the answer says."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._tables: dict[str, TableRows | str | None] = {}  # by dataset
        self._stated: dict[str, TableRows] = {}
        self._of_runs: dict[str, tuple[Mapping[str, NumberedFile], Mapping[FileBlock, int]]] = {}
        self._reads = 0

    def known(self, dataset: str) -> TableRows | str | None:
        """The table that a dataset is; None where it is none, or no known run wrote it. A text says why its files cannot be told."""
        if dataset not in self._tables:
            self._tables[dataset] = self._looked_up(dataset)
        return self._tables[dataset]

    def _looked_up(self, dataset: str) -> TableRows | str | None:
        session = self.session
        catalog = session.store.catalog.datasets
        writer = catalog.latest(session.tenant, dataset, "sink")
        sink = session.capture(writer).manifest.sink if writer is not None else None
        named = catalog.called(session.tenant, dataset)
        if sink is None or not named or not format_of(sink.format).is_table:
            return None
        try:
            rows = session.table_rows(sink.format, named[0].path)
        except CANNOT as error:
            return str(error).removesuffix(".")
        return rows if rows is not None else "its metadata are not there"

    def of_captures(self, dataset: str, table: TableRows) -> TableRows:
        """The same table with the files that known runs wrote, as they stated them: of snapshots that have expired, too."""
        if dataset not in self._stated:
            session = self.session
            stated = list(table.files.values())
            for write in islice(session.store.catalog.versions.writes(session.tenant, dataset), _MOST_WRITES):
                sink = session.capture(write.capture).manifest.sink
                numbered = {uri_of(file.path): file for file in sink.numbered} if sink is not None else {}
                for kept in session.store.catalog.written_by(session.tenant, write.capture) if numbered else ():
                    if (file := numbered.get(kept.block.path)) is not None:
                        of = TableFile(kept.block.path, kept.block.length, kept.rows, file.first, file.version, file.added, None)
                        stated.append(of)
            removed = {path: file.removed for path, file in table.files.items() if file.removed is not None}
            self._stated[dataset] = TableRows(numbered_apart(stated, removed), table.number, table.version)
        return self._stated[dataset]

    def written(self, files: Mapping[int, TableFile], dataset: str) -> dict[int, int]:
        """Those of some files that a known run wrote and whose record lineage is there, as numbers of the session.

        A file is left out, and the answer says so, where its run says otherwise of it than the metadata of the table do.
        """
        session = self.session
        blocks = session.store.catalog.written_at(session.tenant, [file.path for file in files.values()])
        met = {key: block for key, file in files.items() for block in blocks.get(file.path, ())[-1:] if block.length == file.length}
        writers = session.store.catalog.writers(session.tenant, met.values())
        pruned = session.pruned(set(writers.values())) if writers else set()
        found = {}
        for key, block in met.items():
            sink = session.capture(writers[block]).manifest.sink
            if writers[block] not in pruned and sink is not None and self._agrees(files[key], block, writers[block]):
                found[key] = session.known(block, dataset, Shape.of_sink(sink)).number
        return found

    def agrees(self, file: TableFile, block: FileBlock) -> bool:
        """Whether a file's table says of it what the run that wrote it says, if that is known; else the answer says that they differ."""
        writer = self.session.store.catalog.writers(self.session.tenant, [block]).get(block)
        return writer is None or self._agrees(file, block, writer)

    def _agrees(self, file: TableFile, block: FileBlock, writer: str) -> bool:
        """Whether what the metadata of a table say of a file is what the run that wrote it says."""
        if writer not in self._of_runs:
            sink = self.session.capture(writer).manifest.sink
            kept = self.session.store.catalog.written_by(self.session.tenant, writer)
            self._of_runs[writer] = (
                {uri_of(stated.path): stated for stated in sink.numbered} if sink is not None else {},
                {file.block: file.rows for file in kept},
            )
        numbered, rows = self._of_runs[writer]
        stated = numbered.get(file.path)
        if stated is not None and (stated.first, stated.version, stated.added) != (file.first, file.version, file.added):
            agrees = False
        else:
            agrees = file.rows is None or rows.get(block) in (None, file.rows)
        if not agrees:
            self.session.say(file.path, "the metadata of its table say otherwise of it than the run that wrote it", "missing")
        return agrees

    def numbers(self, table: TableRows, entry: TableFile, file: KnownFile, rows: Longs | None, numbers: Longs | None = None) -> RowNumbers:
        """The numbers of some rows of a file, or the rows that have some numbers. Raises what `CANNOT` has."""
        self._reads += 1
        if self._reads > _MOST_READ:
            raise OSError(f"the numbers of rows are in more than {_MOST_READ} files")
        found = numbers_in(self.session.here, table, entry, file.readable(), rows=rows, numbers=numbers)
        if rows is not None and len(found.rows) != len(rows):
            raise OSError("it has fewer rows than were read of it")
        return found

    def has_new_rows(self, table: TableRows, entry: TableFile, file: KnownFile) -> bool:
        """Whether a file has rows that no earlier file had. Raises what `CANNOT` has."""
        return has_new_rows(self.session.here, table, entry, file.readable())

    def places(self, table: str, file: KnownFile) -> Columns:
        """The origins and rows of the records of one file."""
        known = self.session.columns(table)
        if known is None:
            query = f"SELECT origin, row FROM {table} WHERE file = {file.number} AND row IS NOT NULL"
            fetched = self.session.database.execute(query).fetchnumpy()
            return {name: np.ma.getdata(column).astype(np.int64, copy=False) for name, column in fetched.items()}
        return memory_tables.chosen(memory_tables.taken(known, known["file"] == file.number), ["origin", "row"])

    def missing(self, file: KnownFile, reason: str) -> None:
        self.session.say(file.block.path, reason.removesuffix("."), "missing")


def of_table(file: KnownFile) -> bool:
    """Whether a file is one of a table, whose metadata tell of it."""
    return format_of(file.shape.format).is_table
