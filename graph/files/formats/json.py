"""JSON files: one object per line, or with multiLine the objects of a file."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from mmap import mmap
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.compression import unpack_file
from headwater.graph.files.formats.line_records import UTF_8, LineFormat, Texts, find_corrupt_column
from headwater.graph.files.formats.loaded_records import choose_rows
from headwater.graph.files.formats.multiline import is_multiline
from headwater.graph.files.formats.objects import NotOnceError, are_certain, make_texts, parse_line, parse_value
from headwater.graph.files.lines import LineRules, find_lines, find_positions, read_whole_text
from headwater.graph.files.read_files import FileReader, ReadFile
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_WHOLE = "singlevariantcolumn"  # with this option, one column contains the whole record


class JsonLines(LineFormat):
    """The JSON format.

    Lines that are not blank are records, each an object. Computations use a value only if Spark certainly read the same.
    """

    def find_column_names(self, reader: FileReader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.has_reliable_columns(shape):
            return [UNCERTAIN] * len(files)
        multiline = is_multiline(dict(shape.options))
        make = partial(_find_names, multiline=multiline)
        return [reader.column_names.get((self.name, multiline, file.stored.identity, file.block), partial(make, file)) for file in files]

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        return "multiline" if is_multiline(options) else super().describe_numbering(options)

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        if is_multiline(dict(shape.options)):
            return len(_split_records(file, has_unique_names=False))
        return super().count_records(reader, database, shape, file)

    def find_line_numbers(self, reader: FileReader, file: ReadFile, shape: Shape) -> Longs | None:
        return None if is_multiline(dict(shape.options)) else super().find_line_numbers(reader, file, shape)

    def read_texts(self, reader: FileReader, file: ReadFile, shape: Shape, rows: Longs | None, *, is_strict: bool) -> Texts:
        options = dict(shape.options)
        if not is_multiline(options):
            return super().read_texts(reader, file, shape, rows, is_strict=is_strict)
        records = _split_records(file, has_unique_names=is_strict)
        rows = choose_rows(rows, len(records))
        objects = [records[row] for row in rows.tolist()]
        if is_strict and not self._are_certain(objects, options, shape.columns):
            raise UnsupportedError(f"What Spark read of {file.stored.name} is not certain.")
        return Texts(rows, None, make_texts([_parse_object(record) for record in objects], [name for name, _ in shape.columns]))

    def get_rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        return LineRules(blank=False, header=False, objects=True)

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any], columns: Sequence[tuple[str, str]] = ()) -> bool:
        return self._are_certain([parse_line(line) for line in lines], options, columns)

    def cut_cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        del options
        return make_texts([_parse_line(line) for line in lines], names)

    @staticmethod
    def _are_certain(records: Sequence[Any], options: Mapping[str, Any], columns: Sequence[tuple[str, str]]) -> bool:
        lower_options = {name.lower(): str(value).lower() for name, value in options.items()}
        if _WHOLE in lower_options or lower_options.get("encoding", lower_options.get("charset", "utf-8")) not in UTF_8:
            return False
        return are_certain(records, columns, corrupt=find_corrupt_column(options))


def _find_names(file: ReadFile, *, multiline: bool) -> ColumnNames:
    """Return the names of columns and nested fields in a file's objects. A column shows the text of the whole field, whatever its type."""
    try:
        records = _split_records(file, has_unique_names=False) if multiline else _select_nested(unpack_file(file.stored))
    except (OSError, UnsupportedError):
        return UNCERTAIN
    pairs = {(column, name) for record in records for column, value in _parse_object(record).items() for name in _list_keys(value)}
    return ColumnNames(is_certain=True, other_names=frozenset(pairs))


def _select_nested(content: mmap | bytes) -> Iterator[Any]:
    """Yield the records of lines that may contain an object within an object."""
    lines = find_lines(content, LineRules(blank=False, header=False))
    braces = find_positions(content, ord("{"))
    counts = np.searchsorted(braces, lines.ends) - np.searchsorted(braces, lines.begins)
    for line in lines.read(np.flatnonzero(counts > 1)):
        yield _parse_line(line)


def _list_keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(name for part in value.values() for name in _list_keys(part))}
    return {name for part in value for name in _list_keys(part)} if isinstance(value, list) else set()


def _split_records(file: ReadFile, *, has_unique_names: bool) -> list[Any]:
    """Return the records of a file as Spark counts them: elements of an array, or one object. A malformed file is one record of nulls."""
    try:
        value = parse_value(read_whole_text(file.stored), has_unique_names=has_unique_names)
    except NotOnceError as error:
        raise UnsupportedError(f"What Spark read of {file.stored.name} is not certain: {error}.") from error
    except (ValueError, RecursionError) as error:  # its message would reveal the length of values
        raise UnsupportedError(f"{file.stored.name} is not one value of JSON; which records Spark read of it is not certain.") from error
    return value if isinstance(value, list) else [value]


def _parse_line(line: bytes) -> Mapping[str, Any]:
    try:
        return _parse_object(parse_value(line))
    except (ValueError, RecursionError):
        return {}  # Spark reads a malformed line as a record of nulls


def _parse_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
