"""Reading records back from their files, by row or all of them, as a table of a trace's database.

For selecting the records that a trace begins with, for values by which a witness is chosen, and for the values in an answer. What
it reads is the file as it is now: whoever asks has made sure that it is the one that was meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import Longs, arrow_of
from headwater.graph.trace.database.held import Columns, Database
from headwater.graph.trace.database.types import duckdb_type
from headwater.graph.trace.files.delimited import is_certain, texts
from headwater.graph.trace.files.excerpts import Excerpt, Excerpts
from headwater.graph.trace.files.lines import LineCache, LineRules, Lines
from headwater.graph.trace.files.shapes import Shape
from headwater.graph.trace.files.textvalues import certain, typed

FILE, ROW, LINE = "__file", "__row", "__line"
HIDDEN = frozenset({"file_row_number", "file_index"})  # DuckDB's own columns, unless a file has one of the name
_PATTERN = re.compile(r"[\[\]*?]")
_FEW = 16  # files that are scanned one by one
_numbers = count()
_NO_ROWS = np.empty(0, np.int64)

Wanted = str | Mapping[int, Longs]  # the records to read: a table `file, row`, or a few rows by file, ascending


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file to read, by its number in the trace."""

    number: int
    path: Path
    block: FileBlock
    partition: Mapping[str, str | None]


