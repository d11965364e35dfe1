"""Parquet: records by their place in the file, read by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import count

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Columns, Database
from headwater.graph.duck.sql import Untranslatable, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames, find_doubled
from headwater.graph.files.excerpts import Excerpt
from headwater.graph.files.footers import Footer, NoParquetError, check_columns, footers
from headwater.graph.files.formats.base import Format
from headwater.graph.files.reader import FILE, HIDDEN, LINE, NO_ROWS, ROW, Reader, ReadFile, Wanted, extra, places
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs
from headwater.graph.storage import LocalFile
from headwater.graph.storage.files import exactly

_MADE_UP = re.compile(r"col-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")  # how Delta names mapped columns in files
_numbers = count()


class Parquet(Format):
    """Columns by name, rows by their index."""

    counts_from_file = True
    names_columns = True
    spark_gives_places = True
    few_files = 16  # that are scanned one by one

    @property
    def unreadable(self) -> str | None:
        return None

    def first_of_split(self, reader: Reader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, shape
        return footers(database, [file])[0].rows

    def check_names(self, names: Iterable[str]) -> None:
        if own := sorted(name for name in names if name.lower() in HIDDEN):
            raise UnsupportedError(
                f"Records cannot be read by their place where a column is called {own[0]}: it hides the place.",
                hint="Ask for an answer without values.",
            )

    def column_names(self, reader: Reader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        """By the footers. Ids of fields say that a table has names of its own for the columns; so do names that Delta makes up."""
        del reader
        try:
            known = footers(database, files)
        except NoParquetError:
            return [UNCERTAIN] * len(files)
        names = [[name for name, _ in footer.columns] for footer in known]
        split = {name.casefold() for name, _ in shape.partitions}
        spelt = {name for of_file in names for name in of_file}
        doubled = find_doubled(spelt) | {name.casefold() for name in spelt if name.casefold() in {*split, FILE, ROW, LINE}}
        doubled |= {name for of_file in names for name in find_doubled(of_file)}
        found = []
        for file, footer, of_file in zip(files, known, names, strict=True):
            own = self.names_in_file(shape, file, footer)
            is_renamed = own is None or bool(own) or any(number is not None for number in footer.ids) or any(map(_MADE_UP.match, of_file))
            pairs = {(name, other) for name, other in own or ()} | footer.nested
            pairs |= {(name, inner) for name, other in own or () for outer, inner in footer.nested if outer == other}
            others = frozenset(pair for pair in pairs if pair[0] != pair[1])
            everything = frozenset({*of_file, *(name for pair in others for name in pair), *(name for name, _ in shape.partitions)})
            found.append(ColumnNames(self.tells_columns(shape), others, doubled, is_renamed, everything))
        return found

    def names_in_file(self, shape: Shape, file: ReadFile, footer: Footer) -> Collection[tuple[str, str]] | None:
        """Columns of a table with their names in a file, if the table maps them; None if that is not known."""
        del shape, file, footer
        return ()

    def check_values(
        self, database: Database, source: Source, shape: Shape, files: Sequence[ReadFile], attributes: Mapping[str, str]
    ) -> set[str]:
        split = {name.lower() for name, _ in shape.partitions}
        wanted = {name: kind for name, kind in attributes.items() if name.lower() not in split}
        found_by = dict(shape.options).get("columnsby")
        if found_by == "id" and wanted:
            raise Untranslatable(f"{min(wanted)}, which Spark may have found by a field id,")
        defaulted = {column.name.lower() for column in source.columns if column.default}
        return check_columns(database, files, wanted, everywhere=defaulted, cased=found_by == "case")

    def names_at_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """The file keeps the names, unless columns are found by field ids."""
        if sink.format != self.name or dict(source.options).get("columnsby") == "id":
            return None
        return frozenset(names)

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        self.check_names(name for name, _ in shape.columns)
        if not files:
            return no_records(shape), []
        if wanted is not None and 0 < len(files) <= self.few_files:
            excerpts = _cut(reader, database, files, wanted) if columns is None and not isinstance(wanted, str) else {}
            select, parameters = few(shape, files, wanted, excerpts)
        else:
            select, parameters = many(database, shape, files, wanted)
        named = "*" if columns is None else ", ".join([FILE, ROW, LINE, *map(quoted, columns)])
        return f"SELECT {named} FROM ({select})", parameters


def no_records(shape: Shape) -> str:
    """A query of no records."""
    kinds = {name.lower(): (name, kind) for name, kind in (*shape.columns, *shape.partitions)}
    listed = "".join(f", NULL::{duckdb_type(kind) or 'VARCHAR'} AS {quoted(name)}" for name, kind in kinds.values())
    return f"SELECT 0::BIGINT AS {FILE}, 0::BIGINT AS {ROW}, NULL::BIGINT AS {LINE}{listed} WHERE false"


def _cut(reader: Reader, database: Database, files: Sequence[ReadFile], wanted: Mapping[int, Longs]) -> dict[int, Excerpt]:
    """Excerpts of those files of which a record would take long to read, by number; they last as long as the database."""
    found: dict[int, Excerpt] = {}
    for file in files:
        rows = wanted.get(file.number, NO_ROWS)
        name = f"excerpt_{next(_numbers)}.parquet"
        if not len(rows) or not isinstance(file.stored, LocalFile):
            continue  # elsewhere each of many small reads would wait; DuckDB reads what lies together at once
        if (excerpt := reader.excerpts.of(file.stored, rows, partial(database.scratch, name))) is not None:
            found[file.number] = excerpt
    return found


def many(
    database: Database, shape: Shape, files: Sequence[ReadFile], wanted: Wanted | None, columns: str = "p.*"
) -> tuple[str, list[object]]:
    """Records of any number of files, as one scan; and the parameters of the query."""
    if wanted is not None and not isinstance(wanted, str):
        wanted = database.hold(places_of(wanted))
    join = f" JOIN {wanted} w ON w.file = m.{FILE} AND w.row = p.file_row_number" if wanted else ""
    select = (
        f"SELECT m.{FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}, {columns}{extra(shape)} "
        "FROM read_parquet(?, union_by_name = true, hive_partitioning = false) p "
        f"JOIN {places(database, shape, files)} ON m.place = p.file_index{join}"
    )
    return select, [[file.stored.scan for file in files]]


def few(
    shape: Shape,
    files: Sequence[ReadFile],
    wanted: Wanted,
    excerpts: Mapping[int, Excerpt],
    columns: Callable[[ReadFile], str] = lambda _: "p.*",
) -> tuple[str, list[object]]:
    """Wanted records of a few files, each a scan of its own: so only row groups that hold one are read. And the parameters."""
    parts: list[str] = []
    parameters: list[object] = []
    for file in files:
        cast = "".join(f", CAST(? AS {duckdb_type(kind) or 'VARCHAR'}) AS {quoted(column)}" for column, kind in shape.partitions)
        excerpt = excerpts.get(file.number)
        cut = ", ".join(f"x.{quoted(column)} AS {quoted(column)}" for column in excerpt.columns) if excerpt else ""
        parts.append(
            f"SELECT {file.number}::BIGINT AS {FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}, "
            f"{columns(file)}{f' REPLACE ({cut})' if cut else ''}{cast} "
            f"FROM read_parquet(?, hive_partitioning = false) p{_beside(excerpt)} "
            f"WHERE p.file_row_number IN ({_rows(file, wanted)})"
        )
        parameters += [*(file.partition[column] for column, _ in shape.partitions), file.stored.scan]
        parameters += [exactly(excerpt.path)] if excerpt else []
    return " UNION ALL BY NAME ".join(parts), parameters


def _beside(excerpt: Excerpt | None) -> str:
    """A join with the values of an excerpt, in a query."""
    if excerpt is None:
        return ""
    columns = ", ".join(map(quoted, excerpt.columns))
    rows = f"({list(excerpt.rows)}::BIGINT[])"
    read = f"SELECT {rows}[file_row_number + 1] AS {ROW}, {columns} FROM read_parquet(?, hive_partitioning = false)"
    return f" JOIN ({read}) x ON x.{ROW} = p.file_row_number"


def _rows(file: ReadFile, wanted: Wanted) -> str:
    if isinstance(wanted, str):
        return f"SELECT row FROM {wanted} WHERE file = {file.number}"
    return ", ".join(map(str, wanted.get(file.number, NO_ROWS).tolist())) or "NULL"


def places_of(wanted: Mapping[int, Longs]) -> Columns:
    """Wanted records as the columns of a table `file, row`."""
    files = [np.full(len(rows), file, np.int64) for file, rows in wanted.items()]
    return {"file": np.concatenate([*files, NO_ROWS]), "row": np.concatenate([*wanted.values(), NO_ROWS])}
