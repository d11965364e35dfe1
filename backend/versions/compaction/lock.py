"""The lock of a compaction's folder. The programs of a compaction inherit it, so it shows whether one of them still runs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hold(place: Path) -> int:
    holding = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(holding, fcntl.LOCK_EX)
    return holding


@contextmanager
def free(place: Path) -> Iterator[bool]:
    """Hold the lock of a compaction's folder. Yields False if the compaction or its program still runs."""
    holding = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(holding, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(holding)
