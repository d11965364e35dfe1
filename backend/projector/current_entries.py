"""A file that names the log entries that a worker is processing, and outlives the worker.

If a worker ends silently (out of memory, by a fault of a C library, or terminated because it hung), the file shows the entries to
examine. A note is one small write to a file that stays open. It takes two microseconds, and survives any end of the process. If a note
cannot be written (full disk), it is left out, and projection continues.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

_LONGEST = 4096  # bytes per note
_CHECK = 9  # bytes of the checksum before the note


@dataclass(frozen=True, slots=True)
class Stretch:
    """The entries of a tenant from `first` to `last`. `writes` is true while they are written to the graph, and false while one is read."""

    tenant: str
    first: int
    last: int
    writes: bool = False


class AtWork:
    """The note file of one worker."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._serial = 0
        self._is_closed = False

    def begin(self, stretch: Stretch) -> None:
        self._write([stretch.tenant, stretch.first, stretch.last, stretch.writes])

    def end(self) -> None:
        self._write([])

    def close(self) -> None:
        """Record for the last time that no entry is being processed, so that a later crash blames none."""
        self.end()
        self._is_closed = True

    def _write(self, stated: list[object]) -> None:
        if self._is_closed:
            return
        self._serial += 1
        with suppress(OSError):
            os.pwrite(self._file, _line([os.getpid(), self._serial, *stated])[:_LONGEST], 0)


def _line(content: list[object]) -> bytes:
    text = json.dumps(content).encode()
    return b"%08x %s\n" % (crc32(text), text)


@dataclass(frozen=True, slots=True)
class Note:
    """The last note in a file: the process that wrote it, an increasing number, and the entries that the process is processing."""

    process: int
    serial: int
    stretch: Stretch | None


def note_in(path: Path) -> Note | None:
    try:
        with path.open("rb") as file:
            line = file.read(_LONGEST).partition(b"\n")[0] + b"\n"
        process, serial, *stated = content = json.loads(line[_CHECK:])
        if line != _line(content):
            return None  # a damaged note must not blame another entry
        return Note(process, serial, Stretch(*stated) if stated else None)
    except (OSError, ValueError, TypeError):
        return None


def left_in(path: Path) -> Stretch | None:
    """Return the entries that the writer of a note was processing, or None."""
    note = note_in(path)
    return note.stretch if note is not None else None


class Patience:
    """Limits the time for reading one entry, from the notes in a file.

    Writing has no limit, because a slow store is not the entry's fault.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._note: Note | None = None
        self._since = 0.0

    def is_over(self, process: int, now: float) -> bool:
        """Whether a process has read the same entry for too long. Notes of earlier processes are ignored."""
        note = note_in(self._path)
        if note is None or note.process != process or note.stretch is None or note.stretch.writes or note != self._note:
            self._note, self._since = note, now
            return False
        return now - self._since > self._seconds
