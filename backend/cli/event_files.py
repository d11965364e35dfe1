"""Reads files of OpenLineage events, in batches for intake.

A file contains events one after the other, or an array of events, plain or gzip.

Each event is sent unchanged, byte for byte. A file that is too large for memory must have one event on each line.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from headwater.errors import InvalidInputError

_EVENTS, _BYTES = 500, 4 << 20  # limits of a batch
_MOST = 32 << 20  # limit in bytes of a line, and of a file that is read at once
_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Batch:
    """A request body for intake.

    `places` has the file and line of each event. A document that is sent as a whole has only the file's name.
    """

    body: bytes
    places: Sequence[str]


def event_batches(path: Path) -> Iterator[Batch]:
    """Yield the events of a file in batches, in order.

    Raises:
        InvalidInputError: the file cannot be read, or has a line that is too long.
    """
    try:
        with _opened(path) as file:
            start = file.read(_MOST + 1)
        events = _events(start) if len(start) <= _MOST else None
        if events is not None:
            yield from _batches((text.encode("utf-8"), f"{path}:{line}", True) for text, line in events)
            return
        with _opened(path) as file:
            yield from _by_lines(path, file)
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InvalidInputError(f"{path} cannot be read: {reason}.", field="FILE", hint="Name a file of OpenLineage events.") from error


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _events(content: bytes) -> list[tuple[str, int]] | None:
    """Return the events of a text with their line numbers, or None if a part of the text is not JSON."""
    try:
        text = content.decode("utf-8").lstrip("\ufeff")
        return list(_split(text))
    except (ValueError, RecursionError):
        return None


def _split(text: str) -> Iterator[tuple[str, int]]:
    decoder = json.JSONDecoder()
    place, line = _behind(text, 0), 1
    line += text.count("\n", 0, place)
    is_array = text.startswith("[", place)
    place += is_array
    while True:
        begin = _behind(text, place)
        line += text.count("\n", place, begin)
        if begin == len(text) or (is_array and text[begin] == "]"):
            break
        _, end = decoder.raw_decode(text, begin)
        yield text[begin:end], line
        place = _behind(text, end)
        line += text.count("\n", begin, place)
        if is_array and not text.startswith("]", place):
            if not text.startswith(",", place):
                raise ValueError("members of an array stand apart by commas")
            place += 1
    if is_array and (begin == len(text) or _behind(text, begin + 1) != len(text)):
        raise ValueError("an array ends the text")


def _behind(text: str, place: int) -> int:
    """Return the first position from `place` on that is not blank."""
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _by_lines(path: Path, file: IO[bytes]) -> Iterator[Batch]:
    numbered = enumerate(_lines(path, file), start=1)
    return _batches((line, f"{path}:{number}", _is_one_document(line)) for number, line in numbered if line)


def _batches(events: Iterable[tuple[bytes, str, bool]]) -> Iterator[Batch]:
    lines: list[bytes] = []
    places: list[str] = []
    for line, place, is_json in events:
        if not is_json:
            yield Batch(line, [place])  # sent alone, because intake would refuse the other events of the array too
            continue
        lines.append(line)
        places.append(place)
        if len(lines) == _EVENTS or sum(map(len, lines)) >= _BYTES:
            yield _array(lines, places)
            lines, places = [], []
    if lines:
        yield _array(lines, places)


def _array(lines: Sequence[bytes], places: Sequence[str]) -> Batch:
    return Batch(b"[" + b",".join(lines) + b"]", places)


def _lines(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(_MOST + 1):
        if len(line) > _MOST:
            raise InvalidInputError(
                f"{path} has a line of more than {_MOST >> 20} MiB.", field="FILE", hint="An event stands in a line of its own."
            )
        yield line.strip()


def _is_one_document(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
