"""A file to read records from: of this machine, or of remote storage. Readers of formats know no other."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headwater.errors import SourceUnavailableError
from headwater.graph.storage.addresses import Address
from headwater.graph.storage.protocol import Stat

if TYPE_CHECKING:
    from headwater.graph.storage.remote import Remote

_PATTERN = re.compile(r"[\[\]*?]")
_STEP = 64 << 20  # bytes of a file that are brought here at a time
_MOST_WHOLE = 8 << 30  # bytes of a file that is brought here whole


class StoredFile(Protocol):
    """A file, of which nothing is opened yet."""

    @property
    def name(self) -> str:
        """Its last part, for its suffix and for messages."""
        ...

    @property
    def scan(self) -> str:
        """What DuckDB is given to read this very file."""
        ...

    @property
    def name_in_answers(self) -> str:
        """What DuckDB then calls it."""
        ...

    def content(self) -> mmap | bytes:
        """All of its bytes, mapped.

        Raises:
            OSError: it cannot be read.
            SourceUnavailableError: its store does not give it.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of this machine, by its path without links."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def scan(self) -> str:
        return exactly(self.path)

    @property
    def name_in_answers(self) -> str:
        return str(self.path)

    def content(self) -> mmap | bytes:
        with os.fdopen(open_resolved(self.path), "rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ) if os.fstat(file.fileno()).st_size else b""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of remote storage as it was looked at: `read` gives its bytes, and never those of a file that took its place."""

    remote: Remote
    uri: str
    address: Address
    stat: Stat

    @property
    def name(self) -> str:
        return self.address.path.rpartition("/")[2]

    @property
    def scan(self) -> str:
        from headwater.graph.storage.duck import name_of

        return name_of(self)

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


def open_resolved(path: Path) -> int:
    """Open a file at a path without links, as a look at the data roots gave it; the descriptor is of the very file, or there is none.

    Raises:
        OSError: it cannot be opened, is no file, or a link has taken the place of a part of its path since.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would wait for a writer
    status = os.fstat(descriptor)
    same = os.path.realpath(path) == str(path) and os.path.samestat(status, path.stat(follow_symlinks=False))
    if same and stat.S_ISREG(status.st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{path} is no file, or was replaced while it was opened")
