"""Searches the files of a home's audit log, latest line first. Only the necessary lines are read."""

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
    """A filter for audit lines. `who` and `dataset` match parts of names. Times have a zone. A `tenant` of None means all tenants.

    `is_shortened_too`: a line from which names were left out matches any dataset.
    """

    who: str | None = None
    dataset: str | None = None
    decision: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    tenant: str | None = None
    is_shortened_too: bool = False

    def fits(self, entry: Entry) -> bool:
        return (
            (self.who is None or self.who in str(entry.get("who", "")))
            and (self.dataset is None or self._names_dataset(entry))
            and (self.tenant is None or self.tenant == entry.get("tenant"))
            and (self.decision is None or self.decision == entry.get("decision"))
            and (self.until is None or datetime.fromisoformat(entry["at"]) <= self.until)
        )

    def _names_dataset(self, entry: Entry) -> bool:
        is_named = any(str(self.dataset) in str(subject) for subject in entry.get("on", ()))
        return is_named or (self.is_shortened_too and bool(entry.get("more")))


@dataclass(frozen=True, slots=True)
class MatchingEntries:
    """The latest matching entries, earliest first, and the number of damaged lines that were read.

    If the search ended before the log did, `left_at` is the time of the earliest read line. Earlier lines may match too.
    """

    entries: tuple[Entry, ...]
    damaged: int
    left_at: datetime | None = None


def earlier_files(path: Path) -> list[Path]:
    """Return the full files of an audit log, earliest first. `path` is the current file."""
    return sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))


def name_of_full(path: Path, at: datetime) -> Path:
    """Return the name that the current file gets when it is full. `at` is the time of the renaming."""
    return path.with_name(f"{path.stem}-{at.astimezone(UTC):%Y%m%dT%H%M%S.%f}Z{path.suffix}")


def latest(path: Path, wanted: Wanted, most: int, *, within: int | None = None) -> MatchingEntries:
    """Return the latest matching entries of an audit log. `within` limits the bytes of lines to read."""
    found: list[Entry] = []
    damaged = looked_at = 0
    earliest: datetime | None = None
    for line in _lines(path, wanted.until):
        if len(found) >= most or (within is not None and looked_at > within and earliest is not None):
            return MatchingEntries(tuple(reversed(found)), damaged, left_at=earliest)
        try:
            entry = json.loads(line)
            at = datetime.fromisoformat(entry["at"])
            if wanted.until is not None and at > wanted.until:
                continue  # few such lines remain, because the search started near their end
            looked_at += len(line)
            if wanted.since is not None and at < wanted.since:
                break  # lines are in order of time
            fits = wanted.fits(entry)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            damaged += 1
            looked_at += len(line)
            continue
        earliest = at
        if fits:
            found.append(entry)
    return MatchingEntries(tuple(reversed(found)), damaged)


def _lines(path: Path, until: datetime | None) -> Iterator[bytes]:
    read: set[int] = set()
    yield from backward(path, read, until)
    # Listed after the current file was read, because that file may have been renamed meanwhile.
    for file in reversed(earlier_files(path)):
        yield from backward(file, read, until)


def backward(path: Path, read: set[int], until: datetime | None = None) -> Iterator[bytes]:
    """Yield the nonempty lines of a file, last first. A missing file, or a file that was already read, yields nothing."""
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
    """Return the end of a line after which all lines are later than `until`. Lines are in order of time."""
    first, end = 0, file.seek(0, os.SEEK_END)
    while end - first > _BLOCK:
        middle = (first + end) // 2
        file.seek(middle)
        file.readline()  # skips the rest of a line
        place = file.tell()
        at = _time(file.readline())
        if at is None or place >= end:
            break  # a damaged line: read everything from here on
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
