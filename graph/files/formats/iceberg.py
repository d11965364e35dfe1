"""Tables of Iceberg, whose data files are Parquet: records by data file and place in it, columns by the ids of their fields.

A file calls its columns as the table did when it was written. What it is asked for is the table as a run knew it: its own names and types,
null where the file is older than a column. Which files a table has now is for its catalog to say; its folder holds those of other
snapshots too. A snapshot that is named is read from its metadata.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.associations.parts import SinkColumn, SourceColumn
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import Untranslatable, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files import iceberg_log
from headwater.graph.files.footers import Footer, alike, footers
from headwater.graph.files.formats.base import Held, Listed
from headwater.graph.files.formats.parquet import Parquet, places_of
from headwater.graph.files.iceberg_snapshot import newest_snapshot, snapshot
from headwater.graph.files.reader import FILE, HIDDEN, LINE, ROW, Reader, ReadFile, Wanted, places
from headwater.graph.files.row_ids import TableRows
from headwater.graph.files.shapes import Shape
from headwater.graph.files.versions import TableVersion
from headwater.graph.records import FileBlock, Look

_STRUCT = re.compile(r"\bstruct\s*<", re.IGNORECASE)  # its fields have ids of their own, which nothing here follows
# Of version 3: the table numbers its rows, and who rewrites a row writes its number again. Of all: where a row lies, whatever it holds.
_OWN = frozenset({"_row_id", "_last_updated_sequence_number", "_file", "_pos", "_spec_id"})
_RESERVED = 2**31 - 201  # ids of fields from here on are those of columns that the specification names


class Iceberg(Parquet):
    """See the module's docstring."""

    names_columns = False  # by the names that the file has
    has_snapshots = True
    is_table = True
    spark_gives_places = False

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        """As of Parquet, which the files are."""
        del options
        return "parquet"

    def listed(self, look: Look, path: str, shape: Shape) -> list[Listed] | None:
        del shape
        newest = newest_snapshot(look, path)
        at = f", or a snapshot behind its name (…@{newest}, the newest in its folder)" if newest else ""
        raise UnsupportedError(
            f"Which records {path.removeprefix('file:')} has now is not known here: its folder holds those of other snapshots too.",
            hint=f"Name records by file and row{at}.",
        )

    def held(self, look: Look, path: str, shape: Shape) -> Held | None:
        del shape
        newest = snapshot(look, path)
        return None if newest is None else Held(newest.files, newest.label)

    def version(self, look: Look, path: str, shape: Shape, *, name: str | None = None, until: int | None = None) -> TableVersion | None:
        del shape
        return snapshot(look, path, name=name, until=until)

    def table_log(self, path: str) -> str | None:
        return iceberg_log.log_of(path)

    def table_rows(self, look: Look, path: str, log: Sequence[FileBlock]) -> TableRows | None:
        return iceberg_log.table_rows(look, path, log)

    def names_in_file(self, shape: Shape, file: ReadFile, footer: Footer) -> Collection[tuple[str, str]] | None:
        try:
            return {(name, own) for name, own in _columns(shape, file, footer).items() if own is not None}
        except UnsupportedError:
            return None

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        """See that columns are in each file what Spark read them as."""
        del source
        found: set[str] = set()
        for file, footer in zip(files, footers(database, files), strict=True):
            columns = _columns(shape, file, footer)
            kinds = dict(footer.columns)
            for name, kind in attributes.items():
                if name not in columns:
                    raise Untranslatable(f"{name}, of which it is not known where {file.block.path} has it,")
                own = columns[name]
                if own is not None and not alike(kinds[own], duckdb_type(kind)):
                    raise Untranslatable(f"{name}, which was read as {kind}, is not just that in {file.block.path} ({kinds[own]})")
                if own is None and name in shape.defaulted:
                    raise Untranslatable(f"{name}, which {file.block.path} lacks and which has a default,")
                found |= {name} if own is not None else set()
        return set(attributes) - found if files else set()

    def names_at_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """By the ids of the fields: a column may have been renamed since. Those that Iceberg has for itself keep their names."""
        ids = {column.name.lower(): column.id for column in source.columns if not _is_own(column)}
        theirs = {column.id: column.name.lower() for column in sink.columns if not _is_own(column)}
        own = {name for name in names if name not in ids and name in _OWN}
        if sink.format != self.name or None in theirs or any(ids.get(name) is None for name in set(names) - own):
            return None
        written = {column.name.lower() for column in sink.columns if _is_own(column)}
        return frozenset(theirs[ids[name]] for name in set(names) - own if ids[name] in theirs) | own & written

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        """Files whose columns have the same names are one scan."""
        del reader
        if wanted is not None and not isinstance(wanted, str):
            wanted = database.hold(places_of(wanted))
        alike_files: dict[tuple[tuple[str, str | None], ...], list[ReadFile]] = {}
        for file, footer in zip(files, footers(database, files), strict=True):
            known = _columns(shape, file, footer)
            asked = list(columns) if columns is not None else list(known)
            if unknown := [name for name in asked if name not in known]:
                raise _unsure(unknown[0], file)
            if lacking := [name for name in asked if known[name] is None and name in shape.defaulted]:
                raise _unsure(lacking[0], file)
            alike_files.setdefault(tuple((name, known[name]) for name in asked), []).append(file)
        if not alike_files:
            return f"SELECT 0::BIGINT AS {FILE}, 0::BIGINT AS {ROW}, NULL::BIGINT AS {LINE} WHERE false", []
        kinds = dict(shape.columns)
        parts: list[str] = []
        parameters: list[object] = []
        for named, group in alike_files.items():
            selected = "".join(f", {_value(own, duckdb_type(kinds[name]))} AS {quoted(name)}" for name, own in named)
            join = f" JOIN {wanted} w ON w.file = m.{FILE} AND w.row = p.file_row_number" if wanted else ""
            parts.append(
                f"SELECT m.{FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}{selected} "
                f"FROM read_parquet(?, hive_partitioning = false) p JOIN {places(database, shape, group)} ON m.place = p.file_index{join}"
            )
            parameters.append([file.stored.scan for file in group])
        return " UNION ALL BY NAME ".join(parts), parameters


