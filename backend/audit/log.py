"""The audit log: who requested which data, how many records were returned, and the decision. Each line is a JSON object.

Every request about records is logged, and every export, change and refusal. Lines are only appended, each with a link to the previous line
(`chain`), to `audit.jsonl` of the home, mode 0600. A full file is renamed after the current instant, and the oldest full files beyond the
limit are removed. A line reaches the operating system before its answer is sent, so that a killed process loses no line. It
reaches the disk within a second. If a line cannot be written, the answer is not sent. Excess refusals of unknown callers are only counted,
because such callers must not be able to fill the disk.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from headwater.backend.audit.chain import digest_of_end
from headwater.backend.audit.current_file import WrittenFile
from headwater.backend.audit.lines import earlier_files, name_of_full
from headwater.errors import UnavailableError

VERSION = 1
_SYNC_SECONDS = 1.0
_REFUSALS_AT_ONCE = 100
_REFUSALS_A_SECOND = 5.0
_MOST_BUCKETS = 1_000  # callers with separate counters
_log = logging.getLogger("headwater.audit")

_Waiting = tuple[bytes, "Future[None]"]


class AuditLog:
    """Appends lines from a separate thread. Safe to use from any thread.

    A file is full at `most_bytes` (0: never). The latest `kept` full files are never removed, nor files for which `may_remove` returns
    False.
    """

    def __init__(
        self, path: Path, *, most_bytes: int = 0, kept: int = 1, may_remove: Callable[[Path], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._path = path
        self._most_bytes = most_bytes
        self._kept = kept
        self._may_remove = may_remove or (lambda _: True)
        self._clock = clock
        self._size = 0
        self._lock = Lock()
        self._file: WrittenFile | None = None
        self._unsynced_since: float | None = None
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()  # by caller, most recently used last
        self.state = "ok"  # for /readyz
        self._thread = Thread(target=self._run, name="headwater-audit", daemon=True)

    def start(self) -> None:
        """Start writing; earlier lines wait for this. A first line shows immediately whether the log can be written."""
        self._append({"what": "service.start"})
        self._thread.start()

    async def write(self, entry: Mapping[str, Any]) -> None:
        """Append a line, and return after it is written.

        Raises:
            UnavailableError: the line cannot be written.
        """
        await asyncio.wrap_future(self._append(entry))

    def note(self, entry: Mapping[str, Any], *, known: bool) -> Future[None] | None:
        """Append a line without waiting. Returns a future of the line, or None if the line is left out.

        Excess lines are counted, and the next written line states the number. Each `known` caller has a counter, and all
        others share one, so that nobody can suppress another caller's lines.
        """
        left_out = self._bucket(f"known {entry.get('who')}" if known else "").take()
        return None if left_out is None else self._append({**entry, "left_out": left_out} if left_out else entry)

    def _bucket(self, who: str) -> _Bucket:
        with self._lock:
            found = self._buckets.pop(who, None) or _Bucket(self._clock)
            self._buckets[who] = found
            while len(self._buckets) > _MOST_BUCKETS:
                self._buckets.popitem(last=False)
            return found

    def close(self) -> None:
        self._append({"what": "service.end"})
        self._queue.put(None)
        self._thread.join()

    def _append(self, entry: Mapping[str, Any]) -> Future[None]:
        written: Future[None] = Future()
        self._queue.put((_line(entry), written))
        return written

    def _run(self) -> None:
        ended = False
        while not ended:
            waiting, ended = self._wait()
            if self.state != "ok" and not waiting:
                waiting = [(_line({"what": "audit.resumed"}), Future())]
            for line, written in waiting:
                is_awaited = written.set_running_or_notify_cancel()  # false if the caller is gone; the line is still written
                try:
                    self._write(line)
                except OSError as error:
                    self._fail(error)
                    if is_awaited:
                        written.set_exception(self._unwritten(error))
                else:
                    self.state = "ok"
                    if is_awaited:
                        written.set_result(None)
            self._sync(at_once=ended)
        self._close()

    def _unwritten(self, error: OSError) -> UnavailableError:
        return UnavailableError(
            f"The audit log {self._path} cannot be written ({error.strerror}), so no records are told.",
            hint="Make room on its disk, or make it writable.",
        )

    def _wait(self) -> tuple[list[_Waiting], bool]:
        found: list[_Waiting] = []
        try:
            idle = self._unsynced_since is None and self.state == "ok"
            item = self._queue.get(timeout=None if idle else _SYNC_SECONDS)
            while item is not None:
                found.append(item)
                item = self._queue.get_nowait()
        except queue.Empty:
            return found, False
        return found, True

    def _write(self, line: bytes) -> None:
        if self._most_bytes and self._file is not None and self._size >= self._most_bytes:
            self._put_aside()
        self._append_to_file(line)

    def _append_to_file(self, line: bytes) -> None:
        if self._file is None:
            self._file = WrittenFile(self._path)
        while not self._file.append(line):
            self._close()
            self._file = WrittenFile(self._path)
        self._size = self._file.size
        if self._unsynced_since is None:
            self._unsynced_since = self._clock()

    def _sync(self, *, at_once: bool) -> None:
        if self._file is None or self._unsynced_since is None:
            return
        if at_once or self._clock() - self._unsynced_since >= _SYNC_SECONDS:
            self._unsynced_since = None
            try:
                self._file.sync()
            except OSError as error:
                self._fail(error)

    def _put_aside(self) -> None:
        """Begin a new file. If this fails, writing continues in the full file, so that every answer is logged."""
        self._sync(at_once=True)
        try:
            if self._file is not None:
                self._file.put_aside(name_of_full(self._path, datetime.now(UTC)))
            self._close()
            self._remove([*takewhile(self._may_remove, earlier_files(self._path)[: -self._kept])])
        except OSError as error:
            self._size = 0  # the next attempt follows after the same number of bytes
            _log.warning("the audit log %s cannot be put aside: %s", self._path, error)

    def _remove(self, old: list[Path]) -> None:
        """Remove full files. A line records this first, because verification would otherwise report missing lines."""
        if old:
            self._append_to_file(_line({"what": "audit.removed", "on": [file.name for file in old], "up_to": digest_of_end(old[-1])}))
        for file in old:
            file.unlink(missing_ok=True)

    def _fail(self, error: OSError) -> None:
        if self.state == "ok":
            _log.error("the audit log %s cannot be written: %s", self._path, error)
        self.state = f"cannot be written: {error.strerror}"
        self._close()  # the next line opens the file again

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def append_line(path: Path, entry: Mapping[str, Any]) -> None:
    """Append one line durably, from the worker or from a process other than the service.

    Raises:
        UnavailableError: the line cannot be written.
    """
    try:
        while not _appended(path, _line(entry)):
            pass
    except OSError as error:
        raise UnavailableError(
            f"The audit log {path} cannot be written ({error.strerror}), so nothing is changed.",
            hint="Make room on its disk, or make it writable.",
        ) from error


def _appended(path: Path, line: bytes) -> bool:
    file = WrittenFile(path)
    try:
        if not file.append(line):
            return False
        file.sync()
        return True
    finally:
        file.close()


def _line(entry: Mapping[str, Any]) -> bytes:
    whole = {"v": VERSION, "at": datetime.now(UTC).isoformat(timespec="microseconds"), **entry}
    return json.dumps(whole, separators=(",", ":")).encode("ascii")


class _Bucket:
    """A token bucket: allows a burst, then a number per second, and counts the rest."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._left = float(_REFUSALS_AT_ONCE)
        self._seen = clock()
        self._left_out = 0

    def take(self) -> int | None:
        """Return the number of entries left out before this one, or None if this one must be left out too."""
        with self._lock:
            now = self._clock()
            self._left = min(_REFUSALS_AT_ONCE, self._left + (now - self._seen) * _REFUSALS_A_SECOND)
            self._seen = now
            if self._left < 1:
                self._left_out += 1
                return None
            self._left -= 1
            left_out, self._left_out = self._left_out, 0
            return left_out
