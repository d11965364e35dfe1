"""Records of Kafka topics. Each partition counts as a file, and the number of a record is its offset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.keyed_rows import query_by_key
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.storage.tables import RowRequest


class Kafka(Format):
    """The format of a Kafka topic. A record never changes, but may be deleted, alone or with its topic."""

    counts_from_file = True
    in_files = False
    has_gaps = True
    has_columns = False

    @property
    def unreadable_reason(self) -> str | None:
        return None

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
        return query_by_key(database, shape, files, wanted_rows, columns, RowRequest(key="offset"))
