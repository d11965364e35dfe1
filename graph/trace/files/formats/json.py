"""JSON: an object a line, or, read with multiLine, the objects of a file."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.records.decode import Longs
from headwater.graph.trace.database.in_memory import Database
from headwater.graph.trace.files.formats.lined import LineFormat
from headwater.graph.trace.files.formats.loaded import chosen, loaded
from headwater.graph.trace.files.lines import LineRules, text_of
from headwater.graph.trace.files.reader import Reader, ReadFile, Wanted
from headwater.graph.trace.files.shapes import Shape


class JsonLines(LineFormat):
    """Lines that are not blank, each an object. Its values are shown; nothing is computed from them."""

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        return "multiline" if _of_files(options) else super().numbering(options)

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        return len(_records(file)) if _of_files(dict(shape.options)) else super().count(reader, database, shape, file)

    def line_numbers(self, reader: Reader, file: ReadFile, shape: Shape) -> Longs | None:
        return None if _of_files(dict(shape.options)) else super().line_numbers(reader, file, shape)

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        if not _of_files(dict(shape.options)):
            return super().query(reader, database, shape, files, wanted, columns)
        if columns is not None:
            raise UnsupportedError("What Spark read in a file of JSON is not certain: nothing is computed from it.")
        names = [column for column, _ in shape.columns]

        def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
            records = _records(file)
            rows = chosen(rows, len(records))
            return rows, _cells([records[row] for row in rows.tolist()], names)

        return loaded(database, shape, files, wanted, load)

    def rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        return LineRules(blank=False, header=False, objects=True)

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any]) -> bool:
        del lines, options
        return False

    def cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        del options
        return _cells([_object(line) for line in lines], names)


def _of_files(options: Mapping[str, Any]) -> bool:
    return {name.lower(): str(value) for name, value in options.items()}.get("multiline", "false").lower() == "true"


def _records(file: ReadFile) -> list[Mapping[str, Any]]:
    """The records of a file as Spark counts them: the elements of an array, or the one object. A malformed file is one record of nulls."""
    try:
        value = json.loads(text_of(file.stored))
    except (ValueError, RecursionError) as error:
        raise UnsupportedError(
            f"{file.stored.name} is not one value of JSON; which records Spark read of it is not certain: {error}"
        ) from error
    return [record if isinstance(record, dict) else {} for record in (value if isinstance(value, list) else [value])]


def _cells(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> pa.Table:
    return pa.table([pa.array([_text(record.get(name)) for record in records], pa.string()) for name in names], names=[*names])


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}  # Spark reads a malformed line as a record of nulls
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
