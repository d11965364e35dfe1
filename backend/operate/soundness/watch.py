"""Watches the durable files of a running service for `/readyz`: damaged files, and a disk that accepts no more.

A check rests for twenty times as long as it took. A small home is checked with each question, a large one in the
background, part by part. Threads of its own run the checks, so that they delay no question of a user.
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

_PATIENCE = 1.0  # seconds that a question waits for a look that has begun
_REST = 20  # a look rests this many times as long as it took
_LEAST = 0.5
_SLICE = 0.25  # seconds of one look at what is kept: a lake of captures takes many looks, and no memory for them


class Watch:
    """See the module's docstring. `is_key` says whether a text is the key that the service takes."""

    def __init__(self, settings: Settings, is_key: Callable[[str], bool]) -> None:
        self._settings = settings
        self._is_key = is_key
        self._has_key = settings.api_key is None and self._is_kept(settings.folder.key_file)
        self._faulty: dict[Path, list[Fault]] = {}
        self._round = self._all_kept()
        self.asking = ThreadPoolExecutor(1, thread_name_prefix="headwater-ready")  # for whoever awaits `faults`
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="headwater-watch")
        self._looks = [_Look(self._threads, self._vital), _Look(self._threads, self._kept)]

    def faults(self) -> list[Fault]:
        """Return the present faults, as of the last check of each file. Waits for a moment at most."""
        waiting = [running for look in self._looks if (running := look.begin()) is not None]
        wait(waiting, timeout=_PATIENCE)
        return [fault for look in self._looks for fault in look.found]

    def close(self) -> None:
        """End after the look at hand."""
        for threads in (self.asking, self._threads):
            threads.shutdown(wait=False, cancel_futures=True)

    def _vital(self) -> Iterator[Fault]:
        """Without these the service cannot work."""
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
        """Without one of these a question about one capture cannot be answered.

        Goes on where the last look ended, round after round.
        """
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
        """The captures and staged segments that come next, to the end of the round or of the time."""
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
    """One thing that is looked at again and again."""

    def __init__(self, threads: ThreadPoolExecutor, look: Callable[[], Iterator[Fault]]) -> None:
        self._threads = threads
        self._look = look
        self._running: Future[None] | None = None
        self._due = 0.0
        self.found: Sequence[Fault] = ()

    def begin(self) -> Future[None] | None:
        """The look that runs, begun now if one is due; None where none is."""
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
