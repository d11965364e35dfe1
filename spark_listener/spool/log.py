r"""The log of one application's spool: an append-only file of framed JSON lines.

The listener's thread appends; delivery reads and acknowledges, in the same process or in a later one. The log must survive a crash at any
byte: an incomplete or damaged line is skipped and counted, never guessed at. It must stay within its limit: an item beyond it is refused
and counted, and the job continues.

A line is `crc32 json\n`: eight hexadecimal digits over the JSON, which is `{"seq", "kind", "body", "segments"?}`. Every append reaches the
operating system at once, so that the death of the process loses nothing. A separate thread syncs `durable` appends (ends of runs, captures)
to the disk at once, because a busy disk may take half a second. The death of the machine loses at most the items since the last sync.
`sync` and `close` wait for the disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from zlib import crc32

_COMPACT_AT = 1024 * 1024
_PATIENCE = 10.0  # seconds that closing waits for the disk


class ItemKind(StrEnum):
    """The kind of an item: an OpenLineage event, or the manifest of a capture with its segments."""

    EVENT = "event"
    CAPTURE = "capture"


@dataclass(frozen=True, slots=True)
class Item:
    """One item to deliver. `segments` is the folder (or URI) of a capture's segments; None stands for the spool's own folder."""

    seq: int
    kind: ItemKind
    body: Mapping[str, Any]
    segments: str | None = None


class SpoolLog:
    """The log file, and the number of the last acknowledged item (in the file `acknowledged` next to it). Thread-safe."""

    def __init__(self, path: Path, *, limit: int) -> None:
        self.path = path
        self.limit = limit
        self.reserved = 0  # bytes of the limit that segments occupy
        self.damaged = 0
        self._mark = path.with_name("acknowledged")
        self._lock = Lock()
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._disk = _Disk(self._file)
        greatest = max((item.seq for item in self._scan()), default=None)
        self.acknowledged = self._read_mark()
        if greatest is not None and self.acknowledged > greatest:
            self.acknowledged = 0  # beyond the last item: a damaged mark, which would skip items
        self._next = 1 + (self.acknowledged if greatest is None else greatest)
        self._next = max(self._next, self.acknowledged + 1)
        self._end_torn_line()

    def append(
        self, kind: ItemKind, body: Mapping[str, Any], *, segments: str | None = None, durable: bool = False, bounded: bool = True
    ) -> Item | None:
        """Add an item. Return None if it does not fit, unless `bounded` is false. A `durable` item is synced at once.

        Raises:
            OSError: the disk refuses the write.
        """
        with self._lock:
            item = Item(self._next, kind, body, segments)
            line = _frame(item)
            if bounded and os.fstat(self._file).st_size + len(line) + self.reserved > self.limit:
                return None
            _write_all(self._file, line)
            self._next += 1
            if durable:
                self._disk.ask()
        return item

    def sync(self) -> None:
        """Wait until all added items are on the disk.

        Raises:
            OSError: the disk refuses the write.
        """
        os.fsync(self._file)

    def pending(self) -> Iterator[Item]:
        """Return the items that were not acknowledged, in the order of the file. `damaged` counts unreadable lines."""
        mark = self.acknowledged
        return (item for item in self._scan() if item.seq > mark)

    def has_pending(self) -> bool:
        return self._next - 1 > self.acknowledged and next(self.pending(), None) is not None

    def size(self) -> int:
        return os.fstat(self._file).st_size

    def acknowledge(self, seq: int) -> None:
        """Note that everything up to `seq` has arrived. Acknowledged items are removed from the file when that is cheap."""
        with self._lock:
            self.acknowledged = max(self.acknowledged, seq)
            temporary = self._mark.with_suffix(".tmp")
            temporary.write_text(_mark_of(self.acknowledged), encoding="ascii")
            os.replace(temporary, self._mark)
            if self.acknowledged == self._next - 1 and os.fstat(self._file).st_size > _COMPACT_AT:
                os.ftruncate(self._file, 0)

    def close(self) -> None:
        done = self._disk.finish()
        with self._lock:
            if self._file >= 0 and done:  # a hanging disk keeps the file, not the program
                os.close(self._file)
                self._file = -1

    def _scan(self) -> Iterator[Item]:
        damaged = 0
        with self.path.open("rb") as file:
            for line in file:
                item = _parse(line)
                if item is not None:
                    yield item
                else:
                    damaged += 1
        self.damaged = max(self.damaged, damaged)

    def _read_mark(self) -> int:
        try:
            text = self._mark.read_text(encoding="ascii")
            number = int(text.partition(" ")[0])
        except FileNotFoundError:
            return 0
        except ValueError:
            return 0  # a torn mark: everything is sent again, which the receiver ignores
        return number if text in (_mark_of(number), str(number)) else 0  # a mark of an earlier version has no checksum

    def _end_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            _write_all(self._file, b"\n")


class _Disk:
    """Syncs a file on request, in a thread that starts with the first request. Requests during a sync are served together."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._asked = Event()
        self._ending = False
        self._thread: Thread | None = None

    def ask(self) -> None:
        self._asked.set()
        if self._thread is None and not self._ending:
            self._thread = Thread(target=self._run, name="headwater-spool", daemon=True)
            self._thread.start()

    def finish(self) -> bool:
        """Serve all requests, and end. Return false if the disk does not finish in time."""
        self._ending = True
        self._asked.set()
        if self._thread is None:
            return True
        self._thread.join(_PATIENCE)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            ending = self._ending
            with suppress(OSError):  # the operating system has it, and may write it later
                os.fsync(self._file)
            if ending:
                return


def _mark_of(number: int) -> str:
    """Return the content of the file `acknowledged`, in a form that a truncated copy cannot imitate."""
    return f"{number} {crc32(b'%d' % number):08x}"


def _frame(item: Item) -> bytes:
    document: dict[str, Any] = {"seq": item.seq, "kind": item.kind, "body": item.body}
    if item.segments is not None:
        document["segments"] = item.segments
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, default=str).encode("utf-8", "replace")
    return b"%08x " % crc32(text) + text + b"\n"


def _parse(line: bytes) -> Item | None:
    if len(line) < 11 or not line.endswith(b"\n") or line[8:9] != b" ":
        return None
    text = line[9:-1]
    try:
        if int(line[:8], 16) != crc32(text):
            return None
        document = json.loads(text)
        return Item(int(document["seq"]), ItemKind(document["kind"]), document["body"], document.get("segments"))
    except (ValueError, KeyError, TypeError):
        return None


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