def _value(own: str | None, kind: str | None) -> str:
    if own is None:
        return f"NULL::{kind}" if kind else "NULL"
    return f"CAST(p.{quoted(own)} AS {kind})" if kind else f"p.{quoted(own)}"


def _columns(shape: Shape, file: ReadFile, footer: Footer) -> dict[str, str | None]:
    """What a file calls each column of the table; None: it has none. Columns of which that is not known are left out.

    Raises:
        UnsupportedError: the file does not say which fields its columns are, or hides the place of records.
    """
    if hidden := [name for name, _ in footer.columns if name.lower() in HIDDEN]:
        raise UnsupportedError(f"{file.block.path} has a column called {hidden[0]}, which hides the place of its records.")
    own = {number: name for number, (name, _) in zip(footer.ids, footer.columns, strict=True) if number is not None}
    if len(own) < len(footer.columns):
        raise UnsupportedError(f"{file.block.path} does not say which fields of the table its columns are: it was made elsewhere.")
    if len({name.lower() for name, _ in footer.columns}) < len(footer.columns):
        raise UnsupportedError(f"{file.block.path} has columns whose names differ in case alone.")
    kinds = dict(shape.columns)
    return {name: own.get(number) for name, number in shape.ids if not _STRUCT.search(kinds.get(name, "struct<"))}


def _unsure(column: str, file: ReadFile) -> UnsupportedError:
    return UnsupportedError(
        f"What {column} is of the records of {file.block.path} is not certain.", hint="Ask for an answer without values."
    )


def _is_own(column: SourceColumn | SinkColumn) -> bool:
    """Whether a column is one that Iceberg has beside those of a table."""
    return column.name.lower() in _OWN and (column.id is None or column.id > _RESERVED)
