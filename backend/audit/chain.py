"""Links between the lines of an audit log: each holds the SHA-256 of the line before it, so that a line that is changed or removed shows.

The link is the member `prev`, the last of a line: the digest, in hexadecimal, of the bytes of the line before, its own link among them and
without the end of the line. It goes on from file to file. What a link cannot show is that the latest lines were cut off, or that somebody
wrote the whole log anew: for that, keep the digest of the last line somewhere else, and have it looked for by
`headwater admin audit --verify --head`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from headwater.backend.audit.lines import backward, earlier_files

_MOST_BREAKS = 20  # that a report lists; the rest are counted


def digest(line: bytes) -> str:
    """What the line after this one holds of it. `line` has no end of line."""
    return sha256(line).hexdigest()


def linked(line: bytes, before: str | None) -> bytes:
    """A line, a JSON object without an end of line, with its link to the line before; the first of all has none to link to."""
    return line[:-1] + (b',"prev":' + json.dumps(before).encode("ascii") + b"}")


def last_digest(path: Path) -> str | None:
    """The digest of the last line of a log, be it in a file that was put aside; None where there is none."""
    return next(filter(None, map(digest_of_end, (path, *reversed(earlier_files(path))))), None)


def digest_of_end(file: Path) -> str | None:
    """The digest of the last line of one file; None where it has none."""
    return next(map(digest, backward(file, set())), None)


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the log is not as it was written: `line` counts from 1 in its file."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """One chain of a log that replicas share: of which host, how many lines, the digest and the time of the last.

    `ended`: whether it ends with the end of its service. Else that is at work, or what it wrote last was lost with its home.
    """

    chain: str
    host: str
    lines: int
    head: str | None
    last: str | None
    ended: bool


@dataclass(slots=True)
class Verified:
    """What a log's links say. `older` are lines of before there were links, which are vouched for by the first link alone.

    `head` is the digest of the last line. `begins_after` is what the first line links to: lines that were removed with full files.
    `breaks` are the first ones, of `broken` in all; `has_head`: whether a line with the digest that was asked for is there.
    `whole`: whether all files were looked at. `chains` are those of a log that replicas share, which has no head of its own.
    """

    lines: int = 0
    older: int = 0
    damaged: int = 0
    first: str | None = None
    last: str | None = None
    head: str | None = None
    begins_after: str | None = None
    broken: int = 0
    breaks: list[Break] = field(default_factory=list)
    has_head: bool = False
    whole: bool = True
    chains: list[ChainHead] = field(default_factory=list)

    def report(self, file: Path, line: int, reason: str) -> None:
        """Add a break of a file."""
        self.report_break(Break(str(file), line, reason))

    def report_break(self, one: Break) -> None:
        """Add a break."""
        self.broken += 1
        if len(self.breaks) < _MOST_BREAKS:
            self.breaks.append(one)


def verify(path: Path, *, head: str | None = None, within: int | None = None) -> Verified:
    """Follow the links of all files of a log, earliest first. It may be written to meanwhile.

    `head` is the digest of a line that was once the last. `within`: bytes of full files to look at, at most, the latest of them.

    Raises:
        OSError: a file cannot be read.
    """
    found = Verified()
    is_linked = False
    removed: set[str | None] = {None}  # what earlier lines ended with, by the lines that tell of their removal
    left_out = _left_out(path, within)
    if left_out:
        found.whole = False
        removed.add(digest_of_end(left_out[-1]))
    for file, number, line in _forward(path, frozenset(left_out)):
        found.lines += 1
        entry = _entry(line)
        if entry is None:
            found.damaged += 1  # cut off by a full disk or the end of a process; the next line's link vouches for it
        else:
            is_linked = _follow(found, file, number, entry, is_linked=is_linked)
            if entry.get("what") == "audit.removed" and isinstance(entry.get("up_to"), str):
                removed.add(entry["up_to"])
        found.head = digest(line)
        found.has_head = found.has_head or found.head == head
    if found.begins_after not in removed:
        found.report(earlier_files(path)[0] if earlier_files(path) else path, 1, "the lines before it are gone, and no line says so")
    return found


def _follow(found: Verified, file: Path, number: int, entry: dict[str, Any], *, is_linked: bool) -> bool:
    """Compare the link of a line with the line before it; whether this line, or one before it, has a link."""
    found.first = found.first or entry["at"]
    found.last = entry["at"]
    if "prev" not in entry:
        if is_linked:
            found.report(file, number, "it has no link, as no line of the service is without")
        else:
            found.older += 1
        return is_linked
    if not is_linked and found.lines == 1:
        found.begins_after = entry["prev"]
    elif entry["prev"] != found.head:
        found.report(file, number, "it does not link to the line before it: one of the two was changed, or lines between are gone")
    return True


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
        datetime.fromisoformat(entry["at"])
        return entry if isinstance(entry, dict) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _left_out(path: Path, within: int | None) -> list[Path]:
    """The earliest of the full files, where all together have more bytes than are to be looked at."""
    full = earlier_files(path)
    while within is not None and full:
        within -= full[-1].stat().st_size
        if within < 0:
            break
        full.pop()
    return full if within is not None else []


def _forward(path: Path, left_out: frozenset[Path]) -> Iterator[tuple[Path, int, bytes]]:
    """The lines of all files, first to last, with their file and number. The one that is being written is left out."""
    try:
        written = path.open("rb")
    except FileNotFoundError:
        written = None  # between two files, or no log at all
    inode = os.fstat(written.fileno()).st_ino if written is not None else -1
    try:
        for file in earlier_files(path):  # listed after the other was opened: full meanwhile, it is among them
            if written is not None and file.stat().st_ino == inode:
                break
            if file in left_out:
                continue
            with file.open("rb") as lines:
                yield from _numbered(file, lines)
        if written is not None:
            yield from _numbered(path, written)
    finally:
        if written is not None:
            written.close()


def _numbered(file: Path, lines: Iterator[bytes]) -> Iterator[tuple[Path, int, bytes]]:
    for number, line in enumerate(lines, start=1):
        if line.endswith(b"\n") and len(line) > 1:
            yield file, number, line[:-1]
