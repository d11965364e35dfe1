"""The agent: captures all Spark applications that this process starts, one after another.

The hooks report what the program does. The agent never raises, and never delays the program beyond the settings. At the end it delivers the
lineage and prints a short summary.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headwater.spark_listener.application import Application
from headwater.spark_listener.breaker import Breaker
from headwater.spark_listener.checkpoints import TappedFrame
from headwater.spark_listener.delivery.route import Report, Route
from headwater.spark_listener.hooks import Watcher
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.operations import DeclaredOperation, RecordedOperations
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.rdd import Origins, SavedRDD, mark_jobs, mark_looks
from headwater.spark_listener.settings import Mode, Settings
from headwater.spark_listener.spark_conf import SparkConf
from headwater.spark_listener.summary import summary
from headwater.spark_listener.tally import Tally
from headwater.spark_listener.telling import NOT_IN_MODE_OFF, tell

if TYPE_CHECKING:
    from headwater.spark_listener.rdd_records.border import FrameHandover
    from headwater.spark_listener.rdd_records.program import Program

_log = logging.getLogger("headwater")
_MOST_EARLY = 1000  # declared operations before the first SparkContext


class Agent(Watcher):
    """The agent of a process. `finish` ends it; the hooks call all other methods."""

    def __init__(self, settings: Settings, invocation: Invocation, *, loading_seconds: float = 0.0) -> None:
        """`loading_seconds` is the processor time that Headwater took in this process before the program started."""
        self.settings = settings
        self._loading_seconds = loading_seconds
        self._invocation = invocation
        self._breaker = Breaker()
        self._current: Application | None = None
        self._ended: list[Application] = []
        self._origins = Origins()
        self._route: Route | None = None
        self._finished = False
        self._early: list[DeclaredOperation | RecordedOperations] = []

    @property
    def watching(self) -> bool:
        """Return whether the hooks should report. False in forked children."""
        return self.settings.mode is not Mode.OFF and not self._finished and self._breaker.closed

    def context_started(self, context: Any) -> None:
        with self._breaker.guard("starting capture"):
            self._end_current()
            began = time.perf_counter()
            conf = SparkConf.of(context)
            if self._route is None:
                self.settings = conf.over(self.settings)
                if self.settings.mode is Mode.OFF:
                    if self.settings.skip_failing:
                        tell(NOT_IN_MODE_OFF)
                    return
                self._route = Route.choose(self.settings)
            self._origins = Origins()
            self._current = Application(context, conf.over(self.settings), self._invocation, self._breaker, self._origins, conf)
            self._route.add(self._current.folder)
            early, self._early = self._early, []
            for operation in early:
                self._current.operation(operation)
            with self._breaker.counted("listening to the jobs of a program"):
                self._current.listen()
            self._current.tally.driver_seconds += time.perf_counter() - began

    def session_made(self, session: Any) -> None:
        with self._breaker.guard("capturing a session"):
            if self._current is None or self._current.context is not session.sparkContext:
                self.context_started(session.sparkContext)
            if self._current is not None and not self._current.over:
                self._current.adopt(session)

    def context_stopped(self, context: Any) -> None:
        with self._breaker.guard("ending capture"):
            if self._current is not None and self._current.context is context:
                self._current.stopped()
                self._wake()

    def frame_becomes_rdd(self, frame: Any) -> FrameHandover | None:
        """Return the RDD to give to a program that takes `df.rdd`. None if the records cannot be followed."""
        handed = None
        with self._breaker.counted("making an RDD of a DataFrame"):
            if self._current is not None and self.program(frame.sparkSession.sparkContext) is not None:
                handed = self._current.handed_over(frame)
        return handed

    def frame_became_rdd(self, frame: Any, rdd: Any, token: FrameHandover | None) -> None:
        with self._breaker.counted("a DataFrame became an RDD"):
            self._origins.remember(frame, rdd, None if token is None else token.plan)
            program = self.program(frame.sparkSession.sparkContext)
            if program is not None and token is not None and token.refused is not None:
                program.mark(rdd, token.refused)

    def look_begins(self, context: Any) -> None:
        with self._breaker.counted("marking a look at an RDD's schema"):
            mark_looks(context, begin=True)

    def look_ended(self, context: Any) -> None:
        with self._breaker.counted("marking a look at an RDD's schema"):
            mark_looks(context, begin=False)

    def rdd_became_frame(self, rdd: Any, rows: Any, frame: Any) -> Any:
        """Return the DataFrame to give to a program that made one from an RDD. It has references if the RDD's records have them."""
        made = frame
        with self._breaker.counted("making a DataFrame of an RDD"):
            if self._current is not None and rows is not None and self.program(rows.ctx) is not None:
                made = self._current.taken_over(rows, frame)
        with self._breaker.counted("an RDD became a DataFrame"):
            self._origins.remember_frame(rdd, made)
        return made

    def checkpoint_begins(self, frame: Any) -> TappedFrame | None:
        """Return the DataFrame to checkpoint instead of the program's. None if the records cannot be followed."""
        tapped = None
        with self._breaker.counted("looking at what is checkpointed"):
            if self._current is not None:
                tapped = self._current.tapped(frame)
        return tapped

    def frame_checkpointed(self, frame: Any, checkpoint: Any, token: TappedFrame | None) -> None:
        with self._breaker.counted("a DataFrame was checkpointed"):
            self._origins.remember_checkpoint(frame if token is None or token.frame is None else token.frame, checkpoint)
            if token is not None:
                token.made(checkpoint)

    def program(self, context: Any) -> Program | None:
        """Return the RDDs of a context. None while records are not captured."""
        if not self.watching or self._current is None or self._current.context is not context:
            return None
        try:
            return self._current.program
        except Exception as error:  # noqa: BLE001  # the program goes on without records of its RDDs
            self._breaker.fault("loading what follows records of RDDs", error)
            return None

    def rdd_fault(self, doing: str, error: Exception) -> None:
        self._breaker.fault(doing, error)

    def save_begins(self, rdd: Any, method: str, arguments: dict[str, Any]) -> SavedRDD | None:
        """Describe an RDD before the program saves it. Its inputs are read now, because they may no longer exist afterwards."""
        began = time.time()
        saved = None
        if self._current is None:
            return None
        with self._breaker.counted("looking for an RDD's inputs"):
            found = self._origins.inputs_of(rdd)
            conf = arguments.get("conf") or {}
            path = arguments.get("path") or conf.get("mapreduce.output.fileoutputformat.outputdir") or conf.get("mapred.output.dir")
            saved = SavedRDD(
                id=uuid4().hex,
                operation=method,
                inputs=found.paths,
                outputs=[str(path)] if path else [],
                started=began,
                ended=began,
                problems=found.problems,
            )
        with self._breaker.counted("listening to the jobs of an RDD"):
            self._current.listen()
            if saved is not None:
                mark_jobs(self._current.context, saved.id)
        with self._breaker.counted("following the records of an RDD"):
            if saved is not None:
                saved = self._current.recorded(saved, rdd)
        self._current.tally.driver_seconds += time.time() - began
        return saved

    def save_ended(self, token: SavedRDD, error: BaseException | None) -> None:
        with self._breaker.counted("an RDD was saved"):
            if self._current is not None:
                text = f"{type(error).__name__}: {error}" if error is not None else None
                ended, capture = time.time(), None
                with self._breaker.counted("telling what an RDD wrote"):
                    capture = self._current.capture(token) if error is None else None
                self._current.note(token.ended_at(ended, text, capture))
                with contextlib.suppress(Exception):  # a dead JVM has no further jobs
                    mark_jobs(self._current.context, None)

    def operation(self, operation: DeclaredOperation | RecordedOperations) -> None:
        """Report that a declared operation began or ended. Operations before the first SparkContext are stored until it exists."""
        with self._breaker.counted("an operation was declared"):
            if self._current is not None:
                self._current.operation(operation)
            elif len(self._early) < _MOST_EARLY:
                self._early.append(operation)

    def finish(self, outcome: Outcome) -> None:
        """Report the end of the program, deliver its lineage, and print the summary."""
        if self.settings.mode is Mode.OFF or self._finished or self._breaker.forked:
            return
        self._finished = True
        with self._breaker.guard("ending capture"):
            self._end_current(outcome)
        with self._breaker.guard("saying what was captured"):
            self._ended_all(outcome)

    def _end_current(self, outcome: Outcome | None = None) -> None:
        if self._current is None:
            return
        application, self._current = self._current, None
        self._ended.append(application)
        application.end(outcome or Outcome())
        self._wake()

    def _ended_all(self, outcome: Outcome) -> None:
        if self._route is None:
            if not self.settings.quiet and outcome.exit_code in (0, None):
                sys.stderr.write("headwater: no SparkContext was started in this process; nothing was captured." + "\n")
            return
        tally = Tally(loading_seconds=self._loading_seconds)
        for application in self._ended:
            tally.add(application.tally)
        began = time.perf_counter()
        until = time.monotonic() + self.settings.exit_wait
        sent = [application.transports for application in self._ended if application.transports is not None]
        for transports in sent:
            transports.finish(max(0.0, until - time.monotonic()))
        try:
            delivered = self._route.finish()
        except OSError as error:  # the summary reports the loss
            delivered = Report(str(self.settings.home), left=f"not all of it could be delivered: {error}.")
        tally.delivery_seconds = time.perf_counter() - began
        for line in [line for application in self._ended for line in application.set_aside_lines]:
            tell(line)
        if not self.settings.quiet:
            sys.stderr.write(summary(tally, delivered, self.settings, self._breaker, [transports.summary() for transports in sent]) + "\n")

    def _wake(self) -> None:
        if self._route is not None:
            self._route.wake()
