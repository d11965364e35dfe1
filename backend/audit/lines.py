"""The files of a home's audit log, and its lines, latest first, without reading more of them than is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

_BLOCK = 1 << 16
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries to list. `who` and `dataset` are parts of names; times have a zone; `tenant` None: of all."""

    who: str | None = None
    dataset: str | None = None
    decision: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    tenant: str | None = None

    def fits(self, entry: Entry) -> bool:
        """Whether an entry is one of them."""
        return (
            (self.who is None or self.who in str(entry.get("who", "")))
            and (self.dataset is None or any(self.dataset in str(subject) for subject in entry.get("on", ())))
            and (self.tenant is None or self.tenant == entry.get("tenant"))
            and (self.decision is None or self.decision == entry.get("decision"))
            and (self.until is None or datetime.fromisoformat(entry["at"]) <= self.until)
        )


@dataclass(frozen=True, slots=True)
class Found:
    """The latest entries that fit, earliest first, and how many lines on the way to them are damaged.

    `left_at`: the instant of the earliest line that was looked at, where the search ended before the log did; earlier ones may fit too.
    """

    entries: tuple[Entry, ...]
    damaged: int
    left_at: datetime | None = None


def earlier_files(path: Path) -> list[Path]:
    """The files of an audit log that are full, earliest first. `path` is the file that is written now."""
    return sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))


def name_of_full(path: Path, at: datetime) -> Path:
    """What the file that is written now is called from the instant on at which it is full."""
    return path.with_name(f"{path.stem}-{at.astimezone(UTC):%Y%m%dT%H%M%S.%f}Z{path.suffix}")


def latest(path: Path, wanted: Wanted, most: int, *, within: int | None = None) -> Found:
    """The latest entries of an audit log; none where there is no log. `within`: bytes of lines to look at, at most."""
    found: list[Entry] = []
    damaged = looked_at = 0
    earliest: datetime | None = None
    for line in _lines(path, wanted.until):
        if len(found) >= most or (within is not None and looked_at > within and earliest is not None):
            return Found(tuple(reversed(found)), damaged, left_at=earliest)
        try:
            entry = json.loads(line)
            at = datetime.fromisoformat(entry["at"])
            if wanted.until is not None and at > wanted.until:
                continue  # few: where they end was sought first
            looked_at += len(line)
            if wanted.since is not None and at < wanted.since:
                break  # lines are in the order of their times
            fits = wanted.fits(entry)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            damaged += 1
            looked_at += len(line)
            continue
        earliest = at
        if fits:
            found.append(entry)
    return Found(tuple(reversed(found)), damaged)


def _lines(path: Path, until: datetime | None) -> Iterator[bytes]:
    """The lines of all files, last first; without most of those that are later than `until`."""
    read: set[int] = set()
    yield from backward(path, read, until)
    # Listed afterwards: the file that was written when this began may be full and have another name by now.
    for file in reversed(earlier_files(path)):
        yield from backward(file, read, until)


def backward(path: Path, read: set[int], until: datetime | None = None) -> Iterator[bytes]:
    """The lines of a file, last first, without the empty ones; none where there is no file, or one that was read under another name."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        number = os.fstat(file.fileno()).st_ino
        if number in read:
            return
        read.add(number)
        place = file.seek(0, os.SEEK_END) if until is None else _end_of(file, until)
        rest = b""
        while place > 0:
            size = min(_BLOCK, place)
            place -= size
            file.seek(place)
            rest, *lines = (file.read(size) + rest).split(b"\n")
            yield from filter(None, reversed(lines))
        if rest:
            yield rest


def _end_of(file: BinaryIO, until: datetime) -> int:
    """A place in a file at the end of a line, behind which all lines are later than `until`: lines are in the order of their times."""
    first, end = 0, file.seek(0, os.SEEK_END)
    while end - first > _BLOCK:
        middle = (first + end) // 2
        file.seek(middle)
        file.readline()  # the rest of a line
        place = file.tell()
        at = _time(file.readline())
        if at is None or place >= end:
            break  # a damaged line: all from here to the end is looked at
        if at > until:
            end = place
        else:
            first = place
    return end


def _time(line: bytes) -> datetime | None:
    try:
        return datetime.fromisoformat(json.loads(line)["at"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
