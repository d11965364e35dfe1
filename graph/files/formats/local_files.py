"""Rows that a program made itself, without a file."""

from __future__ import annotations

from headwater.graph.files.formats.base import Format


class Local(Format):
    """The format of rows that the program made. They have numbers, but their values are not stored."""

    counts_from_file = True
    in_files = False

    @property
    def unreadable_reason(self) -> str | None:
        return "its rows were the program's own; their values are not kept"
