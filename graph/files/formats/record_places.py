"""Formats for records of actors without Spark. A record is a place in a container, such as a byte range, and has no values."""

from __future__ import annotations

from headwater.graph.files.formats.base import Format


class Ranges(Format):
    """The format of byte ranges in a file. The number of a record is the offset of its first byte."""

    counts_from_file = True
    counts_bytes = True
    has_columns = False
    shares_files = True

    @property
    def unreadable_reason(self) -> str | None:
        return "its records are ranges of bytes; their values are not read here"


class Keyed(Format):
    """The format of positions in a stream, or keys of a table, without a file."""

    has_columns = False
    counts_from_file = True
    in_files = False
    shares_files = True

    @property
    def unreadable_reason(self) -> str | None:
        return f"it is a {self.name}, which is not read here"
