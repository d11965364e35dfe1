"""The names under which DuckDB reads remote files. A name is a number; `duck` opens the files by it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Protocol

from headwater.graph.storage.protocol import Stat

PROTOCOL = "headwater-stored"
_MOST = 100_000  # names

_lock = threading.Lock()
_files: OrderedDict[int, tuple[Hashable, NamedFile]] = OrderedDict()
_numbers: dict[Hashable, int] = {}
_last = 0


class NamedFile(Protocol):
    """The methods of a remote file that DuckDB needs. The class itself imports this module, so it cannot be imported here."""

    @property
    def stat(self) -> Stat: ...

    def read(self, offset: int, length: int) -> bytes: ...


def name_of(file: NamedFile, content: Hashable) -> str:
    """Return the name under which DuckDB reads a file. Files with the same content have the same name."""
    global _last  # noqa: PLW0603 - names belong to the process, like DuckDB's cache of files
    with _lock:
        if content not in _numbers:
            _last += 1
            _numbers[content] = _last
        number = _numbers[content]
        _files[number] = content, file
        _files.move_to_end(number)
        while len(_files) > _MOST:
            _, (old, _file) = _files.popitem(last=False)
            _numbers.pop(old, None)
    return f"{PROTOCOL}://{number}"


def find_file(path: str) -> NamedFile:
    """Return the file with a name.

    Raises:
        FileNotFoundError: there is no file with this name.
    """
    number = path.rpartition("/")[2]
    entry = _files.get(int(number)) if number.isdigit() else None
    if entry is None:
        raise FileNotFoundError(f"{path} stands for no file")
    return entry[1]
