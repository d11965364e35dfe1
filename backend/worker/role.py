"""The projector's role: one process of a home has it at a time.

For a service and commands that use one home at once. The lock is the operating system's, so it ends with its process, however
that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Role(Protocol):
    """The right to project a log: of one process, or, where replicas share the log, of all that do not ask to be alone."""

    differences: Sequence[str]
    """What this replica has otherwise than others of the same log."""

    @property
    def taken(self) -> bool: ...

    def take(self, *, alone: bool = False) -> bool: ...

    def release(self) -> None: ...


class ProjectorRole:
    """The right to project one home's log."""

    def __init__(self, path: Path) -> None:
        self.differences: Sequence[str] = ()
        self._path = path
        self._file: int | None = None

    @property
    def taken(self) -> bool:
        return self._file is not None

    def take(self, *, alone: bool = False) -> bool:
        """Take the role, if nobody has it; True if it is held now. Whoever has it is always alone, also where that is not asked for."""
        del alone
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
