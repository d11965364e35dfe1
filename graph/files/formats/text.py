"""Text files: each line is a record of one column. With wholetext, each file is a record."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.line_records import UTF_8, LineFormat
from headwater.graph.files.formats.loaded_records import choose_rows, load_records
from headwater.graph.files.lines import LineRules, read_whole_text
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs


class Text(LineFormat):
    """The text format. Blank lines are records."""

    has_columns = False

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        return "wholetext" if _read_whole_files(options) else super().describe_numbering(options)

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        return 1 if _read_whole_files(dict(shape.options)) else super().count_records(reader, database, shape, file)

    def find_line_numbers(self, reader: FileReader, file: ReadFile, shape: Shape) -> Longs | None:
        return None if _read_whole_files(dict(shape.options)) else super().find_line_numbers(reader, file, shape)

    def find_byte_ranges(self, reader: FileReader, file: ReadFile, shape: Shape) -> tuple[Longs, Longs] | None:
        return None if _read_whole_files(dict(shape.options)) else super().find_byte_ranges(reader, file, shape)

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        if not shape.columns:  # an RDD of lines has no columns of its own
            shape = replace(shape, columns=(("value", "string"),))
        if not _read_whole_files(dict(shape.options)):
            return super().make_query(reader, database, shape, files, wanted_rows, columns)

        def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
            rows = choose_rows(rows, 1)
            texts = [read_whole_text(file.stored)] if len(rows) else []
            if columns is not None and not all(
                self.is_certain([text.encode()], dict(shape.options)) and "\ufffd" not in text for text in texts
            ):
                raise UnsupportedError(f"What Spark read of {file.stored.name} is not certain: its encoding.")
            return rows, pa.table([pa.array(texts, pa.string()) for _ in shape.columns], names=[name for name, _ in shape.columns])

        return load_records(database, shape, files, wanted_rows, load)

    def get_rules(self, options: Mapping[str, Any]) -> LineRules:
        self.check_lines(options)
        return LineRules(blank=True, header=False)

    def is_certain(self, lines: Sequence[bytes], options: Mapping[str, Any], columns: Sequence[tuple[str, str]] = ()) -> bool:
        del columns
        lower_options = {name.lower(): str(value).lower() for name, value in options.items()}
        content = b"\n".join(lines)
        return content.isascii() or (lower_options.get("encoding", lower_options.get("charset", "utf-8")) in UTF_8 and _is_utf8(content))

    def cut_cells(self, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
        del options
        return pa.table({names[0]: pa.array([line.decode("utf-8", "replace") for line in lines], pa.string())})


def _read_whole_files(options: Mapping[str, Any]) -> bool:
    return {name.lower(): str(value) for name, value in options.items()}.get("wholetext", "false").lower() == "true"


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
