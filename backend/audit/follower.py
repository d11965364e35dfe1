"""Reads the files of an audit log while they are written, and finds a known position again.

The copier of the shared log uses this. A position is an offset in a file. The inode identifies the file, because full files are renamed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headwater.backend.audit.lines import earlier_files
from headwater.errors import HeadwaterError

_BLOCK = 1 << 18


class PlaceGoneError(HeadwaterError):
    """The last read position no longer exists, because a file was truncated, removed or replaced."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position between lines: the next line begins at `offset` of the file with this `inode`. Inode 0 is the begin of the log."""

    inode: int = 0
    offset: int = 0


BEGINNING = Place()


def lines_after(path: Path, place: Place, most_bytes: int) -> tuple[list[bytes], Place]:
    """Return the next lines of a log, without their ends, and the position after them.

    Reading stops at `most_bytes`, after at least one line. An incomplete last line is left out.

    Raises:
        PlaceGoneError: the position no longer exists.
    """
    files = _files(path)
    found: list[bytes] = []
    names = [inode for _, inode in files]
    if place.inode and place.inode not in names:
        raise PlaceGoneError("A file of the audit log is gone.")
    for file, inode in files[names.index(place.inode) if place.inode else 0 :]:
        offset = place.offset if inode == place.inode else 0
        lines, end = _whole_lines(file, inode, offset, most_bytes, is_full=file != path)
        found += lines
        most_bytes -= end - offset
        place = Place(inode, end)
        if most_bytes <= 0:
            break
    return found, place


def backward(path: Path) -> Iterator[tuple[bytes, Place]]:
    """Yield the lines of all files, last first, each with the position after it."""
    for file, inode in reversed(_files(path)):
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_ino != inode:
                continue  # renamed just now; the next call finds it
            size = opened.seek(0, os.SEEK_END)
            place = end = size
            rest = b""
            while place > 0:
                count = min(_BLOCK, place)
                place -= count
                opened.seek(place)
                rest, *lines = (opened.read(count) + rest).split(b"\n")
                if place == 0:
                    lines.insert(0, rest)
                for line in reversed(lines):
                    if line and (end < size or file != path):
                        yield line, Place(inode, min(end + 1, size))
                    end -= len(line) + 1


def is_read(path: Path, file: Path, place: Place) -> bool:
    """Whether a full file is entirely before a position."""
    files = _files(path)
    inodes = [inode for _, inode in files]
    if place.inode not in inodes or (file not in (name for name, _ in files)):
        return False
    at = next(number for number, (name, _) in enumerate(files) if name == file)
    reached = inodes.index(place.inode)
    return at < reached or (at == reached and place.offset >= file.stat().st_size)


def _files(path: Path) -> list[tuple[Path, int]]:
    try:
        written = path.stat().st_ino
    except FileNotFoundError:
        written = None  # between two files, or there is no log
    found = []
    for file in earlier_files(path):  # listed after the stat of the current file, which may have been renamed since
        try:
            inode = file.stat().st_ino
        except FileNotFoundError:
            continue  # the file was removed as too old
        found.append((file, inode))
    if written is not None and written not in (inode for _, inode in found):
        found.append((path, written))
    return found


def _whole_lines(file: Path, inode: int, offset: int, most_bytes: int, *, is_full: bool) -> tuple[list[bytes], int]:
    """Return the lines of one file after an offset, and the offset after them. An incomplete last line of a full file counts."""
    try:
        opened = file.open("rb")
    except FileNotFoundError:
        return [], offset  # renamed just now
    with opened:
        status = os.fstat(opened.fileno())
        if status.st_ino != inode:
            return [], offset
        if status.st_size < offset:
            raise PlaceGoneError("A file of the audit log was cut off.")
        opened.seek(offset)
        found = opened.read(max(most_bytes, 0))
        if not found.endswith(b"\n"):
            found += opened.readline()
    if not is_full or (status.st_size > offset + len(found)):
        found = found[: found.rfind(b"\n") + 1]
    return [line for line in found.split(b"\n") if line], offset + len(found)
