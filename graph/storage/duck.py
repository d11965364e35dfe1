"""Remote files for DuckDB: a file system whose names represent files that a trace has looked at.

A name is a number. DuckDB can open only such files by it, whatever a statement says. The bytes come from the state of the file that was
looked at. If a store fails, DuckDB raises a text with the number of the fault, and `faults` raises the original fault again.
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
from headwater.graph.storage.files import RemoteFile
from headwater.graph.storage.open_files import spell_descriptors

_PROTOCOL = "headwater-stored"
_MOST = 100_000  # names that are known
_FAULT = re.compile(r"headwater-fault-(\d+)")

_lock = threading.Lock()
_files: OrderedDict[int, RemoteFile] = OrderedDict()
_numbers: dict[tuple[object, ...], int] = {}
_last = 0
_faults: OrderedDict[int, HeadwaterError] = OrderedDict()


def name_of(file: RemoteFile) -> str:
    """Return the name under which DuckDB reads a file. Files with the same content have the same name."""
    global _last  # noqa: PLW0603 - names are of the process, as what was remembered of the files is
    key = (id(file.remote), file.address, file.stat)
    with _lock:
        if key not in _numbers:
            _last += 1
            _numbers[key] = _last
        number = _numbers[key]
        _files[number] = file
        _files.move_to_end(number)
        while len(_files) > _MOST:
            _, old = _files.popitem(last=False)
            _numbers.pop((id(old.remote), old.address, old.stat), None)
    return f"{_PROTOCOL}://{number}"


@contextmanager
def faults() -> Iterator[None]:
    """While a statement is run that reads files: errors name remote files and open ones as users do.

    Raises:
        SourceUnavailableError: a store did not give what DuckDB asked for.
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
    """Have a database read remote files, until `forget`.

    Raises:
        MissingExtraError: what DuckDB needs for that is not installed.
    """
    try:
        connection.register_filesystem(_file_system())
    except (ImportError, duckdb.InvalidInputException) as error:
        raise MissingExtraError("Reading remote storage", extra="s3") from error


def forget(connection: duckdb.DuckDBPyConnection) -> None:
    """Undo that, so that the database can be closed."""
    with suppress(duckdb.Error):
        connection.unregister_filesystem(_PROTOCOL)


class _OpenFile:
    """A remote file, with a position, as DuckDB expects it of Python."""

    def __init__(self, file: RemoteFile) -> None:
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


def _named(path: str) -> RemoteFile:
    number = path.rpartition("/")[2]
    file = _files.get(int(number)) if number.isdigit() else None
    if file is None:
        raise FileNotFoundError(f"{path} stands for no file")
    return file


def _file_system() -> Any:
    from fsspec.spec import AbstractFileSystem

    class Stored(AbstractFileSystem):  # type: ignore[misc]  # fsspec is not typed
        protocol = _PROTOCOL
        cachable = False

        def glob(self, path: str, **_: Any) -> list[str]:
            return [path]

        def open(self, path: str, mode: str = "rb", **_: Any) -> _OpenFile:
            if mode != "rb":
                raise PermissionError("remote files are read alone")
            return _OpenFile(_named(path))

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            return {"name": path, "size": _named(path).stat.length, "type": "file"}

        def size(self, path: str) -> int:
            return _named(path).stat.length

        def modified(self, path: str) -> datetime:
            return datetime.fromtimestamp(_named(path).stat.modified / 1000, UTC)

        def exists(self, path: str, **_: Any) -> bool:
            return bool(_named(path))

        def isfile(self, path: str) -> bool:
            return bool(_named(path))

    return Stored()
