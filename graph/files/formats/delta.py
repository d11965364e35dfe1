"""Delta: Parquet files, of which the table's log tells which hold rows of the table, and how their columns are called."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import Untranslatable, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files import delta_rows
from headwater.graph.files.deletions import deleted_rows
from headwater.graph.files.delta_log import DataFile, table_files, version_of
from headwater.graph.files.footers import Footer, check_columns, footers
from headwater.graph.files.formats.base import Listed
from headwater.graph.files.formats.parquet import Parquet, few, many, no_records
from headwater.graph.files.reader import FILE, LINE, ROW, Reader, ReadFile, Wanted
from headwater.graph.files.row_ids import TableRows
from headwater.graph.files.shapes import Shape
from headwater.graph.files.versions import TableVersion
from headwater.graph.records import FileBlock, Look

_MODE, _NAME = "columnmapping", "physicalname."  # options that a capture states: how columns are mapped, and each one's name in the files


class Delta(Parquet):
    """Columns by the names that the table's metadata has for them in files, rows by their index in the file."""

    is_table = True
    gone = "VACUUM deletes files that the table does not hold any more"

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        del options
        return "parquet"

    def listed(self, look: Look, path: str, shape: Shape) -> list[Listed] | None:
        files = table_files(look, path)
        if files is None:
            return super().listed(look, path, shape)  # a file of a table, or a folder that is none any more
        return _listed(look, path, shape, files)

    def version(self, look: Look, path: str, shape: Shape, *, name: str | None = None, until: int | None = None) -> TableVersion | None:
        found = version_of(look, path, name=name, until=until)
        files = table_files(look, path, found[0]) if found is not None else None
        return None if found is None or files is None else TableVersion(str(found[0]), found[1], _listed(look, path, shape, files))

    def table_log(self, path: str) -> str | None:
        return delta_rows.log_of(path)

    def table_rows(self, look: Look, path: str, log: Sequence[FileBlock]) -> TableRows | None:
        return delta_rows.table_rows(look, path, log)

    def names_in_file(self, shape: Shape, file: ReadFile, footer: Footer) -> Collection[tuple[str, str]] | None:
        del file, footer
        stored = _stored(shape)
        return {(name, stored[name.lower()]) for name, _ in (*shape.columns, *shape.partitions) if name.lower() in stored}

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        split = {name.lower() for name, _ in shape.partitions}
        own = split | {name.lower() for name, _ in shape.columns}
        if hidden := [name for name in attributes if name.lower() not in own]:
            raise Untranslatable(f"{hidden[0]}, which is no column of the table,")  # `_metadata`: what Spark tells of a record beside it
        stored = _stored(shape)
        wanted = {stored.get(name.lower(), name): kind for name, kind in attributes.items() if name.lower() not in split}
        defaulted = {stored.get(column.name.lower(), column.name).lower() for column in source.columns if column.default}
        absent = check_columns(database, files, wanted, everywhere=defaulted)
        return {name for name in attributes if name.lower() not in split and stored.get(name.lower(), name) in absent}

    def names_at_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Columns that are mapped are the same where they have one name in the files."""
        if sink.format not in (self.name, "parquet"):
            return None
        ours, theirs = _stored(Shape.of_source(source)), _stored(Shape.of_sink(sink))
        if not ours and not theirs:
            return frozenset(names)
        back = {stored.lower(): name for name, stored in theirs.items()}
        return frozenset(back.get(ours.get(name, name).lower(), ours.get(name, name)) for name in names)

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        self.check_names(name for name, _ in shape.columns)
        known = dict(zip((file.number for file in files), footers(database, files), strict=True)) if files else {}

        def of_one(file: ReadFile) -> str:
            return _selected(shape, [known[file.number]])

        parameters: list[object]
        if not files:  # a version of a table that has no rows
            select, parameters = no_records(shape), []
        elif wanted is not None and len(files) <= self.few_files:
            select, parameters = few(shape, files, wanted, {}, of_one)
        else:
            select, parameters = many(database, shape, files, wanted, _selected(shape, known.values()))
        named = "*" if columns is None else ", ".join([FILE, ROW, LINE, *map(quoted, columns)])
        return f"SELECT {named} FROM ({select})", parameters


def _listed(look: Look, path: str, shape: Shape, files: Iterable[DataFile]) -> list[Listed]:
    """Files of a table, with the table's names for what they are partitioned by."""
    stored = _stored(shape)
    names = {stored.get(name.lower(), name): name for name, _ in shape.partitions}
    found = []
    for file in files:
        values = {names.get(name, name): value for name, value in file.partition.items()}
        found.append(Listed(file.block, values, None if file.vector is None else deleted_rows(look, path, file.vector)))
    return found


def _stored(shape: Shape) -> dict[str, str]:
    """The names that columns have in the files, by their own in lower case; empty where they have their own."""
    options = dict(shape.options)
    if options.get(_MODE, "none") == "none":
        return {}
    return {name.removeprefix(_NAME): stored for name, stored in options.items() if name.startswith(_NAME)}


def _selected(shape: Shape, known: Collection[Footer]) -> str:
    """The table's columns of files, in a query: no other that a file may have, and null for what none of them has."""
    there = {name.lower() for footer in known for name, _ in footer.columns}
    stored = _stored(shape)
    parts = []
    for name, kind in shape.columns:
        physical = stored.get(name.lower(), name)
        value = f"p.{quoted(physical)}" if physical.lower() in there else f"NULL::{duckdb_type(kind) or 'VARCHAR'}"
        parts.append(f"{value} AS {quoted(name)}")
    if not parts:
        raise Untranslatable("a table without columns")
    return ", ".join(parts)
