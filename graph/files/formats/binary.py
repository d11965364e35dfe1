"""Binary files: each file is one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import choose_rows, load_records
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_MOST = 16 << 20  # bytes of the largest file whose content is shown


class Binary(Format):
    """The format `binaryFile`. A record is a file: its path, length, time and content. Computations may use only the length."""

    has_columns = False

    @property
    def unreadable_reason(self) -> str | None:
        return None

    def find_first_of_split(self, reader: FileReader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, database, shape, file
        return 1

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        computed_columns = None if columns is None else frozenset(columns)
        if computed_columns and computed_columns - {"length"}:
            raise UnsupportedError(f"What Spark read in {min(computed_columns - {'length'})} of a binary file is not certain.")

        def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
            rows = choose_rows(rows, 1)
            values = [
                _make_array(name, file, len(rows), read_content=computed_columns is None or name in computed_columns)
                for name, _ in shape.columns
            ]
            return rows, pa.table(values, names=[str(place) for place in range(len(values))])

        return load_records(database, shape, files, wanted_rows, load)


def _make_array(name: str, file: ReadFile, rows: int, *, read_content: bool) -> pa.Array:
    make, arrow = _COLUMNS.get(name, (lambda _: None, pa.string()))
    return pa.array([make(file) if read_content else None] * rows, arrow)


def _read_content(file: ReadFile) -> bytes:
    if file.block.length > _MOST:
        raise UnsupportedError(f"The content of {file.stored.name} is not shown: it has more than {_MOST} bytes.")
    return bytes(file.stored.content()[:])


_COLUMNS: Mapping[str, tuple[Callable[[ReadFile], object], pa.DataType]] = {
    "path": (lambda file: file.block.path, pa.string()),
    "modificationTime": (lambda file: file.block.modified, pa.timestamp("ms")),
    "length": (lambda file: file.block.length, pa.int64()),
    "content": (_read_content, pa.binary()),
}
