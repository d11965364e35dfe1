"""Waits until the machine is idle, and measures its load.

A server continues to work after it has answered a write: it deletes, checkpoints, compiles. On a machine of two cores this would take half
of the time of the next arm.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")  # on other systems than Linux, there is no wait
_IDLE, _WAITING = 3, 4  # columns of a processor's line
_SECONDS = 0.1
_TICK = os.sysconf("SC_CLK_TCK")


def rest(most: float = 2.0) -> float:
    """Sleep until the machine is idle for a tenth of a second (at most one tick on all processors), or for `most` seconds.

    Returns the time.
    """
    began = time.monotonic()
    while _STAT.exists() and time.monotonic() - began < most:
        before = _used()
        time.sleep(_SECONDS)
        if _used() - before <= 1:
            break
    return time.monotonic() - began


def machine_seconds() -> float:
    """Return the processor time that the whole machine has used so far, or 0 if the system does not report it."""
    return _used() / _TICK if _STAT.exists() else 0.0


def busy(seconds: float = 1.0) -> float:
    """Return the share of the machine's processors in use during a sleep, or 0 if the system does not report it."""
    before, began = machine_seconds(), time.monotonic()
    time.sleep(seconds)
    return (machine_seconds() - before) / (time.monotonic() - began) / (os.cpu_count() or 1)


def _used() -> int:
    """Return the ticks of all processors, without idle ticks."""
    line = _STAT.read_text(encoding="ascii").partition("\n")[0].split()[1:9]
    return sum(int(ticks) for column, ticks in enumerate(line) if column not in (_IDLE, _WAITING))
