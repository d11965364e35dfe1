"""Measures the processor time of a process and its descendants: the JVM of a driver, the Python workers of its tasks, a delivery."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_LOOKS = 4  # limit of repetitions
COMPILATION = "compilation"
# Parts of the work of a JVM with Spark, by the first letters of the names of their threads. Linux cuts a name to 15 characters.
_PARTS = {
    "C1 CompilerThre": COMPILATION,
    "C2 CompilerThre": COMPILATION,
    "Executor task l": "tasks",
    "Thread-": "the query's thread",
    "spark-listener-": "listener bus",
    "dag-scheduler-e": "scheduler",
    "dispatcher-": "scheduler",
    "task-result-get": "scheduler",
    "GC Thread": "garbage collection",
    "G1 ": "garbage collection",
    "VM Thread": "garbage collection",
}
_PARENT, _USER, _REAPED_USER = 1, 11, 13  # indexes in a process's `stat`, after its name


Threads = Mapping[str, tuple[str, float]]  # by the id of a thread: the part of its work, and its seconds


def thread_seconds(process: int) -> Threads:
    """Return the processor time so far of threads of a JVM with Spark. `added_seconds` compares two of these.

    Raises:
        RuntimeError: there is no thread that compiles.
    """
    found: dict[str, tuple[str, float]] = {}
    for thread in Path(f"/proc/{process}/task").iterdir():
        try:
            name = (thread / "comm").read_text(encoding="utf-8", errors="replace").strip()
            part = next((part for begin, part in _PARTS.items() if name.startswith(begin)), None)
            if part is not None:
                found[thread.name] = part, int((thread / "schedstat").read_text(encoding="utf-8").split()[0]) / 1e9
        except OSError:
            continue  # another thread, which ended meanwhile
    if all(part != COMPILATION for part, _ in found.values()):
        raise RuntimeError(f"process {process} has no thread that compiles")
    return found


def added_seconds(before: Threads, after: Threads) -> dict[str, float]:
    """Return the processor time between two looks, by parts. A thread that ended meanwhile adds nothing."""
    added = dict.fromkeys(_PARTS.values(), 0.0)
    for thread, (part, seconds) in after.items():
        known, earlier = before.get(thread, (part, 0.0))
        added[part] += seconds - (earlier if known == part else 0.0)  # the id of an ended thread may be used again
    return added


class ProcessTree:
    """A process with its present descendants."""

    def __init__(self, root: int | None = None) -> None:
        self._root = os.getpid() if root is None else root
        self._last = 0.0

    def cpu_seconds(self) -> float:
        """Return user and system time so far, of all threads: tasks, garbage collection, compilation, and background work of capture.

        Descendants that ended count from when their parent has waited for them, in hundredths of a second. A descendant that ends during
        the measurement may be missed. The sum is then less than the last one, and is measured again.
        """
        seconds = self._sum()
        for _ in range(_LOOKS):
            if seconds >= self._last:
                break
            seconds = self._sum()
        self._last = max(self._last, seconds)
        return seconds

    def _sum(self) -> float:
        parents: dict[int, list[int]] = {}
        stats: dict[int, list[str]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()  # a name may contain anything
            except OSError:
                continue  # the process ended meanwhile
            process = int(path.parent.name)
            stats[process] = fields
            parents.setdefault(int(fields[_PARENT]), []).append(process)
        seconds, open_ = 0.0, [self._root]
        while open_:
            process = open_.pop()
            if process in stats:
                seconds += _own_seconds(process, stats[process]) + _ticks(stats[process], _REAPED_USER)
            open_ += parents.get(process, ())
        return seconds


def _own_seconds(process: int, fields: list[str]) -> float:
    """Return the time in nanosecond resolution, from the clock that Linux has for each process (clock_getcpuclockid)."""
    try:
        return time.clock_gettime((~process << 3) | 2)
    except OSError:
        return _ticks(fields, _USER)  # the process has ended, but its parent has not waited for it


def _ticks(fields: list[str], at: int) -> float:
    return (int(fields[at]) + int(fields[at + 1])) / _TICK
