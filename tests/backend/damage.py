"""Kinds of damage to a file: other bytes, a missing end, an empty file, no file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def spoil(path: Path, *, begin: int = 4096) -> None:
    """Write other bytes over a file from `begin` on; of a database, over every page but the first."""
    whole_in_one_file(path)
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(begin)
        file.write(bytes((byte * 7 + 13) % 256 for byte in data[begin:]))


def whole_in_one_file(path: Path) -> None:
    """Merge a database's side files into it, so that damage to the file is damage to all of it."""
    if path.read_bytes()[:15] == b"SQLite format 3":
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def cut(path: Path) -> None:
    """Take the second half of a file away."""
    whole_in_one_file(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def empty(path: Path) -> None:
    """Leave nothing in a file."""
    whole_in_one_file(path)
    path.write_bytes(b"")
