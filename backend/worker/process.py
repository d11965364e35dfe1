"""The worker in a process of its own, as the service holds it.

Projection takes as much of an interpreter as intake does, so the two have one each. The service must never wait for the worker, and must
not end with it: one that ended is started again, at once and then less and less often, and `/readyz` says so meanwhile. One that reads an
entry for too long is ended; what becomes of the entry, the next one sees to (`trials`). The worker ends
with the service, however that ends. Both have the log, the graph and the kept associations open, as replicas have; what one knows and the
other does not goes over two pipes (`wire`).
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from headwater.backend import tracing
from headwater.backend.ingest_log import IngestLog
from headwater.backend.logs import configured
from headwater.backend.messages import packed, read
from headwater.backend.settings import Settings
from headwater.backend.worker.at_work import Patience
from headwater.backend.worker.suspects import end_of
from headwater.backend.worker.trials import too_long
from headwater.backend.worker.wire import LINKED, MOST_BYTES, Begin, End, Linked, Report, Wake
from headwater.graph.records import Wanted
from headwater.graph.records.batches import batched

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

_WAKE = 0.02  # seconds between two wake-ups: what is appended meanwhile is projected with the rest
_END = 3.0  # seconds in which it may finish what is at work: of an entry that takes longer, nothing is lost with it
_AGAIN = 0.05  # seconds until it is told once more to end
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0  # before it is started again
_WATCHED = 1.0  # seconds between two looks at what it is at
_LIVED = 60.0  # seconds after which an end is no sign of a fault that stays
_log = logging.getLogger("headwater.worker")


class WorkerProcess:
    """Works for the service of `settings` between `start` and `stop`."""

    def __init__(
        self, settings: Settings, log: IngestLog, *, on_projected: Callable[[int], None] = lambda _: None,
        on_restart: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """`on_projected` hears how many entries were projected, `on_restart` that a worker ended which should not have."""
        self.state = "starting"
        self.differences: Sequence[str] = ()
        self.wanted = _Forwarded(self._send)
        self._settings = settings
        self._log = log
        self._on_projected = on_projected
        self._on_restart = on_restart
        self._stopping = Event()
        self._lock = Lock()  # of the process and its pipe
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = ""  # how the last one did
        self._was_too_long = False
        self._threads = [
            Thread(target=self._supervise, name="headwater-worker", daemon=True),
            Thread(target=self._wake, name="headwater-waker", daemon=True),
            Thread(target=self._watch, name="headwater-watchdog", daemon=True),
        ]

    @property
    def pid(self) -> int | None:
        """Its process, where there is one."""
        process = self._process
        return process.pid if process is not None else None

    def start(self) -> None:
        """Begin."""
        tracing.forward_appended(self._link)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End after what is at work, or soon."""
        tracing.forward_appended(None)
        self._stopping.set()
        self._log.appended.set()
        supervising, *others = self._threads
        deadline = time.monotonic() + _END
        while supervising.is_alive() and time.monotonic() < deadline and not self._send(End()):
            supervising.join(_AGAIN)  # it is starting, or has much to read first
        supervising.join(max(0.0, deadline - time.monotonic()))
        if supervising.is_alive():
            with self._lock:
                if self._process is not None:
                    _log.warning("the worker did not end within %g s, and is ended", _END)
                    self._process.kill()
            supervising.join()
        for thread in others:
            thread.join()

    def _supervise(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                code = self._live()
            except Exception as error:  # noqa: BLE001 - no file or memory may be left for it now: the next try may have some
                code = f"{type(error).__name__}: {error}"
            if self._stopping.is_set():
                break
            self._ended = too_long(self._settings.entry_seconds) if self._was_too_long else end_of(code) if isinstance(code, int) else code
            self._was_too_long = False
            self.state, self.differences = "failed: the worker ended", ()
            self._on_restart()
            pause = _FIRST_PAUSE if time.monotonic() - began > _LIVED else min(2 * pause, _LONGEST_PAUSE)
            _log.error("the worker ended (%s), and is started again in %.1f s", code, pause)
            self._stopping.wait(pause)
        self.state = "stopped"

    def _live(self) -> int | str:
        """Start a worker and hear it out; its exit code, or why it could not be started."""
        # A session of its own: the interrupt of a terminal is for the service, which then ends this.
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "headwater.backend.worker.child"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            return str(error)
        assert process.stdin is not None  # noqa: S101 - it was made with pipes
        assert process.stdout is not None  # noqa: S101
        with process, process.stdout as reports:
            with suppress(OSError):
                process.stdin.write(packed(Begin(self._settings, configured(), self._ended)))
            with self._lock:
                os.set_blocking(process.stdin.fileno(), False)
                self._process = process
            try:
                with os.fdopen(os.dup(reports.fileno()), "rb") as buffered:
                    while isinstance(report := read(buffered), Report):
                        self.state, self.differences = report.state, report.differences
                        if report.projected:
                            self._on_projected(report.projected)
            finally:
                with self._lock:
                    self._process = None
                    with suppress(OSError):
                        process.stdin.close()
            try:
                return process.wait(_END)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()

    def _wake(self) -> None:
        while not self._stopping.is_set():
            self._log.appended.wait()
            self._log.appended.clear()
            self._send(Wake())
            self._stopping.wait(_WAKE)

    def _watch(self) -> None:
        """End a worker that reads one entry for too long: it would never read another."""
        patience = Patience(self._settings.folder.worker_note, self._settings.entry_seconds)
        while not self._stopping.wait(min(_WATCHED, self._settings.entry_seconds)):
            with self._lock:
                if self._process is not None and patience.is_over(self._process.pid, time.monotonic()):
                    self._was_too_long = True
                    self._process.kill()

    def _link(self, tenant: str, offsets: Iterable[int], span: SpanContext) -> None:
        for some in batched(offsets, LINKED):
            self._send(Linked(tenant, some, span))

    def _send(self, message: Wake | Wanted | Linked | End) -> bool:
        """Send, unless there is no worker, or one that does not listen: what is lost so costs time at most. Whether it was sent."""
        body = packed(message)
        with self._lock:
            if self._process is None or self._process.stdin is None or len(body) > MOST_BYTES:
                return False
            try:
                os.write(self._process.stdin.fileno(), body)
            except OSError:
                return False
        return True


class _Forwarded:
    """What traces had to find again at length, told to the worker, which keeps it when it has time."""

    def __init__(self, send: Callable[[Wanted], object]) -> None:
        self._send = send

    def add(self, wanted: Wanted) -> None:
        """Ask for a table."""
        self._send(wanted)
