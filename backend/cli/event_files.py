"""Files of OpenLineage events, in pieces that intake takes: one event a line, one event in all, or an array of them; plain or gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from headwater.errors import InvalidInputError

_EVENTS, _BYTES = 500, 4 << 20  # of a batch
_MOST = 32 << 20  # bytes of a line, or of a file that is one document


@dataclass(frozen=True, slots=True)
class Batch:
    """A body for intake. `places` names where each of its events stands; of a document as a whole, the file alone."""

    body: bytes
    places: Sequence[str]


def event_batches(path: Path) -> Iterator[Batch]:
    """The events of a file, a batch after the other, in their order.

    Raises:
        InvalidInputError: it cannot be read, or has a line that is too long.
    """
    try:
        with _opened(path) as file:
            start = file.read(_MOST + 1)
        if len(start) <= _MOST and _is_one_document(start):
            yield Batch(start, [str(path)])
            return
        with _opened(path) as file:
            yield from _by_lines(path, file)
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InvalidInputError(f"{path} cannot be read: {reason}.", field="FILE", hint="Name a file of OpenLineage events.") from error


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _by_lines(path: Path, file: IO[bytes]) -> Iterator[Batch]:
    lines: list[bytes] = []
    places: list[str] = []
    for number, line in enumerate(_lines(path, file), start=1):
        place = f"{path}:{number}"
        if not line:
            continue
        if not _is_one_document(line):
            yield Batch(line, [place])  # refused by itself: in an array it would take its neighbours with it
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
    """Whether a text is JSON as a whole; intake looks at it more closely."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
