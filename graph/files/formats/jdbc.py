"""Rows of tables that Spark read by JDBC. The number of a row is its primary key, or stands for it (`storage/row_keys`)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.keyed_rows import query_by_key
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.storage.row_keys import KeyColumn, key_columns
from headwater.graph.storage.tables import RowRequest

_NUMBER = re.compile(r"[0-9]{1,19}")


class Jdbc(Format):
    """The format of a JDBC table, which counts as one file with all keys."""

    counts_from_file = True
    in_files = False
    spans_ordinals = True
    has_gaps = True

    @property
    def unreadable_reason(self) -> str | None:
        return None

    def list_key_columns(self, shape: Shape) -> Sequence[KeyColumn]:
        keys = dict(shape.options).get("keys")
        try:
            return () if keys is None else key_columns(keys)
        except UnsupportedError:
            return ()

    def describe_numbering(self, options: Mapping[str, Any]) -> Hashable:
        return self.name, options.get("key"), options.get("keys")

    def merge_shapes(self, known_shape: Shape, other_shape: Shape) -> Shape:
        """Return the shape of the earlier run: both runs read every row that has not changed since then."""
        if known_shape.format != other_shape.format:
            return known_shape
        return min(known_shape, other_shape, key=lambda shape: int(_get_snapshot(shape) or -1))

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
        options = dict(shape.options)
        if "key" not in options and "keys" not in options:
            raise UnsupportedError("Rows of a table cannot be read here: no primary key of it is known.")
        columns_of_key = key_columns(options["keys"]) if "keys" in options else ()
        rows_asked = RowRequest(
            key=options.get("key", ""), key_columns=columns_of_key, snapshot=_get_snapshot(shape), relation=options.get("relation")
        )
        return query_by_key(database, shape, files, wanted_rows, columns, rows_asked)


def _get_snapshot(shape: Shape) -> str | None:
    """Return the id of the transaction before which all transactions had ended, if a manifest states it."""
    snapshot = dict(shape.options).get("snapshot", "")
    return snapshot if _NUMBER.fullmatch(snapshot) else None
