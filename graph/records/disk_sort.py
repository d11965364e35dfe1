"""Sorts more rows than fit in memory with DuckDB, within limits of memory and disk.

DuckDB's defaults depend on the machine's memory and cores, so this module sets limits. Spilled rows are in a folder of the draft, which is
removed with it. If the disk has no room for them, the capture is refused before anything is written, because a full disk harms all users.
The capture can be published again later.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from headwater.errors import InvalidCaptureError

_SPILLED = 4  # bytes on the disk for each byte of rows: rows and their sort keys, possibly twice
_LEAST_DISK = 256 << 20
_LEFT_FREE = 256 << 20  # bytes of the disk that stay free for others
_RETRY = "Give it room, then start the service again: it tries once more."


class TooMuchError(InvalidCaptureError):
    """The sort needs more memory than the limit."""


@contextmanager
def spilling(folder: Path, rows: int, width: int, *, megabytes: int, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB database that sorts this number of rows in limited memory, and spills into a folder below `folder`.

    Raises:
        InvalidCaptureError: the disk has no room for the spilled rows.
        TooMuchError: the sort needs more memory.
    """
    needed_bytes = _LEAST_DISK + rows * width * 8 * _SPILLED
    free_bytes = shutil.disk_usage(folder).free
    if needed_bytes > free_bytes - _LEFT_FREE:
        raise InvalidCaptureError(
            f"Sorting {rows} rows of this capture may take {needed_bytes >> 20} MB of disk; {folder} has {free_bytes >> 20} MB.",
            hint=_RETRY,
        )
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{megabytes}MB", "threads": threads, "preserve_insertion_order": False,
        "temp_directory": str(folder / "spill"), "max_temp_directory_size": f"{needed_bytes >> 20}MB",
    }  # fmt: skip
    with duckdb.connect(config=config) as database:
        database.execute("SET enable_progress_bar = false")  # it would appear in the output of a command
        try:
            yield database
        except duckdb.OutOfMemoryException as error:
            reason = str(error).splitlines()[0]
            raise TooMuchError(f"{rows} rows of this capture cannot be sorted in {megabytes} MB: {reason}.", hint=_RETRY) from error
