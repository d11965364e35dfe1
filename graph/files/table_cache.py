"""The files of tables with the numbers of their rows, as their metadata were when they were last read.

For traces, one after the other, over tables that have not changed. Metadata are looked at each time: what is known counts as long as the
folder that holds them has the very files that it had, each of the same length and time. What could not be read is not remembered.
"""

from __future__ import annotations

from headwater.graph.files.formats import format_of
from headwater.graph.files.row_ids import TableRows
from headwater.graph.records import FileBlock, Look
from headwater.graph.records.bounded_cache import Bounded

_FILES = 250_000  # of all tables together, some 300 bytes each; and files of their metadata


class KnownTables:
    """See the module's docstring. Safe to use from several threads."""

    def __init__(self, *, most_files: int = _FILES) -> None:
        self._tables: Bounded[tuple[str, str], tuple[list[FileBlock], TableRows]] = Bounded(most_files)

    def rows(self, look: Look, format_: str, path: str) -> TableRows | None:
        """The files that a table at a path has and had; None where there is none. Raises as the format does."""
        of = format_of(format_)
        folder = of.table_log(path)
        log = look.listed(folder) if folder is not None else None
        if not log:
            return None
        known = self._tables.get((format_, path))
        if known is not None and known[0] == log:
            return known[1]
        rows = of.table_rows(look, path, log)
        if rows is not None:
            self._tables.put((format_, path), (log, rows), len(rows.files) + len(log))
        return rows
