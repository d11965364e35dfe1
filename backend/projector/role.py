"""The projector's role: at most one process of a home has it.

A service and commands may use one home at the same time. The operating system holds the lock, so it ends with its process, however
that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Role(Protocol):
    """The right to project a log. One process has it. If replicas share the log, all have it together, or one has it exclusively."""

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
        """Take the role, if it is free. Returns whether this process holds it now. The role is always exclusive, even without `alone`."""
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
        if self._file is not None:
            os.close(self._file)
            self._file = None
