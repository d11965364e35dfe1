"""CSV files, cut into columns of text as by Spark's readers. DuckDB converts the texts afterwards.

pyarrow cuts CSV if its rules and Spark's cannot differ (no escape character in the data, all lines of the same width). Lines that pyarrow
refuses are cut one by one. Spark's parser has its own rules for lines with quotes inside of cells. They are followed as well as possible,
and `is_certain` states whether the result is certain.
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
from headwater.graph.files.formats.dialect import Dialect, get_value, trim_text
from headwater.graph.files.formats.line_records import LineFormat, Texts
from headwater.graph.files.formats.loaded_records import choose_rows
from headwater.graph.files.formats.multiline import Record, check_comment, is_multiline, split_records
from headwater.graph.files.lines import LineRules, read_whole_text
from headwater.graph.files.read_files import FileReader, ReadFile
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_MADE_UP = re.compile(r"_c[0-9]+")


class Csv(LineFormat):
    """The CSV format. Blank lines, comments and the header are not records."""

    def has_reliable_columns(self, shape: Shape) -> bool:
        """Return false if a reader without a header made up the names, or if a column may be a whole line."""
        names = [name for name, _ in shape.columns]
        return super().has_reliable_columns(shape) and len(names) > 1 and not any(_MADE_UP.fullmatch(name) for name in names)

    def find_column_names(self, reader: FileReader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.has_reliable_columns(shape):
            return [UNCERTAIN] * len(files)
        names_cache = reader.column_names
        return [names_cache.get((shape, file.stored.identity, file.block), partial(find_names, file, shape, _cut_cells)) for file in files]

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        if not is_multiline(options):
            return super().describe_numbering(options)
        lower_options = {name.lower(): str(value) for name, value in options.items()}
        return "multiline", lower_options.get("header", "false").lower(), lower_options.get("comment", ""), Dialect.from_options(options)

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        return (
            len(_list_records(file, shape)) if is_multiline(dict(shape.options)) else super().count_records(reader, database, shape, file)
        )

    def find_line_numbers(self, reader: FileReader, file: ReadFile, shape: Shape) -> Longs | None:
        if not is_multiline(dict(shape.options)):
            return super().find_line_numbers(reader, file, shape)
        return np.array([record.line for record in _list_records(file, shape)], np.int64)

    def read_texts(self, reader: FileReader, file: ReadFile, shape: Shape, rows: Longs | None, *, is_strict: bool) -> Texts:
        if not is_multiline(dict(shape.options)):
            return super().read_texts(reader, file, shape, rows, is_strict=is_strict)
        names, dialect, records = [name for name, _ in shape.columns], Dialect.from_options(dict(shape.options)), _list_records(file, shape)
        rows = choose_rows(rows, len(records))
        if dialect.corrupt in names:
            raise UnsupportedError(f"Records of {file.stored.name} cannot be read with a column for records that do not fit.")
        cells = [[None if cell == dialect.null else cell for cell in records[row].cells] for row in rows.tolist()]
        lines = np.array([records[row].line for row in rows.tolist()], np.int64)
        return Texts(rows, lines, _make_table(cells, names))

    def get_rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        lower_options = {name.lower(): str(value) for name, value in options.items()}
        check_comment(lower_options.get("comment", ""))
        header = lower_options.get("header", "false").lower() == "true"
        return LineRules(blank=False, header=header, comment=lower_options.get("comment", "").encode())

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any], columns: Sequence[tuple[str, str]] = ()) -> bool:
        del columns
        dialect = Dialect.from_options(options)
        if len(dialect.quote) > 1 or len(dialect.escape) > 1 or (len(dialect.separator) > 1 and "\\" in dialect.separator):
            return False
        if len(dialect.separator) == 1 and dialect.quote.encode() not in b"\n".join(lines):
            return True
        return all(_find_cells(text, dialect) is not None for text in _decode_lines(lines, dialect))

    def cut_cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        return _cut_lines(lines, names, Dialect.from_options(options))

    def keeps_positions(self, source: Source, sink: Sink) -> bool:
        if sink.format != self.name:
            return False
        writer_dialect, reader_dialect = Dialect.from_options(sink.options), Dialect.from_options(source.options)
        keeps_quotes = reader_dialect.quote in ("", "\0") or str(sink.options.get("escapequotes", "true")).lower() == "false"
        return not keeps_quotes and (writer_dialect.separator, writer_dialect.quote, writer_dialect.escape) == (
            reader_dialect.separator,
            reader_dialect.quote,
            reader_dialect.escape,
        )


def _list_records(file: ReadFile, shape: Shape) -> list[Record]:
    return split_records(read_whole_text(file.stored), dict(shape.options), file.stored.name)


def _cut_lines(lines: Sequence[bytes], names: Sequence[str], dialect: Dialect) -> pa.Table:
    content = b"\n".join(lines)
    if _cut_plain_lines(content, dialect) and dialect.corrupt not in names:
        try:
            table = _cut_with_arrow(content, names, dialect)
        except pa.ArrowInvalid:
            pass  # lines of different widths, or an open quote: they are cut one by one, as Spark does
        else:
            if table.num_rows == len(lines):
                return table
    return _cut_one_by_one(lines, names, dialect)


def _cut_plain_lines(content: bytes, dialect: Dialect) -> bool:
    simple = len(dialect.separator) == 1 and dialect.encoding.lower() in {"utf-8", "utf8"} and not (dialect.trim_left or dialect.trim_right)
    if not content or not simple or (dialect.null != dialect.empty and b'""' in content):
        return False
    return dialect.escape == dialect.quote or dialect.escape.encode() not in content


def _cut_with_arrow(content: bytes, names: Sequence[str], dialect: Dialect) -> pa.Table:
    return pacsv.read_csv(
        io.BytesIO(content),
        read_options=pacsv.ReadOptions(column_names=list(names)),
        parse_options=pacsv.ParseOptions(delimiter=dialect.separator, quote_char=dialect.quote or False, ignore_empty_lines=False),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[dialect.null, ""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _cut_one_by_one(lines: Sequence[bytes], names: Sequence[str], dialect: Dialect) -> pa.Table:
    """Cut lines into columns. Missing cells are null, and extra cells are dropped. The column for corrupt records gets no cell."""
    line_columns = [name for name in names if name != dialect.corrupt]
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for text in _decode_lines(lines, dialect):
        cells = _cut_cells(text, dialect)
        for index, name in enumerate(line_columns):
            columns[name].append(cells[index] if index < len(cells) else None)
        if len(line_columns) < len(names):
            columns[dialect.corrupt].append(None if len(cells) == len(line_columns) else text)
    return pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})


def _make_table(records: Sequence[Sequence[str | None]], names: Sequence[str]) -> pa.Table:
    columns = [[cells[place] if place < len(cells) else None for cells in records] for place in range(len(names))]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=[*names])


def _decode_lines(lines: Sequence[bytes], dialect: Dialect) -> Iterator[str]:
    try:
        codec = codecs.lookup(dialect.encoding).name
    except LookupError:
        raise UnsupportedError(f"Records of a CSV file in the encoding {dialect.encoding} cannot be read.") from None
    return (line.decode(codec, "replace") for line in lines)


def _cut_cells(line: str, dialect: Dialect) -> list[str | None]:
    """Return a line's cells. A missing cell is null, and so is a cell that is written as `null`, quoted or not."""
    surely = _find_cells(line, dialect)
    cells = [trim_text(cell, dialect) for cell in _read_cells(line, dialect)] if surely is None else surely
    return [None if cell == dialect.null else cell for cell in cells]


def _find_cells(line: str, dialect: Dialect) -> list[str | None] | None:
    """Return the cells of a line if all of them are certain, otherwise None."""
    pattern, cells, place = _make_pattern(dialect.cell_pattern), [], 0
    while True:
        match = pattern.match(line, place)
        if match is None:
            return None
        cell = get_value(match, dialect)
        place = match.end()
        if place < len(line) and not line.startswith(dialect.separator, place):
            return None
        cells.append(cell)
        if place >= len(line):
            return cells
        place += len(dialect.separator)


@cache
def _make_pattern(cell: str) -> re.Pattern[str]:
    return re.compile(cell, re.DOTALL)


def _read_cells(line: str, dialect: Dialect) -> list[str]:
    if len(dialect.separator) != 1:
        return line.split(dialect.separator)
    own_escape = dialect.escape not in ("", dialect.quote)
    reader = csv.reader(
        [line],
        delimiter=dialect.separator,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape if own_escape and '"' in line else None,  # Spark applies it within quotes only
        doublequote=not own_escape,
    )
    return next(reader, [])
