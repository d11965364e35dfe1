"""Faults of tasks of RDD programs, each once, at the first record that comes along. Runs in workers: shipped by value."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

FAULTS = ("retry", "killed worker", "killed executor")


class Fault:
    """Passes records on, and once, as `marker` tells, does what its kind says after `late` records of a task."""

    def __init__(self, kind: str, marker: Path, late: int = 0) -> None:
        self._kind, self._marker, self._late = kind, str(marker), late
        self._seen = 0

    def __call__(self, record: Any) -> Any:
        self._seen += 1
        if self._seen > self._late and self._is_first():
            if self._kind == "retry":
                raise RuntimeError("once")
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
