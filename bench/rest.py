"""Waits until the machine has nothing to do, so that what one arm left behind is not measured as the next one's time.

A server that was written to goes on working after it has answered: it deletes, checkpoints, compiles. On a machine of two cores that is
half of what the arm measured next would have.
"""

from __future__ import annotations

import time
from pathlib import Path

_STAT = Path("/proc/stat")  # elsewhere than on Linux nobody waits
_IDLE, _WAITING = 3, 4  # columns of a processor's line
_SECONDS = 0.1


def rest(most: float = 2.0) -> float:
    """Sleep until at most a tick of a tenth of a second was used on all processors together, or `most` seconds; the seconds slept."""
    began = time.monotonic()
    while _STAT.exists() and time.monotonic() - began < most:
        before = _used()
        time.sleep(_SECONDS)
        if _used() - before <= 1:
            break
    return time.monotonic() - began


def _used() -> int:
    """Ticks of all processors, but those in which one was idle."""
    line = _STAT.read_text(encoding="ascii").partition("\n")[0].split()[1:9]
    return sum(int(ticks) for column, ticks in enumerate(line) if column not in (_IDLE, _WAITING))
