"""Waits until the machine does nothing else, and measures what it did.

A server goes on working after it has answered a write: it deletes, checkpoints, compiles. On a machine of two cores this takes half of
the time of the next arm.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")  # elsewhere than on Linux nobody waits
_IDLE, _WAITING = 3, 4  # columns of a processor's line
_SECONDS = 0.1
_TICK = os.sysconf("SC_CLK_TCK")


def rest(most: float = 2.0) -> float:
    """Sleep until at most a tick of a tenth of a second was used on all processors together, or `most` seconds; the seconds slept."""
    began = time.monotonic()
    while _STAT.exists() and time.monotonic() - began < most:
        before = _used()
        time.sleep(_SECONDS)
        if _used() - before <= 1:
            break
    return time.monotonic() - began


def machine_seconds() -> float:
    """The processor time that everything on this machine has used so far; 0 where the system does not tell."""
    return _used() / _TICK if _STAT.exists() else 0.0


def busy(seconds: float = 1.0) -> float:
    """The share of the machine's processors that is in use while this sleeps; 0 where the system does not tell."""
    before, began = machine_seconds(), time.monotonic()
    time.sleep(seconds)
    return (machine_seconds() - before) / (time.monotonic() - began) / (os.cpu_count() or 1)


def _used() -> int:
    """Ticks of all processors, but those in which one was idle."""
    line = _STAT.read_text(encoding="ascii").partition("\n")[0].split()[1:9]
    return sum(int(ticks) for column, ticks in enumerate(line) if column not in (_IDLE, _WAITING))
