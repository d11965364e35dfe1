"""The current file of an audit log. Lines are appended as a whole, each with its link, by any process."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.backend.audit.chain import digest, last_digest, linked

_LOCK_SECONDS = 2.0  # time that a writer waits for another writer
_LOCK_PAUSE = 0.002


class WrittenFile:
    """Appends to one file, mode 0600. Not thread-safe; other processes may append to the same file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        status = os.fstat(self._file)
        self._is_regular = stat.S_ISREG(status.st_mode)
        if self._is_regular and status.st_mode & 0o077:
            os.fchmod(self._file, 0o600)
        self._end = -1  # size after the last write here; another size shows that another process wrote
        self._before: str | None = None
        self._is_torn = False

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def append(self, line: bytes) -> bool:
        """Append a JSON object, given without an end of line, with its link to the previous line.

        Returns False and writes nothing if another process renamed this file, so that the path names a new file.

        Raises:
            OSError: the disk is full, or another process holds the file. The next line's link covers a partial line.
        """
        with self._locked():
            if not self._is_current():
                return False
            if self._is_regular and (end := self.size) != self._end:
                self._is_torn = end > 0 and os.pread(self._file, 1, end - 1) != b"\n"
                self._before = last_digest(self._path)
            whole = linked(line, self._before)
            self._end = -1
            _write(self._file, (b"\n" if self._is_torn else b"") + whole + b"\n")
            self._is_torn = False
            self._before = digest(whole)
            if self._is_regular:
                self._end = self.size
            return True

    def put_aside(self, name: Path) -> None:
        """Rename the file under the lock of its writers.

        Raises:
            OSError: the file cannot be renamed, or another process holds it.
        """
        with self._locked():
            if self._is_current():
                self._path.rename(name)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            return False

    def sync(self) -> None:
        os.fdatasync(self._file)

    def close(self) -> None:
        os.close(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise OSError(errno.EAGAIN, "another process holds it") from None
                time.sleep(_LOCK_PAUSE)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def _write(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]  # after a partial write, the second call raises the error
