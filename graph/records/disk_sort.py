"""DuckDB for sorting more rows than fit in memory, within limits of memory and disk on any machine.

Used to keep large captures while the service does other work. DuckDB's defaults are a share of the machine's memory and a thread for each
core, and each thread takes its own share, so limits are set here. Spilled rows are in a folder of the draft, which is removed with it. If
the disk has no room for them, the capture is refused before anything is written, because a full disk harms everybody. It can be tried
again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from headwater.errors import InvalidCaptureError

_SPILLED = 4  # bytes on the disk for each byte of rows: rows and their sort keys, both maybe twice
_LEAST_DISK = 256 << 20
_LEFT_FREE = 256 << 20  # bytes of the disk that stay free for others
_RETRY = "Give it room, then start the service again: it tries once more."


class TooMuchError(InvalidCaptureError):
    """Rows cannot be sorted within the bounds that were given."""


@contextmanager
def spilling(folder: Path, rows: int, width: int, *, megabytes: int, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that sorts so many rows of longs in so much memory, and spills into a folder below `folder`.

    Raises:
        InvalidCaptureError: the disk has no room for them.
        TooMuchError: they need more memory.
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
        database.execute("SET enable_progress_bar = false")  # it would stand in the answer of a command
        try:
            yield database
        except duckdb.OutOfMemoryException as error:
            reason = str(error).splitlines()[0]
            raise TooMuchError(f"{rows} rows of this capture cannot be sorted in {megabytes} MB: {reason}.", hint=_RETRY) from error
