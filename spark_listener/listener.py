"""The listener: a daemon thread that converts Spark's events to OpenLineage and writes them to the spool.

The listener may be slow or fail at one query, but the program must never notice. A query that cannot be converted counts as a fault in the
ledger. At the end of the program, the listener has limited time to finish.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.breaker import Breaker
from headwater.spark_listener.lineage.asked_tables import AskedTables
from headwater.spark_listener.operations import DeclaredOperation, RecordedOperations
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.rdd import SavedRDD
from headwater.spark_listener.tally import Tally

if TYPE_CHECKING:
    from headwater.spark_listener.scribe import Scribe

_log = logging.getLogger("headwater.listener")
_DRAIN_MS = 500
_SOON_MS = 250  # the longest wait for events while a query or job runs whose START is not written yet


class Listener:
    """Reads events from the bridge to the JVM, and notes from the program's threads. The scribe writes them."""

    def __init__(self, open_scribe: Callable[[], Scribe], breaker: Breaker, tally: Tally) -> None:
        self._open_scribe = open_scribe
        self._breaker = breaker
        self._tally = tally
        self._notes: queue.SimpleQueue[SavedRDD | DeclaredOperation | RecordedOperations | None] = queue.SimpleQueue()
        self._bridge: Any = None
        self._finishing = False
        self.bus_seconds = 0.0  # time of Spark's last events at the end; `SparkContext.stop` waits for them in any case
        self._asked_tables = AskedTables()
        self._scribe: Scribe | None = None
        self._thread = threading.Thread(target=self._run, name="headwater-listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def drain_from(self, bridge: Any) -> None:
        self._bridge = bridge
        self._notes.put(None)

    def note(self, seen: SavedRDD | DeclaredOperation | RecordedOperations) -> None:
        """Add an event of the program that the bridge does not report."""
        self._notes.put(seen)

    def finish(self, timeout: float) -> bool:
        """Read the remaining events and end within `timeout` seconds. Return false if that failed."""
        self._finishing = True
        self._notes.put(None)
        if self._bridge is not None:
            with contextlib.suppress(Exception):  # the JVM is gone; the thread ends by itself
                self._bridge.wake()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def state_end(self, outcome: Outcome, at: float, faults: Sequence[Mapping[str, Any]]) -> None:
        if self._scribe is not None:
            self._read_operations(self._scribe)
            self._scribe.end(outcome, at, faults)

    def _run(self) -> None:
        try:
            scribe = self._scribe = self._open_scribe()
            while self._breaker.closed:
                finishing = self._finishing  # before reading, so that the loop below reads everything before the end
                self._read_notes(scribe, wait=self._bridge is None and not finishing)
                drained = self._read_bridge(scribe, 0 if finishing else _SOON_MS if scribe.waiting else _DRAIN_MS, flush=finishing)
                if not finishing:
                    self._start_lasting(scribe)
                if finishing and not drained:
                    break
        except Exception as error:  # noqa: BLE001  # the promise of the module's docstring
            if type(error).__name__ == "Py4JNetworkError":
                _log.debug("the JVM is gone", exc_info=error)  # killed, or ended by the program: its last actions are unknown
            else:
                self._breaker.open(f"the listener stopped: {type(error).__name__}: {error}")
        finally:
            self._close_bridge()

    def _read_notes(self, scribe: Scribe, *, wait: bool) -> None:
        while True:
            try:
                seen = self._notes.get(block=wait)
            except queue.Empty:
                return
            wait = False
            if isinstance(seen, DeclaredOperation | RecordedOperations):
                with self._breaker.counted("an operation was declared"):
                    scribe.operation(seen)
            elif seen is not None:
                drained = self._read_bridge(scribe, 0, flush=True)  # events of ended jobs come first
                while drained:
                    drained = self._read_bridge(scribe, 0, flush=False)
                with self._breaker.counted("an RDD was saved"):
                    scribe.saved_rdd(seen)

    def _read_operations(self, scribe: Scribe) -> None:
        """Write operations that the program declared after its SparkContext had stopped."""
        while not self._notes.empty():
            seen = self._notes.get()
            if isinstance(seen, DeclaredOperation | RecordedOperations):
                with self._breaker.counted("an operation was declared"):
                    scribe.operation(seen)

    def _read_bridge(self, scribe: Scribe, timeout_ms: int, *, flush: bool) -> bool:
        if self._bridge is None:
            return False
        if flush:
            began = time.perf_counter()
            self._bridge.flush()
            self.bus_seconds += time.perf_counter() - began if self._finishing else 0.0
        events = self._bridge.drain(timeout_ms)
        for event in events:
            with self._breaker.counted(str(event.get("event"))):
                scribe.take(self._asked_tables.completed(event, self._bridge.table_columns, is_ending=self._finishing))
        return bool(events)

    def _start_lasting(self, scribe: Scribe) -> None:
        if self._bridge is not None:
            with self._breaker.counted("telling what runs"):
                scribe.start_lasting(self._bridge.running)

    def _close_bridge(self) -> None:
        self._tally.thread_seconds += time.thread_time()
        if self._bridge is None:
            return
        try:
            self._tally.thread_seconds += self._bridge.describing_seconds()
            self._bridge.close()
        except Exception as error:  # noqa: BLE001  # the JVM may be gone already, which is as good
            _log.debug("closing the bridge", exc_info=error)
