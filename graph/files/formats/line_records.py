"""Formats whose records are lines of text: located by `files/lines.py`, cut into columns of text by the format, typed by DuckDB."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import quoted
from headwater.graph.files.compression import is_packed
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import asked_of, chosen
from headwater.graph.files.lines import LineRules
from headwater.graph.files.reader import FILE, LINE, NO_ROWS, ROW, Reader, ReadFile, Wanted, extra, places
from headwater.graph.files.shapes import Shape
from headwater.graph.files.text_values import certain, typed
from headwater.graph.records.decode import Longs, arrow_of

_OWN_FORMS = frozenset({"dateformat", "timestampformat", "timestampntzformat", "nanvalue", "positiveinf", "negativeinf", "locale"})
UTF_8 = frozenset({"utf-8", "utf8"})
_numbers = count()


class Texts(NamedTuple):
    """Records by their number, with their lines (None where records are no lines) and their columns, as texts, by place."""

    rows: Longs
    lines: Longs | None
    columns: pa.Table


class LineFormat(Format):
    """A format of lines. A reference counts the records of its split."""

    @property
    def unreadable(self) -> str | None:
        return None

    @abstractmethod
    def rules(self, options: Mapping[str, Any]) -> LineRules:
        """Which lines are records, by a reader's options.

        Raises:
            UnsupportedError: its records cannot be told from its lines.
        """

    def texts_of(self, reader: Reader, file: ReadFile, shape: Shape, rows: Longs | None, *, exactly: bool) -> Texts:
        """Records of some numbers (None: all) that are there, in that order; `exactly` as Spark cut them, or not at all.

        Raises:
            UnsupportedError: records cannot be told, or it is not certain how Spark cut them.
        """
        options = dict(shape.options)
        lines = reader.lines(file, self.rules(options))
        rows = chosen(rows, len(lines))
        content = lines.read(rows)
        if exactly and not self.is_certain(content, options, shape.columns):
            raise UnsupportedError(f"How Spark cut the lines of {file.stored.name} into columns is not certain.")
        return Texts(rows, lines.numbers_of(rows), self.cells(content, [column for column, _ in shape.columns], options))

    @abstractmethod
    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any], columns: Sequence[tuple[str, str]] = ()) -> bool:
        """Whether `cells` surely gives the cells that Spark's reader gave. `columns` are name and Spark's type of each."""

    @abstractmethod
    def cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        """The columns of some lines, each a text or null, in the order of the lines."""

    def places_at_writer(self, source: Source, sink: Sink) -> bool:
        """Whether the n-th cell of a line is to its reader the n-th that its writer wrote."""
        del source, sink
        return False

    def check_lines(self, options: Mapping[str, Any]) -> None:
        """See that each record is a line.

        Raises:
            UnsupportedError: it may not be.
        """
        given = {name.lower(): str(value) for name, value in options.items()}
        for name in ("multiline", "wholetext"):
            if given.get(name, "false").lower() == "true":
                raise UnsupportedError(f"Records of a {self.name} file read with {name}=true cannot be located by line.")
        if given.get("pretty", "false").lower() == "true":
            raise UnsupportedError(f"Records of a {self.name} file written with pretty=true are not lines.")
        encoding = given.get("encoding", given.get("charset", "utf-8"))
        if not _ends_lines_as_ascii(encoding):
            raise UnsupportedError(f"Records of a {self.name} file in the encoding {encoding} cannot be located by line.")
        if given.get("linesep", "\n") != "\n":
            raise UnsupportedError(f"Records of a {self.name} file with the line separator {given['linesep']!r} cannot be located.")
        if given.get("mode", "PERMISSIVE").upper() == "DROPMALFORMED":
            raise UnsupportedError(f"Records of a {self.name} file read with mode=DROPMALFORMED cannot be located by line.")

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        return self.rules(options)

    def first_of_split(self, reader: Reader, file: ReadFile, shape: Shape, start: int) -> int:
        return reader.lines(file, self.rules(dict(shape.options))).before(start)

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        del database
        return len(reader.lines(file, self.rules(dict(shape.options))))

    def line_numbers(self, reader: Reader, file: ReadFile, shape: Shape) -> Longs | None:
        return reader.lines(file, self.rules(dict(shape.options))).numbers

    def byte_ranges(self, reader: Reader, file: ReadFile, shape: Shape) -> tuple[Longs, Longs] | None:
        if is_packed(file.stored.name):
            raise UnsupportedError(f"{file.stored.name} is compressed: its bytes are not those of its lines.")
        lines = reader.lines(file, self.rules(dict(shape.options)))
        behind = np.append(lines.begins[1:], len(lines.data))
        return lines.begins, np.minimum(lines.ends + 2, behind)  # an end of line has two bytes at most; blank lines follow some

    def own_forms(self, options: Mapping[str, Any]) -> Sequence[str]:
        return sorted(_OWN_FORMS & {name.lower() for name in options})

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        source = self._texts(reader, database, shape, files, wanted, exactly=columns is not None)
        _check_texts(database, shape, source, frozenset(columns or ()))
        values = "".join(f", {typed(_column(place), kind)} AS {quoted(column)}" for place, (column, kind) in enumerate(shape.columns))
        join = f" JOIN {places(database, shape, files)} USING ({FILE})" if shape.partitions else ""
        return f"SELECT {FILE}, {ROW}, {LINE}{values}{extra(shape)} FROM {source}{join}", []

    def _texts(
        self, reader: Reader, database: Database, shape: Shape, files: Sequence[ReadFile], wanted: Wanted | None, *, exactly: bool
    ) -> str:
        """Register the records of files, still as text, columns by place; `exactly` as Spark cut them, or not at all."""
        names = [_column(place) for place in range(len(shape.columns))]
        asked = None if wanted is None else asked_of(database, wanted) if isinstance(wanted, str) else wanted
        parts = [pa.table({FILE: pa.array([], pa.int64()), ROW: pa.array([], pa.int64()), LINE: pa.array([], pa.int64()),
                           **{name: pa.array([], pa.string()) for name in names}})]  # fmt: skip
        for file in files:
            rows, lines, table = self.texts_of(
                reader, file, shape, None if asked is None else asked.get(file.number, NO_ROWS), exactly=exactly
            )
            if not len(rows):
                continue
            numbers = arrow_of(np.full(len(rows), file.number, np.int64))
            at = pa.nulls(len(rows), pa.int64()) if lines is None else arrow_of(lines)
            parts.append(pa.table([numbers, arrow_of(rows), at, *table.columns], names=[FILE, ROW, LINE, *names]))
        source = f"texts_{next(_numbers)}"
        database.register(source, pa.concat_tables(parts))
        return source

    def names_at_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Columns go by position where lines are cut as they were written; else a record is a line, into which every column was written."""
        split = {name.lower() for name in sink.partition_columns}
        written = [column.name.lower() for column in sink.columns if column.name.lower() not in split]
        folders, line = {name.lower() for name in source.partition_columns}, {corrupt_column(source.options).lower()}
        read = [column.name.lower() for column in source.columns if column.name.lower() not in folders | line]
        if not self.places_at_writer(source, sink):
            line, read = line.union(read), []
        by_position: dict[str, set[str]] = {name: set(written) for name in line}
        for theirs, ours in zip(read, written, strict=False):
            by_position.setdefault(theirs, set()).add(ours)
        return frozenset().union(*(by_position.get(name, {name}) for name in names))


