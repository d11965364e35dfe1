"""The spool folder of one application: its log, its segments, its description, and a lock while the application lives.

The application uses it, and so does the delivery of a dead application's items. Only one process may hold a folder at a time. The lock is
the operating system's, so that it ends with the process in any case. A forked child never holds it.

    spool/<application>/application.json   the application's OpenLineage run, and whether its end was stated
                        lock               locked while the application lives
                        log, acknowledged  see `log`
                        segments/<capture>/*.seg
                        runs/<run>.json        the START of a long query, until it ends
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from headwater.spark_listener.spool.log import Item, ItemKind, SpoolLog

TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")  # W3C's Trace Context, version 00
_MOST_OPEN = 1000  # open runs that are stored for a later reader
_UNBOUNDED = 1 << 62  # delivery of leftovers only adds a statement of the end
_MINE: set[Path] = set()  # POSIX locks do not exclude their own process


class SpoolFolder:
    """The folder of one application, locked by this process until `close`. Made by `create` or `take`."""

    def __init__(self, path: Path, lock: int, *, limit: int) -> None:
        self.path = path
        self._lock = lock
        self.log = SpoolLog(path / "log", limit=limit)
        self.dropped: dict[str, int] = {}

    @classmethod
    def create(cls, spool: Path, application: str, *, limit: int) -> SpoolFolder:
        """Make a folder under `spool`, named after the application.

        Raises:
            OSError: the folder cannot be made.
        """
        path = spool / re.sub(r"[^\w.\-]", "_", application)
        spool.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # the home, if this is its first program
        (path / "segments").mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = _hold(path)
        if lock is None:
            raise FileExistsError(f"{path} belongs to another process")
        folder = cls(path, lock, limit=limit)
        if TRACEPARENT.fullmatch(trace := os.environ.get("TRACEPARENT", "")):
            folder.describe(traceparent=trace)  # another program with another trace may deliver it
        return folder

    @classmethod
    def take(cls, path: Path) -> SpoolFolder | None:
        """Lock the folder of a dead application. None if the application lives, or another process has the folder."""
        if not path.is_dir():
            return None
        try:
            lock = _hold(path)
            if lock is None:
                return None
            folder = cls(path, lock, limit=_UNBOUNDED)
        except FileNotFoundError:
            _MINE.discard(path)
            return None  # its owner removed it just now
        folder.log.reserved = sum(
            _segment_bytes(item.body) for item in folder.pending() if item.kind is ItemKind.CAPTURE and item.segments is None
        )
        return folder

    @cached_property
    def traceparent(self) -> str | None:
        """Return the application's OpenTelemetry trace as a W3C header, from its environment (`TRACEPARENT`)."""
        stated = self.application.get("traceparent")
        return stated if isinstance(stated, str) and TRACEPARENT.fullmatch(stated) else None

    @property
    def segments(self) -> Path:
        return self.path / "segments"

    @property
    def application(self) -> dict[str, Any]:
        """Return the description that `describe` wrote last. Empty if there is none."""
        return _description(self.path)

    def describe(self, **facts: Any) -> None:
        """Add facts to the application's description, for later readers of the folder."""
        temporary = self.path / "application.json.tmp"
        temporary.write_text(json.dumps({**self.application, **facts}), encoding="utf-8")
        os.replace(temporary, self.path / "application.json")

    def run_began(self, run_id: str, start: Mapping[str, Any]) -> None:
        """Store the START of a run until it ends, because delivery may remove the event from the log."""
        path = self._run_file(run_id)
        if path is not None and sum(1 for _ in self.open_runs()) < _MOST_OPEN:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            temporary = path.with_suffix(".tmp")
            temporary.write_text(json.dumps(start), encoding="utf-8")
            os.replace(temporary, path)

    def run_ended(self, run_id: str) -> None:
        path = self._run_file(run_id)
        if path is not None:
            path.unlink(missing_ok=True)

    def open_runs(self) -> Iterator[dict[str, Any]]:
        for path in sorted((self.path / "runs").glob("*.json")):
            try:
                yield json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue  # torn by the crash that ended the run: its START is only in the log

    def _run_file(self, run_id: str) -> Path | None:
        return self.path / "runs" / f"{run_id}.json" if re.fullmatch(r"[\w\-]+", run_id) else None

    def event(self, body: Mapping[str, Any], *, durable: bool = False) -> bool:
        """Spool an event. Return false if there is no room (it is counted in `dropped`)."""
        return self._add(ItemKind.EVENT, body, None, durable=durable)

    def last_event(self, body: Mapping[str, Any]) -> bool:
        """Spool the end of the application, which reports drops, so the limit does not apply to it."""
        added = self._add(ItemKind.EVENT, body, None, durable=False, bounded=False)
        with suppress(OSError):
            self.log.sync()  # nobody waits for a thread any more
        return added

    def capture(self, manifest: Mapping[str, Any], *, segments: str | None = None) -> bool:
        """Spool a manifest with its existing segments. Return false if the limit is reached; the segments are then deleted."""
        size = _segment_bytes(manifest) if segments is None else 0
        self.log.reserved += size
        if self._add(ItemKind.CAPTURE, manifest, segments, durable=True):
            return True
        self.log.reserved -= size
        self._delete_segments(str(manifest["capture"]), segments)
        return False

    def drops_stated(self, dropped: Mapping[str, int]) -> None:
        for kind, count in dropped.items():
            left = self.dropped.get(kind, 0) - count
            self.dropped.pop(kind, None)
            if left > 0:
                self.dropped[kind] = left

    def pending(self) -> Iterator[Item]:
        return self.log.pending()

    def has_pending(self) -> bool:
        return self.log.has_pending()

    def waiting_bytes(self) -> int:
        """Return the approximate size of the folder on disk: the log and the spool's own segments."""
        return self.log.reserved + self.log.size()

    def acknowledge(self, item: Item) -> None:
        """Note that the item and all items before it arrived. The spool's copy of a capture's segments is deleted."""
        self.log.acknowledge(item.seq)
        if item.kind is ItemKind.CAPTURE:
            self._delete_segments(str(item.body["capture"]), item.segments)
            if item.segments is None:
                self.log.reserved -= _segment_bytes(item.body)

    def close(self, *, remove_if_done: bool = True) -> bool:
        """Unlock the folder. Return true if it was removed, because everything arrived and its application had ended."""
        done = remove_if_done and self.application.get("ended", False) and not self.has_pending()
        self.log.close()
        if done:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        _MINE.discard(self.path)
        return done

    def _add(self, kind: ItemKind, body: Mapping[str, Any], segments: str | None, *, durable: bool, bounded: bool = True) -> bool:
        try:
            fits = self.log.append(kind, body, segments=segments, durable=durable, bounded=bounded) is not None
        except OSError:
            fits = False  # a full or vanished disk: counted like a full spool, the job goes on
        if not fits:
            self.dropped[f"{kind}s"] = self.dropped.get(f"{kind}s", 0) + 1
        return fits

    def _delete_segments(self, capture: str, elsewhere: str | None) -> None:
        if elsewhere is None and re.fullmatch(r"[\w\-]+", capture):
            shutil.rmtree(self.segments / capture, ignore_errors=True)


def applications(spool: Path) -> list[Path]:
    try:
        folders = [path for path in spool.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []
    return sorted(folders, key=lambda path: (_age(path), path.name))


def has_ended(path: Path) -> bool:
    """Return whether the application of a folder has stated its end. The process that holds the folder then delivers it."""
    return bool(_description(path).get("ended"))


def _description(path: Path) -> dict[str, Any]:
    try:
        described: dict[str, Any] = json.loads((path / "application.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # the application died before it could say who it was, or its folder is gone
    return described


def _segment_bytes(manifest: Mapping[str, Any]) -> int:
    return sum(int(segment.get("bytes", 0)) for segment in manifest.get("segments", ()))


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0  # removed by its owner just now; `take` will find nothing


def _hold(path: Path) -> int | None:
    if path in _MINE:
        return None
    lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    _MINE.add(path)
    return lock
