"""Iceberg tables with Parquet files: records are identified by data file and position, columns by their field ids.

A file names its columns as the table did when the file was written. A query returns the table as the run saw it, with its names and types,
and null if the file is older than a column. Only the table's catalog knows its present files, because the folder has files of other
snapshots too. A named snapshot is read from its metadata.
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
from headwater.graph.files.footers import Footer, has_same_values, read_footers
from headwater.graph.files.formats.base import ListedFile, TableContent, TableVersion
from headwater.graph.files.formats.parquet import Parquet, make_places_table
from headwater.graph.files.iceberg_snapshot import find_newest_snapshot, read_snapshot
from headwater.graph.files.read_files import FILE, HIDDEN, LINE, ROW, FileReader, ReadFile, WantedRows, make_places
from headwater.graph.files.row_ids import TableRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records import FileBlock, Look

_STRUCT = re.compile(r"\bstruct\s*<", re.IGNORECASE)  # its fields have ids of their own, which are not supported here
# Version 3 numbers the rows of a table, and a rewritten row keeps its number. In all versions, a row has a file and a position.
_OWN = frozenset({"_row_id", "_last_updated_sequence_number", "_file", "_pos", "_spec_id"})
_RESERVED = 2**31 - 201  # the specification reserves field ids from here on for its own columns


class Iceberg(Parquet):
    """The Iceberg format with Parquet data files."""

    names_columns = False  # the file has names of its own
    has_snapshots = True
    is_table = True
    spark_gives_places = False

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        """Return the numbering of Parquet, the format of the data files."""
        del options
        return "parquet"

    def list_files(self, look: Look, path: str, shape: Shape) -> list[ListedFile] | None:
        del shape
        newest_id = find_newest_snapshot(look, path)
        snapshot_hint = f", or a snapshot behind its name (…@{newest_id}, the newest in its folder)" if newest_id else ""
        raise UnsupportedError(
            f"Which records {path.removeprefix('file:')} has now is not known here: its folder holds those of other snapshots too.",
            hint=f"Name records by file and row{snapshot_hint}.",
        )

    def find_content(self, look: Look, path: str, shape: Shape) -> TableContent | None:
        del shape
        newest_content = read_snapshot(look, path)
        return None if newest_content is None else TableContent(newest_content.files, newest_content.label)

    def find_version(
        self, look: Look, path: str, shape: Shape, *, name: str | None = None, latest_instant: int | None = None
    ) -> TableVersion | None:
        del shape
        return read_snapshot(look, path, name=name, latest_instant=latest_instant)

    def find_table_log(self, path: str) -> str | None:
        return iceberg_log.find_log_folder(path)

    def read_table_rows(self, look: Look, path: str, log: Sequence[FileBlock]) -> TableRows | None:
        return iceberg_log.read_table_rows(look, path, log)

    def names_in_file(self, shape: Shape, file: ReadFile, footer: Footer) -> Collection[tuple[str, str]] | None:
        try:
            return {
                (name, name_in_file) for name, name_in_file in _find_file_columns(shape, file, footer).items() if name_in_file is not None
            }
        except UnsupportedError:
            return None

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        del source
        found_names: set[str] = set()
        for file, footer in zip(files, read_footers(database, files), strict=True):
            columns = _find_file_columns(shape, file, footer)
            kinds = dict(footer.columns)
            for name, kind in attributes.items():
                if name not in columns:
                    raise Untranslatable(f"{name}, of which it is not known where {file.block.path} has it,")
                names_in_file = columns[name]
                if names_in_file is not None and not has_same_values(kinds[names_in_file], duckdb_type(kind)):
                    raise Untranslatable(
                        f"{name}, which was read as {kind}, is not just that in {file.block.path} ({kinds[names_in_file]})"
                    )
                if names_in_file is None and name in shape.defaulted:
                    raise Untranslatable(f"{name}, which {file.block.path} lacks and which has a default,")
                found_names |= {name} if names_in_file is not None else set()
        return set(attributes) - found_names if files else set()

    def translate_to_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Return names at the writer by field id, because a column may have been renamed. Iceberg's own columns keep their names."""
        ids = {column.name.lower(): column.id for column in source.columns if not _is_metadata_column(column)}
        writer_names = {column.id: column.name.lower() for column in sink.columns if not _is_metadata_column(column)}
        metadata_names = {name for name in names if name not in ids and name in _OWN}
        if sink.format != self.name or None in writer_names or any(ids.get(name) is None for name in set(names) - metadata_names):
            return None
        written_metadata_names = {column.name.lower() for column in sink.columns if _is_metadata_column(column)}
        return (
            frozenset(writer_names[ids[name]] for name in set(names) - metadata_names if ids[name] in writer_names)
            | metadata_names & written_metadata_names
        )

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        """Return a query of records. Files whose columns have the same names are one scan."""
        del reader
        if wanted_rows is not None and not isinstance(wanted_rows, str):
            wanted_rows = database.hold(make_places_table(wanted_rows))
        alike_files: dict[tuple[tuple[str, str | None], ...], list[ReadFile]] = {}
        for file, footer in zip(files, read_footers(database, files), strict=True):
            file_columns = _find_file_columns(shape, file, footer)
            selected_names = list(columns) if columns is not None else list(file_columns)
            if unknown_names := [name for name in selected_names if name not in file_columns]:
                raise _make_uncertainty_error(unknown_names[0], file)
            if missing_names := [name for name in selected_names if file_columns[name] is None and name in shape.defaulted]:
                raise _make_uncertainty_error(missing_names[0], file)
            alike_files.setdefault(tuple((name, file_columns[name]) for name in selected_names), []).append(file)
        if not alike_files:
            return f"SELECT 0::BIGINT AS {FILE}, 0::BIGINT AS {ROW}, NULL::BIGINT AS {LINE} WHERE false", []
        kinds = dict(shape.columns)
        parts: list[str] = []
        parameters: list[object] = []
        for names, group in alike_files.items():
            selected = "".join(
                f", {_format_value(name_in_file, duckdb_type(kinds[name]))} AS {quoted(name)}" for name, name_in_file in names
            )
            join = f" JOIN {wanted_rows} w ON w.file = m.{FILE} AND w.row = p.file_row_number" if wanted_rows else ""
            parts.append(
                f"SELECT m.{FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}{selected} "
                f"FROM read_parquet(?, hive_partitioning = false) p "
                f"JOIN {make_places(database, shape, group)} ON m.place = p.file_index{join}"
            )
            parameters.append([file.stored.scan for file in group])
        return " UNION ALL BY NAME ".join(parts), parameters


