"""Events from a growing file of JSON lines. Each line is an event or an array of events.

    path = "/var/log/lineage/events.jsonl"

A line counts once its end is written. A file that is renamed within its folder (by log rotation) is read to its end before the new file. A
truncated file is read from its beginning. The log stores the position up to which lines are durable, with a digest of the beginning of the
file, so that another file at the same path is recognised.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import socket
import stat
import time
from pathlib import Path
from typing import BinaryIO

from headwater.backend.intakes.protocol import IntakeSettings, Surroundings
from headwater.backend.intakes.settings import require_known, text_of
from headwater.errors import ConfigurationError, UnavailableError

_WAIT = 0.2  # seconds
_BYTES = 1 << 20  # bytes to read at once, unless a line is longer
_AT_ONCE = 256  # limit of lines to submit together
_GRACE = 5.0  # seconds for which a renamed file may still grow
_HEAD = 4096  # bytes at the beginning that identify a file


class FileIntake:
    """An intake for one file (see the module's docstring). The file belongs to one machine, so progress is recorded by host name."""

    def __init__(self, settings: IntakeSettings) -> None:
        require_known(settings, {"path"})
        self._path = Path(text_of(settings, "path"))
        if not self._path.is_absolute():
            raise ConfigurationError(f"The path of intake {settings.name} is no whole path: begin with /.")
        self.name = settings.name
        self.tenant = settings.tenant
        self._source = f"file:{socket.gethostname()}"
        self._at = 0

    def run(self, around: Surroundings) -> None:
        while not around.stopping.is_set():
            noted = json.loads(around.log.marks(self._source).get(str(self._path), "{}"))
            found = self._left_behind(noted) or self._path
            try:
                file = _opened(found)
            except FileNotFoundError:
                around.stopping.wait(_WAIT)
                continue
            except OSError as error:
                raise UnavailableError(f"The file of intake {self.name} cannot be read: {error.strerror}.") from None
            with file:
                self._read(file, noted, around, is_old=found != self._path)

    def lag(self) -> int | None:
        try:
            return max(0, self._path.stat().st_size - self._at)
        except OSError:
            return None

    def _left_behind(self, noted: dict[str, object]) -> Path | None:
        """Return the last file, if it was renamed before it was read to its end."""
        if not noted or noted.get("ended"):
            return None
        for path in sorted(self._path.parent.glob(f"{glob.escape(self._path.name)}*")):
            if path != self._path and path.is_file() and not path.is_symlink() and path.stat().st_ino == noted["inode"]:
                with _opened(path) as file:
                    return path if _is_the_one(file, noted) else None
        return None

    def _read(self, file: BinaryIO, noted: dict[str, object], around: Surroundings, *, is_old: bool) -> None:
        """Read a file until the next file must be read."""
        self._at = int(str(noted["offset"])) if noted and _is_the_one(file, noted) else 0
        skipping, quiet_since = False, time.monotonic()
        while not around.stopping.is_set():
            file.seek(self._at)
            content = file.read(_BYTES)
            if len(content) == _BYTES and b"\n" not in content:
                content += file.read(max(0, around.door.longest + 1 - _BYTES))
            if (end := content.rfind(b"\n") + 1) == 0 and len(content) > around.door.longest:
                # A longer line is never read. It is reported once and skipped.
                if not skipping and not around.door.refuse(content[:_BYTES], f"A line has more than {around.door.longest:,} bytes."):
                    return
                skipping, end = True, len(content)
                self._note(file, end, around)
                continue
            if end == 0:
                is_quiet = time.monotonic() - quiet_since > _GRACE
                if self._has_ended(file, content, around, is_old=is_old, is_quiet=is_quiet):
                    return
                around.stopping.wait(_WAIT)
                continue
            if not self._take(file, content[:end].split(b"\n")[:-1], around, first=1 if skipping else 0):
                return
            skipping, quiet_since = False, time.monotonic()

    def _take(self, file: BinaryIO, lines: list[bytes], around: Surroundings, *, first: int) -> bool:
        """Submit lines from number `first` on, and record all of them as read. Returns False if the service stops."""
        for begin in range(0, len(lines), _AT_ONCE):
            group = lines[begin : begin + _AT_ONCE]
            if not around.door.take([line for line in group[first if begin == 0 else 0 :] if line.strip()]):
                return False
            self._note(file, sum(map(len, group)) + len(group), around)
        return True

    def _has_ended(self, file: BinaryIO, rest: bytes, around: Surroundings, *, is_old: bool, is_quiet: bool) -> bool:
        """Whether reading of a file must end, because it was truncated or another file replaced it."""
        status = os.fstat(file.fileno())
        if status.st_size < self._at:
            self._at = 0
            around.log.mark(self._source, str(self._path), "{}").result()
            return True
        try:
            is_there = os.path.samestat(status, self._path.stat())
        except OSError:
            is_there = True  # the new file does not exist yet
        if (is_there and not is_old) or not is_quiet:
            return False
        if rest and not around.door.take([rest]):  # a last line without an end counts, because nobody will append to this file
            return True
        self._note(file, len(rest), around, ended=True)
        return True

    def _note(self, file: BinaryIO, read: int, around: Surroundings, *, ended: bool = False) -> None:
        self._at += read
        head = min(self._at, _HEAD)
        state = {"inode": os.fstat(file.fileno()).st_ino, "offset": self._at, "head": head, "digest": _digest(file, head), "ended": ended}
        around.log.mark(self._source, str(self._path), json.dumps(state)).result()


def _opened(path: Path) -> BinaryIO:
    """Open a regular file. Pipes are refused, because opening a pipe may block."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise UnavailableError(f"{path} is no file.")
    return file


def _is_the_one(file: BinaryIO, noted: dict[str, object]) -> bool:
    """Whether a file is the recorded one, and has not been truncated since."""
    status, head = os.fstat(file.fileno()), int(str(noted["head"]))
    is_same = status.st_ino == noted["inode"] and status.st_size >= int(str(noted["offset"])) and not noted.get("ended")
    return is_same and _digest(file, head) == noted["digest"]


def _digest(file: BinaryIO, length: int) -> str:
    return hashlib.sha256(os.pread(file.fileno(), length, 0)).hexdigest()