def _ends_lines_as_ascii(encoding: str) -> bool:
    try:
        return "\r\n #".encode(encoding) == b"\r\n #"
    except (LookupError, UnicodeError):
        return False


def corrupt_column(options: Mapping[str, Any]) -> str:
    """The column for lines that do not fit, if there is one."""
    given = {name.lower(): str(value) for name, value in options.items()}
    return given.get("columnnameofcorruptrecord", "_corrupt_record")


def _check_texts(database: Database, shape: Shape, source: str, columns: Collection[str]) -> None:
    options, names = dict(shape.options), [name.lower() for name, _ in shape.columns]
    for place, (column, kind) in enumerate(shape.columns):
        if column not in columns:
            continue
        if column == corrupt_column(options):
            raise UnsupportedError(f"What Spark read in {column} is not certain: what it holds of a bad record.")
        if names.count(column.lower()) > 1:  # to DuckDB they are one
            raise UnsupportedError(f"What Spark read in {column} is not certain: another column differs from it in case alone.")
        cell = _column(place)
        # Who is told of it may not see the value.
        if database.execute(f"SELECT 1 FROM {source} WHERE NOT ({certain(cell, kind, options)}) LIMIT 1").fetchone():
            raise UnsupportedError(f"What Spark read in {column} is not certain: it holds a text that Spark may read otherwise as {kind}.")


def _column(place: int) -> str:
    """The name of a text column in a trace's database: names of the user's may differ in case alone, or be those of a place."""
    return f"__text_{place}"
