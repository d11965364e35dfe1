"""A cache of the files of tables with row numbers.

Traces over unchanged tables share it. The metadata folder is listed each time. A cached table is valid as long as the folder has the same
files, each with the same length and time. Failures are not cached.
"""

from __future__ import annotations

from headwater.graph.files.formats import get_format
from headwater.graph.files.row_ids import TableRows
from headwater.graph.records import FileBlock, Look
from headwater.graph.records.bounded_cache import Bounded

_FILES = 250_000  # data files and metadata files of all tables together; each takes 300 bytes


class TableCache:
    """A cache of tables with row numbers. Safe to use from several threads."""

    def __init__(self, *, most_files: int = _FILES) -> None:
        self._tables: Bounded[tuple[str, str], tuple[list[FileBlock], TableRows]] = Bounded(most_files)

    def get_rows(self, look: Look, format_: str, path: str) -> TableRows | None:
        """Return the present and former files of a table at a path. None if there is no table. Raises as the format does."""
        file_format = get_format(format_)
        folder = file_format.find_table_log(path)
        log = look.listed(folder) if folder is not None else None
        if not log:
            return None
        cached_rows = self._tables.get((format_, path))
        if cached_rows is not None and cached_rows[0] == log:
            return cached_rows[1]
        rows = file_format.read_table_rows(look, path, log)
        if rows is not None:
            self._tables.put((format_, path), (log, rows), len(rows.files) + len(log))
        return rows
