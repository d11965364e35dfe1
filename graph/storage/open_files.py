"""Local files, opened by paths without links, and identified by their descriptors.

All readers of sources use it. A path is checked first and read later, and anybody who may write to its folder can put a link or another
file there in between. So a file is opened from the root of the file system on, one folder after the other, and no link is followed. The
opened file must be the checked file. From then on the descriptor is read, never the path.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import stat
import threading
import weakref
from pathlib import Path
from typing import NamedTuple

from headwater.errors import SourceChangedError, UnsupportedError

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # opening a pipe would wait for a writer
_PUT = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO})  # errors for a link, for a path that is no folder, and for a socket
_DESCRIPTORS = "/proc/self/fd" if Path("/proc/self/fd").is_dir() else "/dev/fd"
_NAME = re.compile(rf"{_DESCRIPTORS}/\d+")
_FREE = 0.75  # share of the descriptors of a process beyond which it asks for more


class Identity(NamedTuple):
    """The identity of one state of a local file. `modified` is in nanoseconds since the epoch."""

    device: int
    inode: int
    length: int
    modified: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Return the identity of the file with this status."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def read_small_file(path: Path, most: int) -> bytes:
    """Return the contents of a regular file that an operator named. Links are followed.

    Raises:
        OSError: the file cannot be read, is not a regular file, or has more than `most` bytes.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # opening a pipe would wait for a writer
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if len(data := file.read(most + 1)) > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def open_resolved(path: Path) -> int:
    """Open the regular file at an absolute path that contains no link.

    Raises:
        OSError: the file cannot be opened, is not a regular file, or a part of its path is a link.
    """
    *folders, name = path.parts[1:]
    holding = os.open("/", _FOLDER)
    try:
        for folder in folders:
            folder_descriptor = _open(folder, _FOLDER, holding, path)
            os.close(holding)
            holding = folder_descriptor
        descriptor = _open(name, _FILE, holding, path)
    finally:
        os.close(holding)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is no file, or was replaced while it was opened", str(path))


class OpenedFiles:
    """The descriptors of the files that one reader opened. They stay open until `close`, because their names may be in use."""

    def __init__(self) -> None:
        self._descriptors: dict[tuple[Path, Identity], int] = {}
        self._excused: set[Path] = set()
        self._lock = threading.Lock()
        self._is_closed = False
        self._end = weakref.finalize(self, _close, self._descriptors)

    def descriptor(self, path: Path, identity: Identity) -> int:
        """Return a descriptor of the file in the state `identity`.

        Raises:
            SourceChangedError: another file has taken its place.
            OSError: the file cannot be opened.
        """
        with self._lock:
            if self._is_closed:  # an abandoned thread may still read, and the number of a descriptor may then be another file's
                raise SourceChangedError(f"{path} is not open any more: the question has ended.")
            if (path, identity) not in self._descriptors:
                self._descriptors[path, identity] = _open_same(path, identity)
            return self._descriptors[path, identity]

    def name(self, path: Path, identity: Identity) -> str:
        """Return a path that leads to the open file and to no other, for libraries that open paths. Raises as `descriptor` does."""
        return f"{_DESCRIPTORS}/{self.descriptor(path, identity)}"

    def close(self) -> None:
        """Close all files. Later calls of `descriptor` raise."""
        with self._lock:
            self._is_closed = True
            self._end()

    def excuse(self, path: Path) -> None:
        """Exclude a file from `check`, because the answer already reports that it changed."""
        self._excused.add(path)

    def check(self) -> None:
        """Check that no file was written while it was read.

        Raises:
            SourceChangedError: a file was written.
        """
        with self._lock:
            for (path, identity), descriptor in self._descriptors.items():
                if path not in self._excused and Identity.of(os.fstat(descriptor)) != identity:
                    raise SourceChangedError(f"{path} changed while it was read.", hint="Ask again when nothing writes to it.")


def spell_descriptors(text: str) -> str:
    """Return a message with paths in place of the descriptors of open files."""
    return _NAME.sub(_spelt, text)


def _spelt(match: re.Match[str]) -> str:
    try:
        return str(Path(match[0]).readlink())
    except OSError:
        return match[0]


def _open_same(path: Path, identity: Identity) -> int:
    try:
        descriptor = open_resolved(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EINVAL):
            raise _replaced(path) from None
        raise
    if Identity.of(os.fstat(descriptor)) == identity:
        return descriptor
    os.close(descriptor)
    raise _replaced(path)


def _replaced(path: Path) -> SourceChangedError:
    return SourceChangedError(f"{path} was replaced between the look at it and its reading.", hint="Ask again when nothing writes to it.")


def _open(name: str, flags: int, holding: int, path: Path) -> int:
    try:
        descriptor = os.open(name, flags, dir_fd=holding)
    except OSError as error:
        if error.errno != errno.EMFILE:
            cause = ": a link, or what is no file, was put into its path" if error.errno in _PUT else ""
            raise OSError(error.errno, f"{error.strerror}{cause}", str(path)) from None
        if not _allow_more():
            raise UnsupportedError(
                f"This question reads more files at once than the process may open: {resource.getrlimit(resource.RLIMIT_NOFILE)[1]}.",
                hint="Raise the limit of open files (ulimit -Hn), or ask about fewer files.",
            ) from None
        return _open(name, flags, holding, path)
    if descriptor > resource.getrlimit(resource.RLIMIT_NOFILE)[0] * _FREE:
        _allow_more()  # leaves descriptors for the rest of the process
    return descriptor


def _allow_more() -> bool:
    """Raise the process's limit of open files to its hard limit. Return false if it is there already."""
    soft, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard_limit == resource.RLIM_INFINITY:
        hard_limit = max(soft, 1 << 20)
    if soft >= hard_limit:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return True


def _close(descriptors: dict[tuple[Path, Identity], int]) -> None:
    while descriptors:
        os.close(descriptors.popitem()[1])
