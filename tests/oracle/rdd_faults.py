"""Faults of tasks of RDD programs, each once, at the first record that comes along. Runs in workers: shipped by value."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

FAULTS = ("retry", "killed worker", "killed executor")
OVERTAKEN = "overtaken"
LOST = "lost shuffle files"
_SLOW = 30  # seconds: a task that is overtaken is killed before


class Fault:
    """Passes records on. Once, as `marker` decides, it fails in its way after `late` records of a task."""

    def __init__(self, kind: str, marker: Path, late: int = 0) -> None:
        self._kind, self._marker, self._late = kind, str(marker), late
        self._seen = 0

    def __call__(self, record: Any) -> Any:
        self._seen += 1
        if self._seen > self._late and self._is_first():
            if self._kind == "retry":
                raise RuntimeError("once")
            if self._kind == OVERTAKEN:
                time.sleep(_SLOW)
                return record
            daemon = os.getppid()
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
            os.kill(os.getpid() if self._kind == "killed worker" else executor, signal.SIGKILL)
            time.sleep(1)
            raise RuntimeError("its executor is gone")
        return record

    def _is_first(self) -> bool:
        try:
            os.close(os.open(self._marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def lose_shuffles(folder: Path) -> int:
    """Take away what all executors below their folder have shuffled; how many files that was."""
    files = [path for path in folder.rglob("shuffle_*") if path.is_file()]
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)