class Reader:
    """Reads files of any format that capture knows. Keeps what it learnt about text files, and about pages of Parquet."""

    def __init__(self) -> None:
        self._lines = LineCache()
        self._excerpts = Excerpts()

    def lines(self, file: ReadFile, shape: Shape) -> Lines:
        """Where the records of a text file lie."""
        return self._lines.get(file.path, file.block, LineRules.of(shape.format, dict(shape.options)))

    def table(self, database: Database, shape: Shape, files: Sequence[ReadFile], wanted: Wanted | None = None) -> str:
        """Make a temporary table of records: `__file`, `__row`, `__line` (null for Parquet) and the dataset's columns.

        Without `wanted`, all records are read.
        """
        name = f"records_{next(_numbers)}"
        select, parameters = self.query(database, shape, files, wanted)
        database.execute(f"CREATE TEMP TABLE {name} AS {select}", parameters)
        check_names(shape, (column[0] for column in database.execute(f"SELECT * FROM {name} LIMIT 0").description or ()))
        return name

    def query(
        self,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        """A query of what `table` would hold, and its parameters.

        `columns` are those that something is computed from: of Parquet no other is read. Without them, whoever runs the query sees to the
        names of what it gives (`check_names`): files may have columns that the shape has not.

        Raises:
            UnsupportedError: records of the format cannot be read, or it is not certain what Spark read in one of `columns`.
        """
        if shape.format == "parquet":
            check_names(shape, (name for name, _ in shape.columns))
            if wanted is not None and 0 < len(files) <= _FEW:
                excerpts = self._cut(database, files, wanted) if columns is None and not isinstance(wanted, str) else {}
                select, parameters = _few(shape, files, wanted, excerpts)
            else:
                if wanted is not None and not isinstance(wanted, str):
                    wanted = database.hold(_places_of(wanted))
                select, parameters = self._many(database, shape, files, wanted)
            named = "*" if columns is None else ", ".join([FILE, ROW, LINE, *map(quoted, columns)])
            return f"SELECT {named} FROM ({select})", parameters
        source = self._texts(database, shape, files, wanted, exactly=columns is not None)
        _check_texts(database, shape, source, frozenset(columns or ()))
        values = "".join(f", {typed(_held(place), kind)} AS {quoted(column)}" for place, (column, kind) in enumerate(shape.columns))
        join = f" JOIN {self._places(database, shape, files)} USING ({FILE})" if shape.partitions else ""
        return f"SELECT {FILE}, {ROW}, {LINE}{values}{self._extra(shape)} FROM {source}{join}", []

    def _cut(self, database: Database, files: Sequence[ReadFile], wanted: Mapping[int, Longs]) -> dict[int, Excerpt]:
        """Excerpts of those files of which a record would take long to read, by number; they last as long as the database."""
        found: dict[int, Excerpt] = {}
        for file in files:
            rows = wanted.get(file.number, _NO_ROWS)
            name = f"excerpt_{next(_numbers)}.parquet"
            if len(rows) and (excerpt := self._excerpts.of(file.path, file.block, rows, partial(database.scratch, name))) is not None:
                found[file.number] = excerpt
        return found

    def _many(self, database: Database, shape: Shape, files: Sequence[ReadFile], wanted: str | None) -> tuple[str, list[object]]:
        """Records of any number of Parquet files, as one scan; and the parameters of the query."""
        join = f" JOIN {wanted} w ON w.file = m.{FILE} AND w.row = p.file_row_number" if wanted else ""
        select = (
            f"SELECT m.{FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}, p.*{self._extra(shape)} "
            "FROM read_parquet(?, union_by_name = true, hive_partitioning = false) p "
            f"JOIN {self._places(database, shape, files)} ON m.place = p.file_index{join}"
        )
        return select, [[exactly(file.path) for file in files]]

    def _texts(self, database: Database, shape: Shape, files: Sequence[ReadFile], wanted: Wanted | None, *, exactly: bool) -> str:
        """Register the records of text files, still as text, columns by place; `exactly` as Spark cut them, or not at all."""
        names = [_held(place) for place in range(len(shape.columns))]
        asked = None if wanted is None else _asked(database, wanted) if isinstance(wanted, str) else wanted
        parts = [pa.table({FILE: pa.array([], pa.int64()), ROW: pa.array([], pa.int64()), LINE: pa.array([], pa.int64()),
                           **{name: pa.array([], pa.string()) for name in names}})]  # fmt: skip
        for file in files:
            lines = self.lines(file, shape)
            rows = np.arange(len(lines), dtype=np.int64) if asked is None else asked.get(file.number, _NO_ROWS)
            rows = rows[rows < len(lines)]
            if not len(rows):
                continue
            content = lines.read(rows)
            if exactly and not is_certain(shape.format, content, dict(shape.options)):
                raise UnsupportedError(f"How Spark cut the lines of {file.path.name} into columns is not certain.")
            table = texts(shape.format, content, [column for column, _ in shape.columns], dict(shape.options)).rename_columns(names)
            for position, (name, values) in enumerate(
                ((FILE, np.full(len(rows), file.number, np.int64)), (ROW, rows), (LINE, lines.numbers[rows]))
            ):
                table = table.add_column(position, name, arrow_of(values))
            parts.append(table)
        source = f"texts_{next(_numbers)}"
        database.register(source, pa.concat_tables(parts))
        return source

    @staticmethod
    def _places(database: Database, shape: Shape, files: Sequence[ReadFile]) -> str:
        """A relation `m` of the files: their place in the list, number, and the values of partition columns."""
        if not shape.partitions and files:
            values = ", ".join(f"({place}, {file.number})" for place, file in enumerate(files))
            return f"(VALUES {values}) m(place, {FILE})"
        name = f"files_{next(_numbers)}"
        columns = "".join(f", {quoted(column)} {duckdb_type(kind) or 'VARCHAR'}" for column, kind in shape.partitions)
        database.execute(f"CREATE TEMP TABLE {name} (place BIGINT, {FILE} BIGINT{columns})")
        rows = [[place, file.number, *(file.partition[column] for column, _ in shape.partitions)] for place, file in enumerate(files)]
        if rows:
            marks = f"({', '.join('?' * len(rows[0]))})"
            database.execute(f"INSERT INTO {name} VALUES {', '.join([marks] * len(rows))}", [value for row in rows for value in row])
        return f"{name} m"

    @staticmethod
    def _extra(shape: Shape) -> str:
        return "".join(f", m.{quoted(column)}" for column, _ in shape.partitions)


def _few(shape: Shape, files: Sequence[ReadFile], wanted: Wanted, excerpts: Mapping[int, Excerpt]) -> tuple[str, list[object]]:
    """Wanted records of a few Parquet files, each a scan of its own: so only row groups that hold one are read. And the parameters."""
    parts: list[str] = []
    parameters: list[object] = []
    for file in files:
        extra = "".join(f", CAST(? AS {duckdb_type(kind) or 'VARCHAR'}) AS {quoted(column)}" for column, kind in shape.partitions)
        excerpt = excerpts.get(file.number)
        cut = ", ".join(f"x.{quoted(column)} AS {quoted(column)}" for column in excerpt.columns) if excerpt else ""
        parts.append(
            f"SELECT {file.number}::BIGINT AS {FILE}, p.file_row_number AS {ROW}, NULL::BIGINT AS {LINE}, "
            f"p.*{f' REPLACE ({cut})' if cut else ''}{extra} "
            f"FROM read_parquet(?, hive_partitioning = false) p{_beside(excerpt)} "
            f"WHERE p.file_row_number IN ({_rows(file, wanted)})"
        )
        parameters += [*(file.partition[column] for column, _ in shape.partitions), exactly(file.path)]
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
    return ", ".join(map(str, wanted.get(file.number, _NO_ROWS).tolist())) or "NULL"


def _places_of(wanted: Mapping[int, Longs]) -> Columns:
    files = [np.full(len(rows), file, np.int64) for file, rows in wanted.items()]
    return {"file": np.concatenate([*files, _NO_ROWS]), "row": np.concatenate([*wanted.values(), _NO_ROWS])}


def exactly(path: Path) -> str:
    """A path for DuckDB, which would take `[`, `*` and `?` in it for a pattern, and read other files."""
    return _PATTERN.sub(r"[\g<0>]", str(path))


def kept_rows(path: Path) -> str:
    """The rows of a kept table, in a query."""
    return f"read_parquet({literal(exactly(path))})"


def check_names(shape: Shape, names: Iterable[str]) -> None:
    """See that no column of a Parquet file hides the place of its records; `names` are those that reading it gave.

    Raises:
        UnsupportedError: one does.
    """
    if own := sorted(name for name in names if shape.format == "parquet" and name.lower() in HIDDEN):
        raise UnsupportedError(
            f"Records cannot be read by their place where a column is called {own[0]}: it hides the place.",
            hint="Ask for an answer without values.",
        )


def _check_texts(database: Database, shape: Shape, source: str, columns: Collection[str]) -> None:
    options, names = dict(shape.options), [name.lower() for name, _ in shape.columns]
    for place, (column, kind) in enumerate(shape.columns):
        if column not in columns:
            continue
        if column == options.get("columnnameofcorruptrecord", "_corrupt_record"):
            raise UnsupportedError(f"What Spark read in {column} is not certain: what it holds of a bad record.")
        if names.count(column.lower()) > 1:  # to DuckDB they are one
            raise UnsupportedError(f"What Spark read in {column} is not certain: another column differs from it in case alone.")
        held = _held(place)
        if odd := database.execute(f"SELECT {held} FROM {source} WHERE NOT ({certain(held, kind, options)}) LIMIT 1").fetchone():
            raise UnsupportedError(f"What Spark read in {column} is not certain: {odd[0]!r} as {kind}.")


def _held(place: int) -> str:
    """The name of a text column in a trace's database: names of the user's may differ in case alone, or be those of a place."""
    return f"__text_{place}"


def quoted(name: str) -> str:
    """An identifier, quoted for DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted for DuckDB."""
    return "'" + text.replace("'", "''") + "'"


def _asked(database: Database, wanted: str) -> dict[int, Longs]:
    found = database.execute(f"SELECT DISTINCT file, row FROM {wanted} ORDER BY file, row").fetchnumpy()
    files, rows = np.asarray(found["file"], np.int64), np.asarray(found["row"], np.int64)
    return {int(file): rows[files == file] for file in np.unique(files)}
