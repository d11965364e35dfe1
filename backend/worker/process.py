"""Runs the worker in a separate process, seen from the service.

Projection uses as much of an interpreter as intake, so each has its own. The service must never wait for the worker, and must survive its
end. A worker that ended is started again, first immediately and then after growing pauses, and `/readyz` reports it. A worker that reads
one entry for too long is terminated; the next worker deals with the entry (`trials`). The worker ends with the service, however that ends.
Both have the log, the graph and the stored associations open, as replicas have. All other information goes over two pipes (`messages`).
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

from headwater.backend.home.settings import Settings
from headwater.backend.ingest.log import IngestLog
from headwater.backend.process import tracing
from headwater.backend.process.logs import configured
from headwater.backend.process.messages import packed, read
from headwater.backend.projector.current_entries import Patience
from headwater.backend.worker.messages import LINKED, MOST_BYTES, Begin, End, Linked, Report, Wake
from headwater.backend.worker.poison_entries import end_of
from headwater.backend.worker.trials import too_long
from headwater.graph.records import Wanted
from headwater.graph.records.batches import batched

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

_WAKE = 0.02  # seconds between two wake-ups; appends in between are projected together
_END = 3.0  # seconds to finish the current work; nothing is lost if an entry takes longer
_AGAIN = 0.05  # seconds until the request to end is repeated
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0  # seconds before a restart
_WATCHED = 1.0  # seconds between two checks of its current entry
_LIVED = 60.0  # a worker that lived for so many seconds has no permanent fault
_log = logging.getLogger("headwater.worker")


class WorkerProcess:
    """Works for the service of `settings` between `start` and `stop`."""

    def __init__(
        self, settings: Settings, log: IngestLog, *, on_projected: Callable[[int], None] = lambda _: None,
        on_restart: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """`on_projected` gets the number of projected entries. `on_restart` is called after an unexpected end of a worker."""
        self.state = "starting"
        self.differences: Sequence[str] = ()
        self.wanted = _Forwarded(self._send)
        self._settings = settings
        self._log = log
        self._on_projected = on_projected
        self._on_restart = on_restart
        self._stopping = Event()
        self._lock = Lock()  # guards the process and its pipe
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = ""  # description of the end of the last worker
        self._was_too_long = False
        self._threads = [
            Thread(target=self._supervise, name="headwater-worker", daemon=True),
            Thread(target=self._wake, name="headwater-waker", daemon=True),
            Thread(target=self._watch, name="headwater-watchdog", daemon=True),
        ]

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None else None

    def start(self) -> None:
        tracing.forward_appended(self._link)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the worker after its current work, within a few seconds."""
        tracing.forward_appended(None)
        self._stopping.set()
        self._log.appended.set()
        supervising, *others = self._threads
        deadline = time.monotonic() + _END
        while supervising.is_alive() and time.monotonic() < deadline and not self._send(End()):
            supervising.join(_AGAIN)  # it may be starting, or have many messages to read first
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
        """Start a worker and read its reports to the end. Returns its exit code, or the reason why it could not be started."""
        # A separate session, because an interrupt of the terminal must reach only the service, which then ends the worker.
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
        """Send a message, if a worker is there and reads. Returns whether it was sent. A lost message causes only a delay."""
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
    """Sends requests for tables that traces had to compute slowly to the worker, which stores them when it has time."""

    def __init__(self, send: Callable[[Wanted], object]) -> None:
        self._send = send

    def add(self, wanted: Wanted) -> None:
        self._send(wanted)
