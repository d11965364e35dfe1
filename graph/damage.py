"""Separates faults of the disk from faults of the data to be stored, and names the damaged file.

Every module that keeps a file in a home uses it. A damaged file is a `DamagedError` with the file and the command that repairs it. A
temporary fault (a full disk, a busy or read-only file) is an `UnavailableError`. Neither is ever counted as the fault of an event or a
question.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import DamagedError, UnavailableError

REPAIR = "Stop the service, then run `headwater store repair`; docs/guide/operations.md says what it does."
_DAMAGED = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_AWAY = frozenset(
    {
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL,
    }
)  # fmt: skip
_DISK = frozenset(
    {
        errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EFBIG, errno.EMFILE, errno.ENFILE,
        errno.ENOMEM, errno.ESTALE,
    }
)  # fmt: skip


def damaged(path: Path, what: str, error: object) -> DamagedError:
    """Return the error for a damaged file."""
    return DamagedError(f"{what} {path} is damaged: {str(error).rstrip('.') or type(error).__name__}.", path=path, hint=REPAIR)


def translate(path: Path, what: str, error: sqlite3.Error) -> Exception:
    """Return Headwater's error for an error of SQLite on a file. An error in the statement itself is returned unchanged."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # without the extended part
    if code in _DAMAGED or _lacks_table(error):
        return damaged(path, what, error)
    if code in _AWAY:
        return UnavailableError(
            f"{what} {path} does not answer: {error}.",
            hint="The disk may be full or read-only, or another process may hold the file; try again once that is over.",
        )
    return error


@contextmanager
def translated(path: Path, what: str) -> Iterator[None]:
    """Translate errors of SQLite, with the name of the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise translate(path, what, error) from error


def is_of_disk(error: BaseException) -> bool:
    """Return whether an error comes from the disk or a damaged file, and not from the data to be stored."""
    if isinstance(error, DamagedError):
        return True
    if isinstance(error, sqlite3.DatabaseError):
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _DAMAGED | _AWAY
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _DISK)


def _lacks_table(error: sqlite3.Error) -> bool:
    """Return whether a table is missing. A file that was emptied is a valid database without tables."""
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith("no such table")
