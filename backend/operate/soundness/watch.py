"""Watches the durable files of a running service for `/readyz`: damaged files, and a full disk.

A check pauses for twenty times as long as it took. A small home is checked at each request, a large one in the
background, part by part. Separate threads run the checks, so that they delay no query of a user.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.settings import Settings
from headwater.backend.operate.soundness.captures import fault_of_file, faults_of_capture, staged_segments
from headwater.backend.operate.soundness.files import databases, quick_faults
from headwater.graph.records import AssociationStore

_PATIENCE = 1.0  # seconds that a request waits for a running check
_REST = 20  # a check pauses this many times as long as it took
_LEAST = 0.5
_SLICE = 0.25  # seconds of one check of captures; many captures take many checks


class Watch:
    """The continuous checks of one service. `is_key` tests whether a text is the key that the service accepts."""

    def __init__(self, settings: Settings, is_key: Callable[[str], bool]) -> None:
        self._settings = settings
        self._is_key = is_key
        self._has_key = settings.api_key is None and self._is_kept(settings.folder.key_file)
        self._faulty: dict[Path, list[Fault]] = {}
        self._round = self._all_kept()
        self.asking = ThreadPoolExecutor(1, thread_name_prefix="headwater-ready")  # for callers that wait for `faults`
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="headwater-watch")
        self._looks = [_Look(self._threads, self._vital), _Look(self._threads, self._kept)]

    def faults(self) -> list[Fault]:
        """Return the present faults, as of the last check of each file. Waits for a second at most."""
        waiting = [running for look in self._looks if (running := look.begin()) is not None]
        wait(waiting, timeout=_PATIENCE)
        return [fault for look in self._looks for fault in look.found]

    def close(self) -> None:
        for threads in (self.asking, self._threads):
            threads.shutdown(wait=False, cancel_futures=True)

    def _vital(self) -> Iterator[Fault]:
        """Yield faults of files without which the service cannot work."""
        yield from (fault for fault in quick_faults(self._settings) if fault.part != "key" or not self._has_key)
        for part, path in databases(self._settings).items():
            if not path.exists():
                yield Fault(part, path, "it is missing")
        path = self._settings.folder.key_file
        if self._has_key and not self._is_kept(path):
            yield Fault("key", path, "it does not hold the key that this service was started with")

    def _is_kept(self, path: Path) -> bool:
        try:
            return self._is_key(path.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            return False

    def _kept(self) -> Iterator[Fault]:
        """Yield faults of captures, each of which affects queries about that capture only. Each call continues after the previous one."""
        until = time.monotonic() + _SLICE
        for path in [*self._faulty, *self._next_until(until)]:
            found = list(faults_of_capture(path)) if path.is_dir() else [fault] if (fault := fault_of_file(path)) is not None else []
            if found and path.exists():
                self._faulty[path] = found
            else:
                self._faulty.pop(path, None)
        for faults in self._faulty.values():
            yield from faults

    def _next_until(self, end: float) -> Iterator[Path]:
        while time.monotonic() < end:
            path = next(self._round, None)
            if path is None:
                self._round = self._all_kept()
                return
            yield path

    def _all_kept(self) -> Iterator[Path]:
        root = self._settings.folder.associations
        yield from (folder for _, folder in AssociationStore.kept_folders(root))
        yield from staged_segments(root)


class _Look:
    """A check that is run repeatedly."""

    def __init__(self, threads: ThreadPoolExecutor, look: Callable[[], Iterator[Fault]]) -> None:
        self._threads = threads
        self._look = look
        self._running: Future[None] | None = None
        self._due = 0.0
        self.found: Sequence[Fault] = ()

    def begin(self) -> Future[None] | None:
        """Return the running check, or None. A check that is due is started."""
        if self._running is not None and not self._running.done():
            return self._running
        if time.monotonic() < self._due:
            return None
        self._running = self._threads.submit(self._run)
        return self._running

    def _run(self) -> None:
        began = time.monotonic()
        try:
            self.found = list(self._look())
        finally:
            took = time.monotonic() - began
            self._due = time.monotonic() + max(_LEAST, _REST * took)
