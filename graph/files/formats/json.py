"""JSON: an object a line, or, read with multiLine, the objects of a file."""

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
from headwater.graph.files.compression import unpacked
from headwater.graph.files.formats.line_records import UTF_8, LineFormat, Texts, corrupt_column
from headwater.graph.files.formats.loaded_records import chosen
from headwater.graph.files.formats.multiline import is_multiline
from headwater.graph.files.formats.objects import NotOnceError, are_certain, line_value, texts, value_of
from headwater.graph.files.lines import LineRules, find_lines, positions, text_of
from headwater.graph.files.reader import Reader, ReadFile
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_WHOLE = "singlevariantcolumn"  # an option by which a column holds all of a record


class JsonLines(LineFormat):
    """Lines that are not blank, each an object. Something is computed from a value only where Spark surely read what stands there."""

    def column_names(self, reader: Reader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.tells_columns(shape):
            return [UNCERTAIN] * len(files)
        multiline = is_multiline(dict(shape.options))
        make = partial(_names, multiline=multiline)
        return [reader.column_names.get((self.name, multiline, file.stored.identity, file.block), partial(make, file)) for file in files]

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        return "multiline" if is_multiline(options) else super().numbering(options)

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        if is_multiline(dict(shape.options)):
            return len(_records(file, once=False))
        return super().count(reader, database, shape, file)

    def line_numbers(self, reader: Reader, file: ReadFile, shape: Shape) -> Longs | None:
        return None if is_multiline(dict(shape.options)) else super().line_numbers(reader, file, shape)

    def texts_of(self, reader: Reader, file: ReadFile, shape: Shape, rows: Longs | None, *, exactly: bool) -> Texts:
        options = dict(shape.options)
        if not is_multiline(options):
            return super().texts_of(reader, file, shape, rows, exactly=exactly)
        records = _records(file, once=exactly)
        rows = chosen(rows, len(records))
        found = [records[row] for row in rows.tolist()]
        if exactly and not self._are_certain(found, options, shape.columns):
            raise UnsupportedError(f"What Spark read of {file.stored.name} is not certain.")
        return Texts(rows, None, texts([_object(record) for record in found], [name for name, _ in shape.columns]))

    def rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        return LineRules(blank=False, header=False, objects=True)

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any], columns: Sequence[tuple[str, str]] = ()) -> bool:
        return self._are_certain([line_value(line) for line in lines], options, columns)

    def cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        del options
        return texts([_object_of(line) for line in lines], names)

    @staticmethod
    def _are_certain(records: Sequence[Any], options: Mapping[str, Any], columns: Sequence[tuple[str, str]]) -> bool:
        given = {name.lower(): str(value).lower() for name, value in options.items()}
        if _WHOLE in given or given.get("encoding", given.get("charset", "utf-8")) not in UTF_8:
            return False
        return are_certain(records, columns, corrupt=corrupt_column(options))


def _names(file: ReadFile, *, multiline: bool) -> ColumnNames:
    """The names of fields within the objects of a file. A column holds a text of the object, whatever type a manifest states."""
    try:
        records = _records(file, once=False) if multiline else _composed(unpacked(file.stored))
    except (OSError, UnsupportedError):
        return UNCERTAIN
    pairs = {(column, name) for record in records for column, value in _object(record).items() for name in _keys(value)}
    return ColumnNames(is_certain=True, others=frozenset(pairs))


def _composed(content: mmap | bytes) -> Iterator[Any]:
    """The records of those lines that may hold an object within an object."""
    lines = find_lines(content, LineRules(blank=False, header=False))
    opened = positions(content, ord("{"))
    counts = np.searchsorted(opened, lines.ends) - np.searchsorted(opened, lines.begins)
    for line in lines.read(np.flatnonzero(counts > 1)):
        yield _object_of(line)


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(name for one in value.values() for name in _keys(one))}
    return {name for one in value for name in _keys(one)} if isinstance(value, list) else set()


def _records(file: ReadFile, *, once: bool) -> list[Any]:
    """The records of a file as Spark counts them: the elements of an array, or the one object. A malformed file is one record of nulls."""
    try:
        value = value_of(text_of(file.stored), once=once)
    except NotOnceError as error:
        raise UnsupportedError(f"What Spark read of {file.stored.name} is not certain: {error}.") from error
    except (ValueError, RecursionError) as error:  # its message would say how long values are
        raise UnsupportedError(f"{file.stored.name} is not one value of JSON; which records Spark read of it is not certain.") from error
    return value if isinstance(value, list) else [value]


def _object_of(line: bytes) -> Mapping[str, Any]:
    try:
        return _object(value_of(line))
    except (ValueError, RecursionError):
        return {}  # Spark reads a malformed line as a record of nulls


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
