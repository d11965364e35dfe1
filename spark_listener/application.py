"""Captures one Spark application, from the start of its SparkContext to the end of its run.

The program's threads call `adopt`, `listen`, `tapped`, `note` and `stopped` only. Everything else happens in the listener's thread. The
program must never be delayed beyond the settings, and everything that was not captured must be reported.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
from contextlib import closing
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from headwater.errors import CaptureUnavailableError
from headwater.spark_listener.breaker import Breaker
from headwater.spark_listener.checkpoints import TappedFrame
from headwater.spark_listener.delivery.transport_config import transport_config
from headwater.spark_listener.delivery.transports import Transports
from headwater.spark_listener.facts import Facts
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.listener import Listener
from headwater.spark_listener.operations import DeclaredOperation, RecordedOperations
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.rdd import Origins, SavedRDD
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.settings import Mode, Settings
from headwater.spark_listener.spark_conf import SparkConf
from headwater.spark_listener.spool import SpoolFolder
from headwater.spark_listener.tally import Tally
from headwater.spark_listener.telling import tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.spark_listener.rdd_records.border import FrameHandover
    from headwater.spark_listener.rdd_records.program import Program
    from headwater.spark_listener.scribe import Scribe
    from headwater.spark_listener.set_aside.register import Register

_log = logging.getLogger("headwater.application")
# Events arrive within milliseconds of the end, unless Spark is overloaded. A missed event is lineage lost for good.
_LONGEST_END = 30.0
_LOCAL = re.compile(r"^local(\[.*\]|-cluster\[.*\])?$")


class Application:
    """The capture of one application. `context` is PySpark's started SparkContext."""

    def __init__(
        self, context: Any, settings: Settings, invocation: Invocation, breaker: Breaker, origins: Origins, conf: SparkConf
    ) -> None:
        self._settings = settings
        self._breaker = breaker
        self._origins = origins
        self.context = context
        self.tally = Tally()
        application_id = str(context.applicationId)
        self.folder = SpoolFolder.create(settings.home / "spool", f"{application_id}-{uuid4().hex[:8]}", limit=settings.spool_bytes)
        self.stopped_at: float | None = None
        self._obstacle = _obstacle(context, settings)
        facts = Facts(
            id=application_id, name=str(context.appName), spark_version=str(context.version), started=time.time(),
            obstacle=self._obstacle, conf=conf,
        )  # fmt: skip
        config = None if settings.apart else transport_config(conf.theirs, os.environ)
        self.transports = None if config is None else Transports(config)
        self._bridge: Any = None
        self._tried = False
        self._program: Program | None = None
        self._program_lock = RLock()
        shared = urlsplit(settings.segments or "")
        self._recorded_in = Path(shared.path) if settings.segments else self.folder.segments
        self._set_aside: Register | None = None
        self._not_set_aside: list[str] = []  # operators whose failing rows are not set aside
        self.set_aside_lines: list[str] = []  # for the end of the program: what was set aside, and what is not covered
        self._records_rdds = (
            settings.records_rdds and self._obstacle is None and shared.scheme in ("", "file")
        )  # Python workers write segments as local files
        self._problems: list[dict[str, str | None]] = []
        if settings.skip_failing:
            self._set_aside = self._open_register(settings, shared.path)

        def open_scribe() -> Scribe:
            from headwater.spark_listener.scribe import Scribe  # imported on the listener's thread, so the program does not wait

            scribe = Scribe(self.folder, facts, settings, self.tally, origins, self.transports, self._recorded, self._set_aside)
            scribe.start(invocation)
            return scribe

        self._listener = Listener(open_scribe, breaker, self.tally)
        self._listener.start()

    def adopt(self, session: Any) -> None:
        began = time.perf_counter()
        self._listen()
        if self._bridge is not None:
            self._bridge.adopt(session)
            self.tally.spark_seconds = self._bridge.spark_seconds
        self.tally.driver_seconds += time.perf_counter() - began

    def listen(self) -> None:
        """Capture the jobs of a program that may have no session. If the only attempt fails, RDDs are known without their stages."""
        if not self._tried:
            self._tried = True
            self._listen()

    def _listen(self) -> None:
        if self._bridge is not None or self.tally.unheard is not None:
            return
        try:
            self._bridge = self._bridge_of(self.context)
        except CaptureUnavailableError as error:  # the failure is permanent, so no further session is tried
            self.tally.unheard = str(error).partition("\n")[0].rstrip(".")
            self._problems.append({"operator": "capture", "reason": f"queries were not followed: {self.tally.unheard}", "kind": "missing"})
            _log.warning("Queries of %s are not followed. %s", self.context.appName, error)
            return
        if self._set_aside is not None:
            self._guard_functions(self._set_aside)
        self.tally.spark_seconds = self._bridge.spark_seconds
        self._origins.describe = getattr(self._bridge, "described", None)
        self._listener.drain_from(self._bridge)

    def _open_register(self, settings: Settings, shared: str) -> Register | None:
        """Begin to set failing records aside. Say so, or why not."""
        try:
            from headwater.spark_listener.set_aside.start import open_register

            place = Path(shared) / f"set-aside-{self.folder.path.name}" if shared else self.folder.path / "set-aside"
            return open_register(self.context, settings, place, lambda: self.program, lambda rdd: self._files_read(rdd, True))
        except Exception as error:  # noqa: BLE001  # the job runs as without this setting
            tell(f"skipFailing is NOT in effect, and a failing record fails the job: {error}")
            return None

    def _guard_functions(self, register: Register) -> None:
        try:
            from headwater.spark_listener.set_aside.functions import guarding_pickles

            self._bridge.set_aside(guarding_pickles(register.claims))
        except Exception as error:  # noqa: BLE001  # likewise
            tell(f"skipFailing does NOT cover functions of Spark SQL here: {error}")

    def _bridge_of(self, context: Any) -> Any:
        from headwater.spark_listener.capture import Bridge
        from headwater.spark_listener.capture.jar import untried

        if untried(str(context.version)):
            from headwater.spark_listener.capture.plain import PlainBridge

            return PlainBridge.listen(context)
        return Bridge.listen(
            context,
            mode=str(self._settings.mode if self._obstacle is None else Mode.COARSE),
            segments=self._settings.segments or str(self.folder.segments),
            budget=self._settings.derivation_budget,
            readable=self._settings.readable,
            overwritten=self._overwritten(),
            keys=dict(self._settings.jdbc_keys),
            look=self._settings.look_seconds,
        )

    def _overwritten(self) -> list[str]:
        """Return the folders that jobs of this home overwrite. Mode auto writes all records that are read from there."""
        if self._settings.mode is not Mode.AUTO:
            return []
        with closing(Registry(self._settings.home)) as registry:
            return registry.overwritten()

    @property
    def program(self) -> Program | None:
        """Return the RDDs of the application. None if their records are not captured. The code is loaded with the first RDD."""
        with self._program_lock:
            if self._program is None and self._records_rdds:
                from headwater.spark_listener.rdd_records.program import Program
                from headwater.spark_listener.rdd_records.sparing import Sparing, workers_have_loops

                sparing = Sparing(compiled=workers_have_loops(self.context)) if self._settings.spares_rdds else None
                reads = self._files_read, self._bytes_read
                self._program = Program(self.context, self._recorded_in, self._settings.spool_bytes, *reads, sparing)
        return self._program

    def recorded(self, saved: SavedRDD, rdd: Any) -> SavedRDD:
        """Return the RDD to save in place of `rdd`, so that its records can be followed."""
        if self.program is None:
            return saved
        from headwater.spark_listener.rdd_records.saves import begin_save

        return begin_save(self.program, saved, rdd)

    def capture(self, saved: SavedRDD) -> dict[str, Any] | None:
        if self._program is None or self._bridge is None:
            return None
        from headwater.spark_listener.rdd_records.saves import end_save

        return end_save(self._program, saved, self._bridge.files_written)

    def _files_read(self, rdd: Any, lines: bool) -> dict[str, Any]:  # passed on as a function
        self.listen()
        found: dict[str, Any] = (
            self._bridge.files_read(rdd, lines) if self._bridge is not None else {"problem": "its files could not be listed"}
        )
        return found

    def _bytes_read(self, rdd: Any, most: int) -> int | None:  # likewise
        self.listen()
        return None if self._bridge is None else self._bridge.bytes_read(rdd, most)

    def tapped(self, frame: Any) -> TappedFrame | None:
        """Return the DataFrame to checkpoint in place of `frame`."""
        began = time.perf_counter()
        found = None if self._bridge is None else TappedFrame.of(frame, self._bridge)
        self.tally.driver_seconds += time.perf_counter() - began
        return found

    def handed_over(self, frame: Any) -> FrameHandover | None:
        if self.program is None or self._bridge is None:
            return None
        began = time.perf_counter()
        from headwater.spark_listener.rdd_records.border import rdd_of
        from headwater.spark_listener.rdd_records.operators import unseen

        with unseen():
            found = rdd_of(self.program, self._bridge, frame)
        self.tally.driver_seconds += time.perf_counter() - began
        return found

    def taken_over(self, rows: Any, frame: Any) -> Any:
        """Return the DataFrame to give to the program for one that PySpark made from an RDD."""
        if self.program is None or self._bridge is None:
            return frame
        began = time.perf_counter()
        from headwater.spark_listener.rdd_records.border import frame_of
        from headwater.spark_listener.rdd_records.operators import unseen

        with unseen():
            made = frame_of(self.program, self._bridge, rows, frame)
        self.tally.driver_seconds += time.perf_counter() - began
        return made

    def _recorded(self, parts: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._program is None:
            return parts
        try:
            return self._program.completed(parts)
        except Exception as error:  # noqa: BLE001  # the query is known by its datasets
            self._breaker.fault("telling what a DataFrame of an RDD was made of", error)
            problem = {"operator": "RDD", "reason": f"what its rows are made of could not be told: {error}", "kind": "fault"}
            return {**parts, "status": "refused", "boundaries": [], "segments": [], "problems": [*parts["problems"], problem]}

    def note(self, saved: SavedRDD) -> None:
        self._listener.note(saved)

    def operation(self, operation: DeclaredOperation | RecordedOperations) -> None:
        self._listener.note(operation)

    def stopped(self) -> None:
        """Wait for Spark's last events after the SparkContext has stopped, and spool them."""
        if self.stopped_at is not None:
            return
        self.stopped_at = time.time()
        if self._set_aside is not None:
            with contextlib.suppress(Exception):  # the JVM may be gone
                self._not_set_aside = self._bridge.not_set_aside()
        began = time.perf_counter()
        if not self._listener.finish(_LONGEST_END):
            reason = f"what the last queries did was not told within {_LONGEST_END:.0f} s of the end, and is missing"
            self._problems.append({"operator": None, "reason": reason, "kind": "missing"})
            _log.warning("Lineage of %s is not complete: %s.", self.context.appName, reason)
        self.tally.spark_seconds += self._listener.bus_seconds
        if self._program is not None:
            self._program.close()
        self.tally.driver_seconds += time.perf_counter() - began

    def end(self, outcome: Outcome) -> None:
        self.stopped()
        self._listener.state_end(outcome, self.stopped_at or time.time(), [*self._problems, *self._breaker.problems()])
        if self._set_aside is not None:
            self.set_aside_lines = self._set_aside.summary(self._not_set_aside)
            self._set_aside.close()

    @property
    def over(self) -> bool:
        return self.stopped_at is not None or getattr(self.context, "_jsc", None) is None


def _obstacle(context: Any, settings: Settings) -> dict[str, Any] | None:
    """Return the reason why records cannot be captured in this application. None if they can."""
    from headwater.spark_listener.capture.jar import untried

    refusal = untried(str(context.version))
    if refusal:
        return {"operator": "capture", "reason": refusal, "kind": "refused"}
    if not settings.mode.records or _LOCAL.match(str(context.master)) or settings.segments:
        return None
    reason = f"executors of {context.master} may not share a disk with the driver; set HEADWATER_SEGMENTS to a location that all reach"
    return {"operator": "capture", "reason": reason, "kind": "refused"}
