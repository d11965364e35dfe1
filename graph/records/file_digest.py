"""Detects damage in a SQLite file, by the digest of its last written state.

The catalog uses it. SQLite does not detect a changed byte of a page, or an older copy of the file. The file changes only by checkpoints,
which are made here, one process at a time. After each checkpoint, the digest of the file is written next to it. The write-ahead log has
checksums of its own. A process that is killed in a checkpoint leaves no digest, and the file is then accepted unchecked. Files larger than
64 MB are not compared, because every start would wait for the comparison.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MOST_BYTES = 64 << 20  # hashing them takes a twentieth of a second
_Identity = tuple[int, int, int, int]


class FileAtRest:
    """The digest of a SQLite file's last checkpoint, and the checks against it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = path.with_name(f"{path.stem}.sha256")
        self._lock = path.with_name(f".{path.stem}.lock")
        self._sound: _Identity | None = None
        if not path.exists():
            self.forget()

    @property
    def log_bytes(self) -> int:
        """Return the size of the write-ahead log, which the next checkpoint copies into the file."""
        try:
            return self._path.with_name(f"{self._path.name}-wal").stat().st_size
        except FileNotFoundError:
            return 0

    def forget(self) -> None:
        """Delete the digest, so that the file is accepted unchecked."""
        with suppress(OSError):
            self._digest.unlink(missing_ok=True)

    def is_sound(self) -> bool:
        """Return whether the file equals its last written state. The file is read only if it has changed since the last check."""
        identity = self._identity()
        if identity is None or identity == self._sound:
            return True
        with self._locked(fcntl.LOCK_SH):
            identity = self._identity()
            try:
                stated_digest = self._digest.read_bytes()
            except OSError:
                return True  # there is no digest yet
            if identity is None or identity[1] > _MOST_BYTES or stated_digest == self._found():
                self._sound = identity
                return True
        return False

    @contextmanager
    def changing(self, *, made_anew: bool = False) -> Iterator[None]:
        """Lock the file while a checkpoint, or the end of the last connection, changes it. Then write its digest.

        A damaged file keeps its old digest, unless `made_anew` states that its content is new.
        """
        with self._locked(fcntl.LOCK_EX):
            if not made_anew and not self._is_as_stated():
                yield
                return
            self.forget()
            yield
            after = self._identity()
            if after is not None and after[1] <= _MOST_BYTES:
                with suppress(OSError):
                    draft = self._digest.with_suffix(".tmp")  # a killed process must not leave half a digest
                    draft.write_bytes(self._found())
                    draft.replace(self._digest)

    def _is_as_stated(self) -> bool:
        if self._identity() in (None, self._sound):
            return True
        try:
            return self._digest.read_bytes() == self._found()
        except OSError:
            return True

    def _found(self) -> bytes:
        with self._path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest().encode()

    def _identity(self) -> _Identity | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Lock the file among processes. In a folder that cannot be written, nobody changes the file, and there is no lock."""
        try:
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield
            return
        try:
            with suppress(OSError):
                fcntl.flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)
