"""Which entries of the log a worker is at, in a file that outlives it.

For whoever must know what a worker was at when it ended without a word: for want of memory, by a fault of a library in C, or ended by
others because it never came to an end. A note is one small write to a file that stays open, so it costs two microseconds and is there
however the process ends. A note that cannot be written (the disk is full) is left out: projection goes on without it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LONGEST = 4096  # bytes of a note


@dataclass(frozen=True, slots=True)
class Stretch:
    """Entries of a tenant, from `first` to `last`. `writes`: they are being written to the graph; else one of them is being read."""

    tenant: str
    first: int
    last: int
    writes: bool = False


class AtWork:
    """The note of one worker."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._serial = 0
        self._is_closed = False

    def begin(self, stretch: Stretch) -> None:
        """Note what is begun now."""
        self._write([stretch.tenant, stretch.first, stretch.last, stretch.writes])

    def end(self) -> None:
        """Note that nothing is at work."""
        self._write([])

    def close(self) -> None:
        """Note that nothing is at work, for good: whoever ends now does not end for what he was at."""
        self.end()
        self._is_closed = True

    def _write(self, stated: list[object]) -> None:
        if self._is_closed:
            return
        self._serial += 1
        with suppress(OSError):
            os.pwrite(self._file, f"{json.dumps([os.getpid(), self._serial, *stated])}\n".encode()[:_LONGEST], 0)


@dataclass(frozen=True, slots=True)
class Note:
    """The last note in a file: which process wrote it, its number, which grows with each, and what that process is at."""

    process: int
    serial: int
    stretch: Stretch | None


def note_in(path: Path) -> Note | None:
    """The note in a file; None where there is none."""
    try:
        with path.open("rb") as file:
            process, serial, *stated = json.loads(file.read(_LONGEST).partition(b"\n")[0])
        return Note(process, serial, Stretch(*stated) if stated else None)
    except (OSError, ValueError, TypeError):
        return None


def left_in(path: Path) -> Stretch | None:
    """What the process was at that wrote the note in a file; None where it was at nothing."""
    note = note_in(path)
    return note.stretch if note is not None else None


class Patience:
    """How long the same entry may be read, as the note in a file says, before its worker is ended.

    Writing is not timed: where a graph store does not answer, no entry is at fault.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._note: Note | None = None
        self._since = 0.0

    def is_over(self, process: int, now: float) -> bool:
        """Whether a process has been at what it is at now for too long. Another one may have left its note there when it ended."""
        note = note_in(self._path)
        if note is None or note.process != process or note.stretch is None or note.stretch.writes or note != self._note:
            self._note, self._since = note, now
            return False
        return now - self._since > self._seconds
