"""Delta tables with Parquet files. The table's log lists the files, and the names of columns in them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import Untranslatable, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files import delta_rows
from headwater.graph.files.deletions import read_deleted_rows
from headwater.graph.files.delta_log import DataFile, find_version, list_table_files
from headwater.graph.files.footers import Footer, check_columns, read_footers
from headwater.graph.files.formats.base import ListedFile, TableVersion
from headwater.graph.files.formats.parquet import Parquet, query_no_records, scan_separately, scan_together
from headwater.graph.files.read_files import FILE, LINE, ROW, FileReader, ReadFile, WantedRows
from headwater.graph.files.row_ids import TableRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records import FileBlock, Look

_MODE, _NAME = "columnmapping", "physicalname."  # options in a capture: the mapping mode, and the name of each column in the files


class Delta(Parquet):
    """The Delta format. Columns match by the names in the table's metadata, rows by their index in the file."""

    is_table = True
    missing_file_reason = "VACUUM deletes files that the table does not hold any more"

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        del options
        return "parquet"

    def list_files(self, look: Look, path: str, shape: Shape) -> list[ListedFile] | None:
        files = list_table_files(look, path)
        if files is None:
            return super().list_files(look, path, shape)  # a single file of a table, or the folder of a former table
        return _list_files(look, path, shape, files)

    def find_version(
        self, look: Look, path: str, shape: Shape, *, name: str | None = None, latest_instant: int | None = None
    ) -> TableVersion | None:
        version = find_version(look, path, name=name, latest_instant=latest_instant)
        files = list_table_files(look, path, version[0]) if version is not None else None
        return (
            None if version is None or files is None else TableVersion(str(version[0]), version[1], _list_files(look, path, shape, files))
        )

    def find_table_log(self, path: str) -> str | None:
        return delta_rows.find_log_folder(path)

    def read_table_rows(self, look: Look, path: str, log: Sequence[FileBlock]) -> TableRows | None:
        return delta_rows.read_table_rows(look, path, log)

    def names_in_file(self, shape: Shape, file: ReadFile, footer: Footer) -> Collection[tuple[str, str]] | None:
        del file, footer
        stored = _find_stored_names(shape)
        return {(name, stored[name.lower()]) for name, _ in (*shape.columns, *shape.partitions) if name.lower() in stored}

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        split = {name.lower() for name, _ in shape.partitions}
        known_names = split | {name.lower() for name, _ in shape.columns}
        if unknown_names := [name for name in attributes if name.lower() not in known_names]:
            raise Untranslatable(f"{unknown_names[0]}, which is no column of the table,")  # `_metadata`: Spark's information about a record
        stored = _find_stored_names(shape)
        stored_types = {stored.get(name.lower(), name): kind for name, kind in attributes.items() if name.lower() not in split}
        defaulted = {stored.get(column.name.lower(), column.name).lower() for column in source.columns if column.default}
        absent_columns = check_columns(database, files, stored_types, everywhere=defaulted)
        return {name for name in attributes if name.lower() not in split and stored.get(name.lower(), name) in absent_columns}

    def translate_to_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Return names at the writer. With column mapping, columns match by their names in the files."""
        if sink.format not in (self.name, "parquet"):
            return None
        reader_names, stored_names = _find_stored_names(Shape.from_source(source)), _find_stored_names(Shape.from_sink(sink))
        if not reader_names and not stored_names:
            return frozenset(names)
        writer_names = {stored.lower(): name for name, stored in stored_names.items()}
        return frozenset(writer_names.get(reader_names.get(name, name).lower(), reader_names.get(name, name)) for name in names)

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        self.check_names(name for name, _ in shape.columns)
        footer_by_file = dict(zip((file.number for file in files), read_footers(database, files), strict=True)) if files else {}

        def of_one(file: ReadFile) -> str:
            return _select_columns(shape, [footer_by_file[file.number]])

        parameters: list[object]
        if not files:  # a version of a table without rows
            select, parameters = query_no_records(shape), []
        elif wanted_rows is not None and len(files) <= self.few_files:
            select, parameters = scan_separately(shape, files, wanted_rows, {}, of_one)
        else:
            select, parameters = scan_together(database, shape, files, wanted_rows, _select_columns(shape, footer_by_file.values()))
        column_list = "*" if columns is None else ", ".join([FILE, ROW, LINE, *map(quoted, columns)])
        return f"SELECT {column_list} FROM ({select})", parameters


def _list_files(look: Look, path: str, shape: Shape, files: Iterable[DataFile]) -> list[ListedFile]:
    stored = _find_stored_names(shape)
    names = {stored.get(name.lower(), name): name for name, _ in shape.partitions}
    found = []
    for file in files:
        values = {names.get(name, name): value for name, value in file.partition.items()}
        found.append(ListedFile(file.block, values, None if file.vector is None else read_deleted_rows(look, path, file.vector)))
    return found


def _find_stored_names(shape: Shape) -> dict[str, str]:
    """Return the names of columns in the files, by their table names in lower case. Empty without column mapping."""
    options = dict(shape.options)
    if options.get(_MODE, "none") == "none":
        return {}
    return {name.removeprefix(_NAME): stored for name, stored in options.items() if name.startswith(_NAME)}


def _select_columns(shape: Shape, known_footers: Collection[Footer]) -> str:
    """Return a SELECT list of the table's columns: extra columns of files are left out, and missing columns are null."""
    present_names = {name.lower() for footer in known_footers for name, _ in footer.columns}
    stored = _find_stored_names(shape)
    parts = []
    for name, kind in shape.columns:
        physical = stored.get(name.lower(), name)
        value = f"p.{quoted(physical)}" if physical.lower() in present_names else f"NULL::{duckdb_type(kind) or 'VARCHAR'}"
        parts.append(f"{value} AS {quoted(name)}")
    if not parts:
        raise Untranslatable("a table without columns")
    return ", ".join(parts)
