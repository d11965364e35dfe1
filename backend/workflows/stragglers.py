"""Processes that a task's program left behind.

A program may start a process that lives longer than the program and still writes. The block must not be committed before that process has
ended. A process inherits the environment of its program, so a variable that names the run identifies it. A process without the
variable is found as long as it has a file of the shadow open for writing. Only Linux shows both; elsewhere nothing is found.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

RUN_VARIABLE = "HEADWATER_WORKFLOW_RUN"  # the id of the run, in the environment of its program and of all processes that it starts
PATIENCE = 30.0  # seconds; the JVM of PySpark needs a moment to end after its program
_FIRST_POLL, _LONGEST_POLL = 0.01, 0.5


def find_stragglers(run: str, shadow: Path) -> list[int]:
    """Return the processes of a run, and other processes of this user that write to its shadow."""
    return [process for process in _processes() if is_of_run(process, run) or _writes_in(process, str(shadow))]


def is_of_run(process: int, run: str) -> bool:
    """Whether the program of a run started a process, directly or not."""
    with suppress(OSError):  # the process has ended, or is another user's
        return f"{RUN_VARIABLE}={run}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return False


def wait_for_stragglers(run: str, shadow: Path, patience: float = PATIENCE) -> list[int]:
    """Wait until the processes of a run have ended, and return those that have not."""
    deadline, pause = time.monotonic() + patience, _FIRST_POLL
    while (found := find_stragglers(run, shadow)) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_POLL)
    return found


def name_of(process: int) -> str:
    """Return the command of a process in a form for messages."""
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        return f"{' '.join(words).strip()[:100]} (process {process})"
    return f"process {process}"


def _processes() -> Iterator[int]:
    own = os.getpid()
    with suppress(OSError):
        yield from (int(place.name) for place in Path("/proc").iterdir() if place.name.isdecimal() and int(place.name) != own)


def _writes_in(process: int, folder: str) -> bool:
    place = Path(f"/proc/{process}")
    with suppress(OSError):
        for file in (place / "fd").iterdir():
            with suppress(OSError):
                if f"{file.readlink()}/".startswith(f"{folder}/") and _is_for_writing(place / "fdinfo" / file.name):
                    return True
    return False


def _is_for_writing(description: Path) -> bool:
    lines = description.read_text(encoding="ascii", errors="replace").splitlines()
    flags = next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), 0)
    return bool(flags & (os.O_WRONLY | os.O_RDWR))
