"""Links between the lines of an audit log: each line contains the SHA-256 of the previous line.

The link is the member `prev`, the last member of a line: the hexadecimal digest of the bytes of the previous line, including its own link
and without the end of the line. The chain continues from file to file. Links reveal changed and removed lines. They cannot reveal that the
latest lines were cut off, or that somebody wrote the whole log again. To detect this, store the digest of the last line in another place.
Then let `headwater admin audit --verify --head` search for it.
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

_MOST_BREAKS = 20  # most breaks that a report lists; the rest are only counted


def digest(line: bytes) -> str:
    """Return the digest of a line (without its end of line), which the next line contains."""
    return sha256(line).hexdigest()


def linked(line: bytes, before: str | None) -> bytes:
    """Add to a line the link to the previous line. A line is a JSON object without an end of line. The first line has the link null."""
    return line[:-1] + (b',"prev":' + json.dumps(before).encode("ascii") + b"}")


def last_digest(path: Path) -> str | None:
    """Return the digest of the last line of a log, including full files, or None if there is no line."""
    return next(filter(None, map(digest_of_end, (path, *reversed(earlier_files(path))))), None)


def digest_of_end(file: Path) -> str | None:
    return next(map(digest, backward(file, set())), None)


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the log was changed. `line` counts from 1 in its file."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """One chain of a log that replicas share: its host, the number of lines, and the digest and time of the last line.

    `ended` is true if the chain ends with the end of its service. Otherwise the service is running, or the last lines of its home were
    lost.
    """

    chain: str
    host: str
    lines: int
    head: str | None
    last: str | None
    ended: bool


@dataclass(slots=True)
class Verified:
    """The result of verifying a log. `older` counts lines from before links existed, which only the first link protects.

    `head` is the digest of the last line. `begins_after` is the target of the first link, which was removed with old files. `broken` counts
    the breaks, and `breaks` has the first ones. `has_head` is true if a line with the requested digest was found. `whole` is true if
    all files were read. `chains` are the chains of a log that replicas share, which has no head of its own.
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
        self.report_break(Break(str(file), line, reason))

    def report_break(self, one: Break) -> None:
        self.broken += 1
        if len(self.breaks) < _MOST_BREAKS:
            self.breaks.append(one)


def verify(path: Path, *, head: str | None = None, within: int | None = None) -> Verified:
    """Verify the links in all files of a log, earliest first. Other processes may append lines meanwhile.

    `head` is the digest of a line that was once the last. `within` limits the bytes of full files to read; the latest are read.

    Raises:
        OSError: a file cannot be read.
    """
    found = Verified()
    is_linked = False
    removed: set[str | None] = {None}  # ends of removed lines, from the lines that record the removal
    left_out = _left_out(path, within)
    if left_out:
        found.whole = False
        removed.add(digest_of_end(left_out[-1]))
    for file, number, line in _forward(path, frozenset(left_out)):
        found.lines += 1
        entry = _entry(line)
        if entry is None:
            found.damaged += 1  # a full disk or a dead process cut the line off; the next link protects it
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
    """Return the earliest full files, which are skipped if all files together exceed the limit."""
    full = earlier_files(path)
    while within is not None and full:
        within -= full[-1].stat().st_size
        if within < 0:
            break
        full.pop()
    return full if within is not None else []


def _forward(path: Path, left_out: frozenset[Path]) -> Iterator[tuple[Path, int, bytes]]:
    """Yield the lines of all files, first to last, with file and number. An incomplete last line is left out."""
    try:
        written = path.open("rb")
    except FileNotFoundError:
        written = None  # between two files, or there is no log
    inode = os.fstat(written.fileno()).st_ino if written is not None else -1
    try:
        for file in earlier_files(path):  # listed after the current file was opened, which may have been renamed since
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