def _format_value(name_in_file: str | None, kind: str | None) -> str:
    if name_in_file is None:
        return f"NULL::{kind}" if kind else "NULL"
    return f"CAST(p.{quoted(name_in_file)} AS {kind})" if kind else f"p.{quoted(name_in_file)}"


def _find_file_columns(shape: Shape, file: ReadFile, footer: Footer) -> dict[str, str | None]:
    """Return the file's name for each column of the table; None if the file lacks it.

    Columns of a struct type or an unknown type are left out.

    Raises:
        UnsupportedError: the file has no field ids, or hides the place of records.
    """
    if hiding_names := [name for name, _ in footer.columns if name.lower() in HIDDEN]:
        raise UnsupportedError(f"{file.block.path} has a column called {hiding_names[0]}, which hides the place of its records.")
    names_by_id = {number: name for number, (name, _) in zip(footer.ids, footer.columns, strict=True) if number is not None}
    if len(names_by_id) < len(footer.columns):
        raise UnsupportedError(f"{file.block.path} does not say which fields of the table its columns are: it was made elsewhere.")
    if len({name.lower() for name, _ in footer.columns}) < len(footer.columns):
        raise UnsupportedError(f"{file.block.path} has columns whose names differ in case alone.")
    kinds = dict(shape.columns)
    return {name: names_by_id.get(number) for name, number in shape.ids if not _STRUCT.search(kinds.get(name, "struct<"))}


def _make_uncertainty_error(column: str, file: ReadFile) -> UnsupportedError:
    return UnsupportedError(
        f"What {column} is of the records of {file.block.path} is not certain.", hint="Ask for an answer without values."
    )


def _is_metadata_column(column: SourceColumn | SinkColumn) -> bool:
    """Return whether a column belongs to Iceberg itself, such as `_row_id`, and not to the table."""
    return column.name.lower() in _OWN and (column.id is None or column.id > _RESERVED)
