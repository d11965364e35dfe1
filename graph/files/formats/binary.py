"""Binary files: each file is the one record of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import chosen, loaded
from headwater.graph.files.reader import Reader, ReadFile, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_MOST = 16 << 20  # bytes of a file whose content is shown


class Binary(Format):
    """A record is a file: its path, length, time and content. Something is computed from the length alone."""

    has_columns = False

    @property
    def unreadable(self) -> str | None:
        return None

    def first_of_split(self, reader: Reader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, database, shape, file
        return 1

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        exact = None if columns is None else frozenset(columns)
        if exact and exact - {"length"}:
            raise UnsupportedError(f"What Spark read in {min(exact - {'length'})} of a binary file is not certain.")

        def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
            rows = chosen(rows, 1)
            values = [_array(name, file, len(rows), read=exact is None or name in exact) for name, _ in shape.columns]
            return rows, pa.table(values, names=[str(place) for place in range(len(values))])

        return loaded(database, shape, files, wanted, load)


def _array(name: str, file: ReadFile, rows: int, *, read: bool) -> pa.Array:
    make, arrow = _COLUMNS.get(name, (lambda _: None, pa.string()))
    return pa.array([make(file) if read else None] * rows, arrow)


def _content(file: ReadFile) -> bytes:
    if file.block.length > _MOST:
        raise UnsupportedError(f"The content of {file.stored.name} is not shown: it has more than {_MOST} bytes.")
    return bytes(file.stored.content()[:])


_COLUMNS: Mapping[str, tuple[Callable[[ReadFile], object], pa.DataType]] = {
    "path": (lambda file: file.block.path, pa.string()),
    "modificationTime": (lambda file: file.block.modified, pa.timestamp("ms")),
    "length": (lambda file: file.block.length, pa.int64()),
    "content": (_content, pa.binary()),
}
