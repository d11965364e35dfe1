"""CSV: lines of text → columns of text, as Spark's readers cut them. Typing comes after, in DuckDB.

pyarrow cuts CSV where its rules and Spark's cannot differ (no escape character in the data, every line of the same width); what
it refuses is cut line by line. Where a line's quotes stand otherwise than around whole cells, Spark's parser has rules of its own for them,
which are followed as well as can be: `is_certain` tells.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.formats.csv_names import find_names
from headwater.graph.files.formats.dialect import Dialect, trimmed, value_of
from headwater.graph.files.formats.line_records import LineFormat, Texts
from headwater.graph.files.formats.loaded_records import chosen
from headwater.graph.files.formats.multiline import Record, check_comment, is_multiline, records_of
from headwater.graph.files.lines import LineRules, text_of
from headwater.graph.files.reader import Reader, ReadFile
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_MADE_UP = re.compile(r"_c[0-9]+")


class Csv(LineFormat):
    """Lines of cells, without blank lines, comments and the header."""

    def tells_columns(self, shape: Shape) -> bool:
        """Not where a reader without a header made them up, nor where one column may be lines that were cut by another delimiter."""
        names = [name for name, _ in shape.columns]
        return super().tells_columns(shape) and len(names) > 1 and not any(_MADE_UP.fullmatch(name) for name in names)

    def column_names(self, reader: Reader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.tells_columns(shape):
            return [UNCERTAIN] * len(files)
        known = reader.column_names
        return [known.get((shape, file.stored.identity, file.block), partial(find_names, file, shape, _cells)) for file in files]

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        if not is_multiline(options):
            return super().numbering(options)
        given = {name.lower(): str(value) for name, value in options.items()}
        return "multiline", given.get("header", "false").lower(), given.get("comment", ""), Dialect.of(options)

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        return len(_records(file, shape)) if is_multiline(dict(shape.options)) else super().count(reader, database, shape, file)

    def line_numbers(self, reader: Reader, file: ReadFile, shape: Shape) -> Longs | None:
        if not is_multiline(dict(shape.options)):
            return super().line_numbers(reader, file, shape)
        return np.array([record.line for record in _records(file, shape)], np.int64)

    def texts_of(self, reader: Reader, file: ReadFile, shape: Shape, rows: Longs | None, *, exactly: bool) -> Texts:
        if not is_multiline(dict(shape.options)):
            return super().texts_of(reader, file, shape, rows, exactly=exactly)
        names, dialect, records = [name for name, _ in shape.columns], Dialect.of(dict(shape.options)), _records(file, shape)
        rows = chosen(rows, len(records))
        if dialect.corrupt in names:
            raise UnsupportedError(f"Records of {file.stored.name} cannot be read with a column for records that do not fit.")
        cells = [[None if cell == dialect.null else cell for cell in records[row].cells] for row in rows.tolist()]
        lines = np.array([records[row].line for row in rows.tolist()], np.int64)
        return Texts(rows, lines, _table(cells, names))

    def rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        given = {name.lower(): str(value) for name, value in options.items()}
        check_comment(given.get("comment", ""))
        header = given.get("header", "false").lower() == "true"
        return LineRules(blank=False, header=header, comment=given.get("comment", "").encode())

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any], columns: Sequence[tuple[str, str]] = ()) -> bool:
        del columns
        dialect = Dialect.of(options)
        if len(dialect.quote) > 1 or len(dialect.escape) > 1 or (len(dialect.separator) > 1 and "\\" in dialect.separator):
            return False
        if len(dialect.separator) == 1 and dialect.quote.encode() not in b"\n".join(lines):
            return True
        return all(_cut(text, dialect) is not None for text in _decoded(lines, dialect))

    def cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        return _csv(lines, names, Dialect.of(options))

    def places_at_writer(self, source: Source, sink: Sink) -> bool:
        if sink.format != self.name:
            return False
        theirs, ours = Dialect.of(sink.options), Dialect.of(source.options)
        bare = ours.quote in ("", "\0") or str(sink.options.get("escapequotes", "true")).lower() == "false"
        return not bare and (theirs.separator, theirs.quote, theirs.escape) == (ours.separator, ours.quote, ours.escape)


def _records(file: ReadFile, shape: Shape) -> list[Record]:
    return records_of(text_of(file.stored), dict(shape.options), file.stored.name)


def _csv(lines: Sequence[bytes], names: Sequence[str], dialect: Dialect) -> pa.Table:
    joined = b"\n".join(lines)
    if _plain(joined, dialect) and dialect.corrupt not in names:
        try:
            table = _fast(joined, names, dialect)
        except pa.ArrowInvalid:
            pass  # lines of different widths, or an open quote: cut one by one, as Spark does
        else:
            if table.num_rows == len(lines):
                return table
    return _slow(lines, names, dialect)


def _plain(joined: bytes, dialect: Dialect) -> bool:
    simple = len(dialect.separator) == 1 and dialect.encoding.lower() in {"utf-8", "utf8"} and not (dialect.trim_left or dialect.trim_right)
    if not joined or not simple or (dialect.null != dialect.empty and b'""' in joined):
        return False
    return dialect.escape == dialect.quote or dialect.escape.encode() not in joined


def _fast(joined: bytes, names: Sequence[str], dialect: Dialect) -> pa.Table:
    return pacsv.read_csv(
        io.BytesIO(joined),
        read_options=pacsv.ReadOptions(column_names=list(names)),
        parse_options=pacsv.ParseOptions(delimiter=dialect.separator, quote_char=dialect.quote or False, ignore_empty_lines=False),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[dialect.null, ""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _slow(lines: Sequence[bytes], names: Sequence[str], dialect: Dialect) -> pa.Table:
    """Missing columns are null, columns beyond the schema are left out. The column for lines that do not fit is no column of a line."""
    given = [name for name in names if name != dialect.corrupt]
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for text in _decoded(lines, dialect):
        cells = _cells(text, dialect)
        for index, name in enumerate(given):
            columns[name].append(cells[index] if index < len(cells) else None)
        if len(given) < len(names):
            columns[dialect.corrupt].append(None if len(cells) == len(given) else text)
    return pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})


def _table(records: Sequence[Sequence[str | None]], names: Sequence[str]) -> pa.Table:
    columns = [[cells[place] if place < len(cells) else None for cells in records] for place in range(len(names))]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=[*names])


def _decoded(lines: Sequence[bytes], dialect: Dialect) -> Iterator[str]:
    try:
        codec = codecs.lookup(dialect.encoding).name
    except LookupError:
        raise UnsupportedError(f"Records of a CSV file in the encoding {dialect.encoding} cannot be read.") from None
    return (line.decode(codec, "replace") for line in lines)


def _cells(line: str, dialect: Dialect) -> list[str | None]:
    """A line's cells. What is not written is null, and so is what is written as `null`, quoted or not."""
    surely = _cut(line, dialect)
    cells = [trimmed(cell, dialect) for cell in _read(line, dialect)] if surely is None else surely
    return [None if cell == dialect.null else cell for cell in cells]


def _cut(line: str, dialect: Dialect) -> list[str | None] | None:
    """The cells of a line all of which are surely such; None where one is not."""
    pattern, found, place = _pattern(dialect.cell), [], 0
    while True:
        match = pattern.match(line, place)
        if match is None:
            return None
        cell = value_of(match, dialect)
        place = match.end()
        if place < len(line) and not line.startswith(dialect.separator, place):
            return None
        found.append(cell)
        if place >= len(line):
            return found
        place += len(dialect.separator)


@cache
def _pattern(cell: str) -> re.Pattern[str]:
    return re.compile(cell, re.DOTALL)


def _read(line: str, dialect: Dialect) -> list[str]:
    if len(dialect.separator) != 1:
        return line.split(dialect.separator)
    own_escape = dialect.escape not in ("", dialect.quote)
    reader = csv.reader(
        [line],
        delimiter=dialect.separator,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape if own_escape and '"' in line else None,  # Spark honours it within quotes alone
        doublequote=not own_escape,
    )
    return next(reader, [])
