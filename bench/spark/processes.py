"""The processor time of this process and its JVM."""

from __future__ import annotations

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


class Processes:
    """Reads what the system has counted for two processes, to a hundredth of a second."""

    def __init__(self, java: int) -> None:
        self._stats = [Path(f"/proc/{process}/stat") for process in (os.getpid(), java)]

    def cpu_seconds(self) -> float:
        """User and system time so far, all threads: tasks, garbage collection, compilation, and what capture does beside."""
        return sum(self._ticks(path) for path in self._stats) / _TICK

    @staticmethod
    def _ticks(path: Path) -> int:
        fields = path.read_text().rpartition(")")[2].split()  # after the command's name, which may hold anything
        return int(fields[11]) + int(fields[12])
