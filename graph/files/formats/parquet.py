"""Parquet files: records are identified by their row number, and read by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Columns, Database
from headwater.graph.duck.sql import Untranslatable, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames, find_ambiguous
from headwater.graph.files.copies import copy_parquet
from headwater.graph.files.excerpts import Excerpt
from headwater.graph.files.footers import Footer, NoParquetError, check_columns, read_footers
from headwater.graph.files.formats.base import Format
from headwater.graph.files.read_files import (
    FILE,
    HIDDEN,
    LINE,
    NO_ROWS,
    ROW,
    FileReader,
    ReadFile,
    WantedRows,
    format_partitions,
    make_places,
)
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs
from headwater.graph.storage import LocalFile
from headwater.graph.storage.files import exactly

_MADE_UP = re.compile(r"col-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")  # Delta's names of mapped columns in files
_numbers = count()


class Parquet(Format):
    """The Parquet format. Columns match by name, rows by their index."""

    counts_from_file = True
    names_columns = True
    spark_gives_places = True
    few_files = 16  # files that are scanned one by one

    @property
    def unreadable_reason(self) -> str | None:
        return None

    def find_first_of_split(self, reader: FileReader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def check_copy(self, shape: Shape, file: ReadFile) -> None:
        """Check nothing: `write_copy` compares the types of the copy."""

    def write_copy(self, reader: FileReader, shape: Shape, file: ReadFile, source: Path, target: Path, rows: Sequence[int]) -> int:
        del reader, shape, file
        return copy_parquet(source, target, rows)

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, shape
        return read_footers(database, [file])[0].rows

    def check_names(self, names: Iterable[str]) -> None:
        if hiding_names := sorted(name for name in names if name.lower() in HIDDEN):
            raise UnsupportedError(
                f"Records cannot be read by their place where a column is called {hiding_names[0]}: it hides the place.",
                hint="Ask for an answer without values.",
            )

    def find_column_names(self, reader: FileReader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        """Read names from the footers. Field ids, and names that Delta generates, show that a table has other names for the columns."""
        del reader
        try:
            known_footers = read_footers(database, files)
        except NoParquetError:
            return [UNCERTAIN] * len(files)
        names = [[name for name, _ in footer.columns] for footer in known_footers]
        split = {name.casefold() for name, _ in shape.partitions}
        all_file_names = {name for of_file in names for name in of_file}
        doubled = find_ambiguous(all_file_names) | {
            name.casefold() for name in all_file_names if name.casefold() in {*split, FILE, ROW, LINE}
        }
        doubled |= {name for of_file in names for name in find_ambiguous(of_file)}
        column_names = []
        for file, footer, of_file in zip(files, known_footers, names, strict=True):
            names_in_file = self.names_in_file(shape, file, footer)
            is_renamed = (
                names_in_file is None
                or bool(names_in_file)
                or any(number is not None for number in footer.ids)
                or any(map(_MADE_UP.match, of_file))
            )
            pairs = {(name, name_in_file) for name, name_in_file in names_in_file or ()} | footer.nested
            pairs |= {
                (name, inner) for name, name_in_file in names_in_file or () for outer, inner in footer.nested if outer == name_in_file
            }
            other_names = frozenset(pair for pair in pairs if pair[0] != pair[1])
            all_names = frozenset({*of_file, *(name for pair in other_names for name in pair), *(name for name, _ in shape.partitions)})
            column_names.append(ColumnNames(self.has_reliable_columns(shape), other_names, doubled, is_renamed, all_names))
        return column_names

    def names_in_file(self, shape: Shape, file: ReadFile, footer: Footer) -> Collection[tuple[str, str]] | None:
        """Return pairs of a table's column and its name in the file, if the table maps columns. None if the mapping is unknown."""
        del shape, file, footer
        return ()

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        split = {name.lower() for name, _ in shape.partitions}
        stored_types = {name: kind for name, kind in attributes.items() if name.lower() not in split}
        found_by = dict(shape.options).get("columnsby")
        if found_by == "id" and stored_types:
            raise Untranslatable(f"{min(stored_types)}, which Spark may have found by a field id,")
        defaulted = {column.name.lower() for column in source.columns if column.default}
        return check_columns(database, files, stored_types, everywhere=defaulted, cased=found_by == "case")

    def translate_to_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Return the same names, because Parquet files store them. Columns that match by field ids are an exception."""
        if sink.format != self.name or dict(source.options).get("columnsby") == "id":
            return None
        return frozenset(names)

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        self.check_names(name for name, _ in shape.columns)
        if not files:
            return query_no_records(shape), []
        if wanted_rows is not None and 0 < len(files) <= self.few_files:
            excerpts = _cut_excerpts(reader, database, files, wanted_rows) if columns is None and not isinstance(wanted_rows, str) else {}
            select, parameters = scan_separately(shape, files, wanted_rows, excerpts)
        else:
            select, parameters = scan_together(database, shape, files, wanted_rows)
        column_list = "*" if columns is None else ", ".join([FILE, ROW, LINE, *map(quoted, columns)])
        return f"SELECT {column_list} FROM ({select})", parameters


def query_no_records(shape: Shape) -> str:
    kinds = {name.lower(): (name, kind) for name, kind in (*shape.columns, *shape.partitions)}
    null_columns = "".join(f", NULL::{duckdb_type(kind) or 'VARCHAR'} AS {quoted(name)}" for name, kind in kinds.values())
    return f"SELECT 0::BIGINT AS {FILE}, 0::BIGINT AS {ROW}, NULL::BIGINT AS {LINE}{null_columns} WHERE false"


def _cut_excerpts(
    reader: FileReader, database: Database, files: Sequence[ReadFile], wanted_rows: Mapping[int, Longs]
) -> dict[int, Excerpt]:
    excerpts: dict[int, Excerpt] = {}
    for file in files:
        rows = wanted_rows.get(file.number, NO_ROWS)
        name = f"excerpt_{next(_numbers)}.parquet"
        if not len(rows) or not isinstance(file.stored, LocalFile):
            continue  # remote files would make each of many small reads wait; DuckDB reads adjacent data together
        if (excerpt := reader.excerpts.cut_rows(file.stored, rows, partial(database.scratch, name))) is not None:
            excerpts[file.number] = excerpt
    return excerpts


def scan_together(
    database: Database, shape: Shape, files: Sequence[ReadFile], wanted_rows: WantedRows | None, columns: str = "p.*"
) -> tuple[str, list[object]]:
    """Return a query that reads records of all files in one scan, and its parameters."""
    if wanted_rows is not None and not isinstance(wanted_rows, str):
        wanted_rows = database.hold(make_places_table(wanted_rows))
    join = f" JOIN {wanted_rows} w ON w.file = m.{FILE} AND w.row = p.file_row_number" if wanted_rows else ""
    select = (
        f"SELECT m.{FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}, {columns}{format_partitions(shape)} "
        "FROM read_parquet(?, union_by_name = true, hive_partitioning = false) p "
        f"JOIN {make_places(database, shape, files)} ON m.place = p.file_index{join}"
    )
    return select, [[file.stored.scan for file in files]]


def scan_separately(
    shape: Shape,
    files: Sequence[ReadFile],
    wanted_rows: WantedRows,
    excerpts: Mapping[int, Excerpt],
    columns: Callable[[ReadFile], str] = lambda _: "p.*",
) -> tuple[str, list[object]]:
    """Return a query that scans each file alone, so that only the needed row groups are read, and its parameters."""
    parts: list[str] = []
    parameters: list[object] = []
    for file in files:
        cast = "".join(f", CAST(? AS {duckdb_type(kind) or 'VARCHAR'}) AS {quoted(column)}" for column, kind in shape.partitions)
        excerpt = excerpts.get(file.number)
        excerpt_columns = ", ".join(f"x.{quoted(column)} AS {quoted(column)}" for column in excerpt.columns) if excerpt else ""
        parts.append(
            f"SELECT {file.number}::BIGINT AS {FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}, "
            f"{columns(file)}{f' REPLACE ({excerpt_columns})' if excerpt_columns else ''}{cast} "
            f"FROM read_parquet(?, hive_partitioning = false) p{_join_excerpt(excerpt)} "
            f"WHERE p.file_row_number IN ({_count_rows(file, wanted_rows)})"
        )
        parameters += [*(file.partition[column] for column, _ in shape.partitions), file.stored.scan]
        parameters += [exactly(excerpt.path)] if excerpt else []
    return " UNION ALL BY NAME ".join(parts), parameters


def _join_excerpt(excerpt: Excerpt | None) -> str:
    if excerpt is None:
        return ""
    columns = ", ".join(map(quoted, excerpt.columns))
    rows = f"({list(excerpt.rows)}::BIGINT[])"
    row_query = f"SELECT {rows}[file_row_number + 1] AS {ROW}, {columns} FROM read_parquet(?, hive_partitioning = false)"
    return f" JOIN ({row_query}) x ON x.{ROW} = p.file_row_number"


def _count_rows(file: ReadFile, wanted_rows: WantedRows) -> str:
    if isinstance(wanted_rows, str):
        return f"SELECT row FROM {wanted_rows} WHERE file = {file.number}"
    return ", ".join(map(str, wanted_rows.get(file.number, NO_ROWS).tolist())) or "NULL"


def make_places_table(wanted_rows: Mapping[int, Longs]) -> Columns:
    files = [np.full(len(rows), file, np.int64) for file, rows in wanted_rows.items()]
    return {"file": np.concatenate([*files, NO_ROWS]), "row": np.concatenate([*wanted_rows.values(), NO_ROWS])}
