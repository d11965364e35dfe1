"""Remote files for DuckDB: a file system in which a name stands for one state of a file.

A name is a number, and DuckDB can open only files with such names, whatever a statement says. The bytes come from the state of the file
that a trace has checked. If a store fails, DuckDB raises a text with the number of the fault, and `faults` raises the original fault again.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import duckdb

from headwater.errors import HeadwaterError, MissingExtraError
from headwater.graph.storage.duck_names import PROTOCOL, NamedFile, find_file
from headwater.graph.storage.open_files import spell_descriptors

_FAULT = re.compile(r"headwater-fault-(\d+)")

_lock = threading.Lock()
_last = 0
_faults: OrderedDict[int, HeadwaterError] = OrderedDict()


@contextmanager
def faults() -> Iterator[None]:
    """Run a statement that reads files. Errors then have the users' names of remote files and open files.

    Raises:
        SourceUnavailableError: a store did not return the bytes.
    """
    try:
        yield
    except duckdb.Error as error:
        if (found := _FAULT.search(str(error))) and (fault := _faults.get(int(found[1]))) is not None:
            raise fault from None
        if (spelt := spell_descriptors(str(error))) != str(error):
            raise type(error)(spelt) from error
        raise


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a database read remote files, until `forget`.

    Raises:
        MissingExtraError: a package that DuckDB needs is not installed.
    """
    try:
        connection.register_filesystem(_file_system())
    except (ImportError, duckdb.InvalidInputException) as error:
        raise MissingExtraError("Reading remote storage", extra="s3") from error


def forget(connection: duckdb.DuckDBPyConnection) -> None:
    """Undo `register`, so that the database can be closed."""
    with suppress(duckdb.Error):
        connection.unregister_filesystem(PROTOCOL)


class _OpenFile:
    """A remote file with a position, as DuckDB expects it of Python."""

    def __init__(self, file: NamedFile) -> None:
        self._file = file
        self._at = 0
        self.size = file.stat.length

    def read(self, length: int = -1) -> bytes:
        try:
            content = self._file.read(self._at, self.size - self._at if length < 0 else length)
        except HeadwaterError as error:
            raise OSError(f"headwater-fault-{_noted(error)}") from None
        self._at += len(content)
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing is open."""


def _noted(error: HeadwaterError) -> int:
    global _last  # noqa: PLW0603
    with _lock:
        _last += 1
        _faults[_last] = error
        while len(_faults) > 1000:
            _faults.popitem(last=False)
        return _last


def _file_system() -> Any:
    from fsspec.spec import AbstractFileSystem

    class Stored(AbstractFileSystem):  # type: ignore[misc]  # fsspec is not typed
        protocol = PROTOCOL
        cachable = False

        def glob(self, path: str, **_: Any) -> list[str]:
            return [path]

        def open(self, path: str, mode: str = "rb", **_: Any) -> _OpenFile:
            if mode != "rb":
                raise PermissionError("remote files are read alone")
            return _OpenFile(find_file(path))

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            return {"name": path, "size": find_file(path).stat.length, "type": "file"}

        def size(self, path: str) -> int:
            return find_file(path).stat.length

        def modified(self, path: str) -> datetime:
            return datetime.fromtimestamp(find_file(path).stat.modified / 1000, UTC)

        def exists(self, path: str, **_: Any) -> bool:
            return bool(find_file(path))

        def isfile(self, path: str) -> bool:
            return bool(find_file(path))

    return Stored()
