"""Reading a SQLite file that may be damaged, in use by others, or on a disk that takes nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote


def open_to_read(path: Path) -> sqlite3.Connection:
    """A reader that others may write beside; on a disk that takes no file, one that needs none."""
    address = f"file:{quote(str(path))}"
    database = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=5, isolation_level=None)
    try:
        database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.OperationalError as error:
        database.close()
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, isolation_level=None)
    return database
