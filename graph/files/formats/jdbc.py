"""Rows of tables that were read by JDBC: the number of a row is its primary key, or stands for it (`storage/row_keys`)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.keyed_rows import by_key
from headwater.graph.files.reader import Reader, ReadFile, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.storage.row_keys import KeyColumn, key_columns
from headwater.graph.storage.tables import RowsAsked

_NUMBER = re.compile(r"[0-9]{1,19}")


class Jdbc(Format):
    """A table, which stands as one file of all keys."""

    counts_from_file = True
    in_files = False
    spans_ordinals = True
    has_gaps = True

    @property
    def unreadable(self) -> str | None:
        return None

    def key_columns(self, shape: Shape) -> Sequence[KeyColumn]:
        stated = dict(shape.options).get("keys")
        try:
            return () if stated is None else key_columns(stated)
        except UnsupportedError:
            return ()

    def numbering(self, options: Mapping[str, Any]) -> Hashable:
        return self.name, options.get("key"), options.get("keys")

    def shape_of_both(self, known: Shape, other: Shape) -> Shape:
        """By the earlier of two runs: what has not changed since then is what both read."""
        if known.format != other.format:
            return known
        return min(known, other, key=lambda shape: int(_snapshot(shape) or -1))

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
        options = dict(shape.options)
        if "key" not in options and "keys" not in options:
            raise UnsupportedError("Rows of a table cannot be read here: no primary key of it is known.")
        columns_of_key = key_columns(options["keys"]) if "keys" in options else ()
        asked = RowsAsked(
            key=options.get("key", ""), key_columns=columns_of_key, snapshot=_snapshot(shape), relation=options.get("relation")
        )
        return by_key(database, shape, files, wanted, columns, asked)


def _snapshot(shape: Shape) -> str | None:
    """The transaction below which all had ended, where a manifest states one."""
    stated = dict(shape.options).get("snapshot", "")
    return stated if _NUMBER.fullmatch(stated) else None
