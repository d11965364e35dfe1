"""A file to read records from: on this machine, or on remote storage. Readers of formats use only this interface."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Hashable
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Protocol

from headwater.errors import SourceUnavailableError
from headwater.graph.storage.addresses import Address
from headwater.graph.storage.duck_names import name_of
from headwater.graph.storage.open_files import Identity, OpenedFiles
from headwater.graph.storage.protocol import Stat

_PATTERN = re.compile(r"[\[\]*?]")
_STEP = 64 << 20  # bytes of a file that are fetched at a time
_MOST_COPIED = 32 << 20  # bytes of a local file that is copied to memory rather than mapped
_MOST_WHOLE = 8 << 30  # bytes of a file that is fetched completely


class StoredFile(Protocol):
    """A file in one state that is not open yet."""

    @property
    def name(self) -> str:
        """Return the last part of the path, for its suffix and for messages."""
        ...

    @property
    def identity(self) -> Hashable:
        """Return the identity of the file's state. Readers cache facts about a file by it."""
        ...

    @property
    def scan(self) -> str:
        """Return the name with which DuckDB reads this file in this state. Raises as `content` does."""
        ...

    @property
    def name_in_answers(self) -> str:
        """Return the name of the file in DuckDB's results."""
        ...

    def content(self) -> mmap | bytes:
        """Return all bytes of the file, mapped.

        Raises:
            OSError: the file cannot be read.
            SourceChangedError: another file has taken its place.
            SourceUnavailableError: the store does not return it.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of this machine in one state, by its path without links. A file that takes its place is never read."""

    path: Path
    identity: Identity
    opened: OpenedFiles = field(repr=False, compare=False)

    @classmethod
    def now(cls, path: Path, opened: OpenedFiles) -> LocalFile:
        """Return the file at a path without links, in its present state. Raises `OSError`."""
        return cls(path, Identity.of(path.stat(follow_symlinks=False)), opened)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def scan(self) -> str:
        return self.opened.name(self.path, self.identity)

    @property
    def name_in_answers(self) -> str:
        return self.scan

    @property
    def descriptor(self) -> int:
        """Return an open descriptor of the file. The caller must not close it. Raises as `content` does."""
        return self.opened.descriptor(self.path, self.identity)

    def content(self) -> mmap | bytes:
        descriptor, length = self.descriptor, self.identity.length
        if length > _MOST_COPIED:
            return mmap(descriptor, length, access=ACCESS_READ)
        return os.pread(descriptor, length, 0)  # a map would end the process if the file is truncated


class RangeReader(Protocol):
    """Reads ranges of remote files. `remote.Remote` does so; its module imports this one."""

    def read(self, file: RemoteFile, offset: int, length: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of remote storage in one state. `read` never returns bytes of a file that took its place."""

    remote: RangeReader
    uri: str
    address: Address
    stat: Stat

    @property
    def name(self) -> str:
        return self.address.path.rpartition("/")[2]

    @property
    def identity(self) -> Hashable:
        return self.address, self.stat

    @property
    def scan(self) -> str:
        return name_of(self, (id(self.remote), self.address, self.stat))

    @property
    def name_in_answers(self) -> str:
        return self.scan

    @property
    def is_pinned(self) -> bool:
        """Return whether the store returns only bytes of this state, by its ETag."""
        return self.stat.tag is not None

    def read(self, offset: int, length: int) -> bytes:
        return self.remote.read(self, offset, length)

    def content(self) -> mmap | bytes:
        if not self.stat.length:
            return b""
        if self.stat.length > _MOST_WHOLE:
            raise SourceUnavailableError(f"{self.uri} is too large to be read whole: {self.stat.length} bytes.", transient=False)
        with tempfile.TemporaryFile(prefix="headwater-") as copy:
            for offset in range(0, self.stat.length, _STEP):
                copy.write(self.read(offset, _STEP))
            copy.flush()
            return mmap(copy.fileno(), 0, access=ACCESS_READ)


def exactly(path: Path) -> str:
    """Return a path for DuckDB. `[`, `*` and `?` are escaped, because DuckDB would read them as a pattern."""
    return _PATTERN.sub(r"[\g<0>]", str(path))
