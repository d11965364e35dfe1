"""The base of formats whose records are lines of text.

`files/lines.py` locates the lines, the format cuts them into columns, and DuckDB converts the columns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import quoted
from headwater.graph.files.compression import is_packed
from headwater.graph.files.copies import HINT, copy_lines
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import choose_rows, list_wanted_rows
from headwater.graph.files.formats.multiline import is_multiline
from headwater.graph.files.lines import LineRules
from headwater.graph.files.read_files import FILE, LINE, NO_ROWS, ROW, FileReader, ReadFile, WantedRows, format_partitions, make_places
from headwater.graph.files.shapes import Shape
from headwater.graph.files.text_values import convert_text, make_certainty_check
from headwater.graph.records.decode import Longs, arrow_of

_OWN_FORMS = frozenset({"dateformat", "timestampformat", "timestampntzformat", "nanvalue", "positiveinf", "negativeinf", "locale"})
UTF_8 = frozenset({"utf-8", "utf8"})
_numbers = count()


class Texts(NamedTuple):
    """Records by their number, with their lines (None if records are not lines), and their columns as texts, by position."""

    rows: Longs
    lines: Longs | None
    columns: pa.Table


class LineFormat(Format):
    """A format whose records are lines. A reference counts the records of its split."""

    @property
    def unreadable_reason(self) -> str | None:
        return None

    @abstractmethod
    def get_rules(self, options: Mapping[str, Any]) -> LineRules:
        """Return the rules that decide which lines are records, from a reader's options.

        Raises:
            UnsupportedError: the records cannot be determined from the lines.
        """

    def read_texts(self, reader: FileReader, file: ReadFile, shape: Shape, rows: Longs | None, *, is_strict: bool) -> Texts:
        """Return the records with these numbers (None: all) that exist, in this order. `is_strict` refuses uncertain cuts.

        Raises:
            UnsupportedError: records cannot be determined, or Spark's cut is not certain.
        """
        options = dict(shape.options)
        lines = reader.find_lines(file, self.get_rules(options))
        rows = choose_rows(rows, len(lines))
        content = lines.read(rows)
        if is_strict and not self.is_certain(content, options, shape.columns):
            raise UnsupportedError(f"How Spark cut the lines of {file.stored.name} into columns is not certain.")
        return Texts(rows, lines.find_line_numbers(rows), self.cut_cells(content, [column for column, _ in shape.columns], options))

    @abstractmethod
    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any], columns: Sequence[tuple[str, str]] = ()) -> bool:
        """Return whether `cut_cells` certainly returns Spark's cells. `columns` are name and Spark's type of each."""

    @abstractmethod
    def cut_cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        """Return the columns of some lines, each a text or null, in the order of the lines."""

    def keeps_positions(self, source: Source, sink: Sink) -> bool:
        """Return whether the reader's n-th cell of a line is the writer's n-th cell."""
        del source, sink
        return False

    def check_lines(self, options: Mapping[str, Any]) -> None:
        """Check that each record is a line.

        Raises:
            UnsupportedError: a record may not be a line.
        """
        lower_options = {name.lower(): str(value) for name, value in options.items()}
        for name in ("multiline", "wholetext"):
            if lower_options.get(name, "false").lower() == "true":
                raise UnsupportedError(f"Records of a {self.name} file read with {name}=true cannot be located by line.")
        if lower_options.get("pretty", "false").lower() == "true":
            raise UnsupportedError(f"Records of a {self.name} file written with pretty=true are not lines.")
        encoding = lower_options.get("encoding", lower_options.get("charset", "utf-8"))
        if not _ends_lines_as_ascii(encoding):
            raise UnsupportedError(f"Records of a {self.name} file in the encoding {encoding} cannot be located by line.")
        if lower_options.get("linesep", "\n") != "\n":
            raise UnsupportedError(f"Records of a {self.name} file with the line separator {lower_options['linesep']!r} cannot be located.")
        if lower_options.get("mode", "PERMISSIVE").upper() == "DROPMALFORMED":
            raise UnsupportedError(f"Records of a {self.name} file read with mode=DROPMALFORMED cannot be located by line.")

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        return self.get_rules(options)

    def find_first_of_split(self, reader: FileReader, file: ReadFile, shape: Shape, start: int) -> int:
        return reader.find_lines(file, self.get_rules(dict(shape.options))).count_before(start)

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        del database
        return len(reader.find_lines(file, self.get_rules(dict(shape.options))))

    def check_copy(self, shape: Shape, file: ReadFile) -> None:
        if is_multiline(dict(shape.options)):
            raise UnsupportedError(f"Records of {file.stored.name} can have several lines, so they cannot be taken out of it.", hint=HINT)
        if is_packed(file.stored.name):
            raise UnsupportedError(f"{file.stored.name} is compressed, so records cannot be taken out of it.", hint=HINT)

    def write_copy(self, reader: FileReader, shape: Shape, file: ReadFile, source: Path, target: Path, rows: Sequence[int]) -> int:
        del source
        self.check_copy(shape, file)
        return copy_lines(reader.find_lines(file, self.get_rules(dict(shape.options))), file.stored.name, target, rows)

    def find_line_numbers(self, reader: FileReader, file: ReadFile, shape: Shape) -> Longs | None:
        return reader.find_lines(file, self.get_rules(dict(shape.options))).numbers

    def find_byte_ranges(self, reader: FileReader, file: ReadFile, shape: Shape) -> tuple[Longs, Longs] | None:
        if is_packed(file.stored.name):
            raise UnsupportedError(f"{file.stored.name} is compressed: its bytes are not those of its lines.")
        lines = reader.find_lines(file, self.get_rules(dict(shape.options)))
        next_begins = np.append(lines.begins[1:], len(lines.data))
        return lines.begins, np.minimum(lines.ends + 2, next_begins)  # a line end has two bytes at most, and blank lines may follow

    def list_own_forms(self, options: Mapping[str, Any]) -> Sequence[str]:
        return sorted(_OWN_FORMS & {name.lower() for name in options})

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        source = self._register_texts(reader, database, shape, files, wanted_rows, is_strict=columns is not None)
        _check_texts(database, shape, source, frozenset(columns or ()))
        values = "".join(
            f", {convert_text(_make_column_name(place), kind)} AS {quoted(column)}" for place, (column, kind) in enumerate(shape.columns)
        )
        join = f" JOIN {make_places(database, shape, files)} USING ({FILE})" if shape.partitions else ""
        return f"SELECT {FILE}, {ROW}, {LINE}{values}{format_partitions(shape)} FROM {source}{join}", []

    def _register_texts(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None,
        *,
        is_strict: bool,
    ) -> str:
        names = [_make_column_name(place) for place in range(len(shape.columns))]
        rows_by_file = (
            None if wanted_rows is None else list_wanted_rows(database, wanted_rows) if isinstance(wanted_rows, str) else wanted_rows
        )
        parts = [pa.table({FILE: pa.array([], pa.int64()), ROW: pa.array([], pa.int64()), LINE: pa.array([], pa.int64()),
                           **{name: pa.array([], pa.string()) for name in names}})]  # fmt: skip
        for file in files:
            rows, lines, table = self.read_texts(
                reader, file, shape, None if rows_by_file is None else rows_by_file.get(file.number, NO_ROWS), is_strict=is_strict
            )
            if not len(rows):
                continue
            numbers = arrow_of(np.full(len(rows), file.number, np.int64))
            line_column = pa.nulls(len(rows), pa.int64()) if lines is None else arrow_of(lines)
            parts.append(pa.table([numbers, arrow_of(rows), line_column, *table.columns], names=[FILE, ROW, LINE, *names]))
        source = f"texts_{next(_numbers)}"
        database.register(source, pa.concat_tables(parts))
        return source

    def translate_to_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Return names at the writer. Columns match by position if the reader cuts lines as they were written.

        Otherwise a column may contain every written column.
        """
        split = {name.lower() for name in sink.partition_columns}
        written_names = [column.name.lower() for column in sink.columns if column.name.lower() not in split]
        folders, line = {name.lower() for name in source.partition_columns}, {find_corrupt_column(source.options).lower()}
        read_names = [column.name.lower() for column in source.columns if column.name.lower() not in folders | line]
        if not self.keeps_positions(source, sink):
            line, read_names = line.union(read_names), []
        by_position: dict[str, set[str]] = {name: set(written_names) for name in line}
        for read_name, written_name in zip(read_names, written_names, strict=False):
            by_position.setdefault(read_name, set()).add(written_name)
        return frozenset().union(*(by_position.get(name, {name}) for name in names))


