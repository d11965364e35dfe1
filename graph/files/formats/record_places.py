"""Containers of records of other programs: ranges of bytes, streams, tables by key. A record is named by its place, without values."""

from __future__ import annotations

from headwater.graph.files.formats.base import Format


class Ranges(Format):
    """Ranges of bytes of a file: a record's number is the offset of its first byte."""

    counts_from_file = True
    counts_bytes = True
    has_columns = False
    shares_files = True

    @property
    def unreadable_reason(self) -> str | None:
        return "its records are ranges of bytes; their values are not read here"


class Keyed(Format):
    """Positions of a stream, or keys of a table, without a file."""

    has_columns = False
    counts_from_file = True
    in_files = False
    shares_files = True

    @property
    def unreadable_reason(self) -> str | None:
        return f"it is a {self.name}, which is not read here"
