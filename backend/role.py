"""The projector's role: one process of a home has it at a time.

For a service and commands that use one home at once. The lock is the operating system's, so it ends with its process, however
that ends.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class ProjectorRole:
    """The right to project one home's log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def taken(self) -> bool:
        return self._file is not None

    def take(self) -> bool:
        """Take the role, if nobody has it; True if it is held now."""
        if self._file is not None:
            return True
        file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Give the role back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