def _ends_lines_as_ascii(encoding: str) -> bool:
    try:
        return "\r\n #".encode(encoding) == b"\r\n #"
    except (LookupError, UnicodeError):
        return False


def find_corrupt_column(options: Mapping[str, Any]) -> str:
    lower_options = {name.lower(): str(value) for name, value in options.items()}
    return lower_options.get("columnnameofcorruptrecord", "_corrupt_record")


def _check_texts(database: Database, shape: Shape, source: str, columns: Collection[str]) -> None:
    options, names = dict(shape.options), [name.lower() for name, _ in shape.columns]
    for place, (column, kind) in enumerate(shape.columns):
        if column not in columns:
            continue
        if column == find_corrupt_column(options):
            raise UnsupportedError(f"What Spark read in {column} is not certain: what it holds of a bad record.")
        if names.count(column.lower()) > 1:  # DuckDB treats them as one
            raise UnsupportedError(f"What Spark read in {column} is not certain: another column differs from it in case alone.")
        cell = _make_column_name(place)
        # The reader of the message may not see the value.
        if database.execute(f"SELECT 1 FROM {source} WHERE NOT ({make_certainty_check(cell, kind, options)}) LIMIT 1").fetchone():
            raise UnsupportedError(f"What Spark read in {column} is not certain: it holds a text that Spark may read otherwise as {kind}.")


def _make_column_name(place: int) -> str:
    """Return the name of a text column in the database. Names of users may differ in case only, or collide with a place column."""
    return f"__text_{place}"
