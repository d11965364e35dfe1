"""A file to read records from: of this machine, or of remote storage. Readers of formats know no other."""

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
_STEP = 64 << 20  # bytes of a file that are brought here at a time
_MOST_COPIED = 32 << 20  # bytes of a local file that is copied to memory rather than mapped
_MOST_WHOLE = 8 << 30  # bytes of a file that is brought here whole


class StoredFile(Protocol):
    """A file that is not open yet."""

    @property
    def name(self) -> str:
        """Its last part, for its suffix and for messages."""
        ...

    @property
    def identity(self) -> Hashable:
        """The identity of what was looked at: readers remember what they know of a file by it."""
        ...

    @property
    def scan(self) -> str:
        """The name for DuckDB to read this very file. Raises as `content` does."""
        ...

    @property
    def name_in_answers(self) -> str:
        """DuckDB's name of the file in results."""
        ...

    def content(self) -> mmap | bytes:
        """All of its bytes, mapped.

        Raises:
            OSError: it cannot be read.
            SourceChangedError: another file has taken its place.
            SourceUnavailableError: its store does not give it.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of this machine as it was looked at, by its path without links. Only this very file is ever read."""

    path: Path
    identity: Identity
    opened: OpenedFiles = field(repr=False, compare=False)

    @classmethod
    def now(cls, path: Path, opened: OpenedFiles) -> LocalFile:
        """The file at a path without links, as it is now. Raises `OSError`."""
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
        """An open descriptor of the file, which is not the caller's to close. Raises as `content` does."""
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
    """A file of remote storage as it was looked at: `read` gives its bytes, and never those of a file that took its place."""

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
        """Whether its store gives bytes of this very content alone."""
        return self.stat.tag is not None

    def read(self, offset: int, length: int) -> bytes:
        """Some of its bytes. Raises as `content` does."""
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
    """A path for DuckDB, which would take `[`, `*` and `?` in it for a pattern, and read other files."""
    return _PATTERN.sub(r"[\g<0>]", str(path))
