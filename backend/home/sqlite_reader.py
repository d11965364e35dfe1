"""Opens a SQLite file for reading that may be damaged, used by others, or on a read-only disk."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a database for reading while others write. On a read-only disk, SQLite's side files are not needed."""
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
