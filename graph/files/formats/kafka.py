"""Records of topics of Kafka: each partition stands as a file, and the number of a record is its offset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.keyed_rows import by_key
from headwater.graph.files.reader import Reader, ReadFile, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.storage.tables import RowsAsked


class Kafka(Format):
    """Partitions of a topic. A record never changes; it may be deleted, with its topic or without."""

    counts_from_file = True
    in_files = False
    has_gaps = True
    has_columns = False

    @property
    def unreadable(self) -> str | None:
        return None

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
        return by_key(database, shape, files, wanted, columns, RowsAsked(key="offset"))
