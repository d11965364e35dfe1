"""The scribe: writes into the spool, as OpenLineage and manifests, what the listener reads.

Knows an application's names and its ledger. What the spool had no room for is counted and told with the next event that gets
through, so that a gap is never silent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import environ
from typing import Any

from headwater.errors import HeadwaterError
from headwater.spark_listener.capture.session import OURS
from headwater.spark_listener.delivery.transports import Transports
from headwater.spark_listener.facts import Facts
from headwater.spark_listener.framing import Framed, is_step
from headwater.spark_listener.invocation import Invocation, register_program
from headwater.spark_listener.lineage.datasets import bare_input, bare_output
from headwater.spark_listener.lineage.events import EventMaker, Work, instant, now
from headwater.spark_listener.lineage.facets import CAPTURE, Facet, Ledger, facets
from headwater.spark_listener.lineage.names import job_name, snake_case
from headwater.spark_listener.lineage.parents import RunName, new_run_id
from headwater.spark_listener.lineage.queries import Query, QueryContext, failure_of, ledger_of, manifest_of, query_of, running_of
from headwater.spark_listener.lineage.source_code import source_location
from headwater.spark_listener.lineage.source_text import source_code
from headwater.spark_listener.lineage.stages import stages_of
from headwater.spark_listener.operations import DeclaredOperation, of_configuration
from headwater.spark_listener.outcome import Outcome, is_cancelled
from headwater.spark_listener.rdd import Origins, SavedRDD
from headwater.spark_listener.rdd_jobs import RddJob, RddJobs
from headwater.spark_listener.redact import redact
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.running import Running, RunningQueries
from headwater.spark_listener.settings import LeaveOut, Settings
from headwater.spark_listener.spool import SpoolFolder
from headwater.spark_listener.streams import Stream, Streams, did, outcome_of
from headwater.spark_listener.tally import Tally

_log = logging.getLogger("headwater.listener")
_FULL = {"operator": None, "reason": "the spool is full (HEADWATER_SPOOL_BYTES), so its record lineage was dropped", "kind": "missing"}
_RDD = {
    "operator": "RDD",
    "reason": "records of RDD programs are captured in mode active, or with HEADWATER_RDD_RECORDS=true",
    "kind": "refused",
}


_STREAM = {"operator": "stream", "reason": "records of streams are not followed yet", "kind": "refused"}
_VIEWS = ("CreateViewCommand", "CreateTempViewUsing")


class Scribe:
    """Of one application, used by its listener's thread, and by the program's own when that has ended."""

    def __init__(
        self,
        folder: SpoolFolder,
        facts: Facts,
        settings: Settings,
        tally: Tally,
        origins: Origins,
        transports: Transports | None = None,
        recorded: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    ) -> None:
        """`recorded` adds to the capture of a query what is known of the RDDs that its rows are made of."""
        self._folder = folder
        self._facts = facts
        self._mode = settings.mode
        self._leave_out = settings.leave_out
        self._shared_segments = settings.segments
        self._source_code = settings.source_code
        self._tally = tally
        self._origins = origins
        self._registry = Registry(settings.home)
        self._running = RunningQueries()
        self._rdd_jobs = RddJobs()
        self._streams = Streams()
        self._operations: dict[str, DeclaredOperation] = {}  # those that go on
        self._staged: dict[Any, Mapping[str, Any]] = {}  # by the command that creates a table: the end of the query that fills it
        self._framed = Framed()
        self._saving: dict[str, list[Mapping[str, Any]]] = {}  # the stages of each job of an RDD that is being saved
        job = redact(settings.name or snake_case(facts.name))
        self._application = RunName(settings.namespace, job, new_run_id())
        self._events = EventMaker(
            application=self._application, spark_version=facts.spark_version, parents=facts.conf.parents(environ),
            job_facets=facts.conf.job_facets(),
        )  # fmt: skip
        self._transports = transports
        self._recorded = recorded
        self._context = QueryContext(
            application=self._application, application_id=facts.id, application_name=facts.name,
            spark_version=facts.spark_version, job_prefix=job, mode=settings.mode, obstacle=facts.obstacle,
        )  # fmt: skip

    def start(self, invocation: Invocation) -> None:
        """The application started."""
        problems = [dict(self._facts.obstacle)] if self._facts.obstacle else []
        ledger = Ledger(status="running", mode=self._mode, problems=problems)
        self._events = replace(self._events, run_facets=self._facts.conf.run_facets(invocation.environment, environ))
        source = facets(
            sourceCodeLocation=source_location(invocation.script),
            sourceCode=source_code(invocation.script) if self._source_code else None,
        )
        event = self._events.application_start(instant(self._facts.started * 1000), invocation, self._mode, ledger, source)
        self._folder.describe(application=self._facts.id, start=event, ended=False)
        self._register(lambda registry: register_program(registry, invocation, self._application))
        self._spool(event, durable=True)

    def take(self, event: Mapping[str, Any]) -> None:
        """One event of the capture bridge."""
        kind = event.get("event")
        if kind == "query_start":
            self._running.begin(event, instant(event["time"]))
        elif kind == "query_end":
            self._query_end(event)
        elif kind == "rdd_job_start":
            self._rdd_jobs.begin(event, self._origins.read_by(event["rdds"]))
        elif kind == "rdd_job" and not event.get("save"):
            self._rdd_job_end(event)
        elif str(kind).startswith("stream_"):
            self._stream(event)
        elif kind == "rdd_job":
            self._saving.setdefault(event["save"], []).append(event["stages"] or {})
        elif kind in ("dropped", "fault", "off"):
            reason = f"{event['count']} event(s) of Spark had no room" if kind == "dropped" else str(event.get("reason"))
            self._tally.problems([{"operator": "capture", "reason": redact(reason), "kind": "missing" if kind == "dropped" else "fault"}])

    @property
    def waiting(self) -> bool:
        """Whether a query or a job runs that is soon to be told."""
        return self._running.waiting() or self._rdd_jobs.waiting()

    def tell_running(self, ask: Callable[[Any], Mapping[str, Any] | None]) -> None:
        """Tell the queries that last; `ask` says of one what it is and what it has done, or None where it has ended meanwhile."""
        for query in self._running.due():
            apart = query.description == OURS or query.looks_at_schema or self._stream_of(query) is not None
            apart = apart or query.keeps_rows or is_step(query, self._running.above(query))
            found = None if apart else ask(query.execution)
            plan = (found or {}).get("plan") or {}
            sink = plan.get("sink") or {}
            if found is None or not plan or (plan.get("command") and not sink) or sink.get("staged"):
                continue  # a command may only frame the query that writes, or be a part of another; what it came to is known at its end
            work = running_of(plan, found["stages"], query.started, self._context, query.run_id)
            if work is None:
                continue
            if query.run_told:
                self._spool(self._events.work_runs(work, now()))
            else:
                start = self._events.work_start(work)
                self._folder.run_began(query.run_id, start)  # first: a START that is seen is one that somebody will end
                self._spool(start, durable=True)
                query.run_told = True
        for job in self._rdd_jobs.due():
            if job.left_out(failed=False) not in self._leave_out:
                start = self._events.work_start(self._rdd_work(job, ended="", outcome=Outcome(), stages=None))
                self._folder.run_began(job.run_id, start)
                self._spool(start, durable=True)
                job.run_told = True

    def _rdd_job_end(self, event: Mapping[str, Any]) -> None:
        job = self._rdd_jobs.end(event["job"])
        if job is None:
            return
        outcome = failure_of(event.get("error")) or Outcome()
        left_out = job.left_out(failed=outcome.error is not None)
        if left_out is not LeaveOut.SCHEMA:
            self._tally.rdd_jobs += 1
            self._tally.failed += outcome.error is not None
        if left_out in self._leave_out:
            self._tally.left_out[left_out] += 1
            return
        stages = stages_of([event.get("stages") or {}], float(event["time"]))
        work = self._rdd_work(job, ended=instant(event["time"]), outcome=outcome, stages=stages)
        self._tally.datasets(work.inputs, work.outputs)
        self._tally.problems(work.ledger.problems)
        self._work(work, told=job.run_told)

    def _rdd_work(self, job: RddJob, *, ended: str, outcome: Outcome, stages: Facet | None) -> Work:
        problems = [{"operator": "RDD", "reason": redact(reason), "kind": "missing"} for reason in job.found.problems]
        name = self._context.names.of(self._context.job_prefix, job.operation, None)
        return Work(
            run=RunName(self._application.namespace, name, job.run_id), started=instant(job.started), ended=ended, kind="RDD_JOB",
            inputs=[bare_input(path) for path in job.found.paths], outputs=[], outcome=outcome, stages=stages,
            ledger=Ledger(status="off" if ended else "running", mode=self._mode, problems=problems),
        )  # fmt: skip

    def _stream(self, event: Mapping[str, Any]) -> None:
        """A streaming query began, came on or ended."""
        if event["event"] == "stream_start":
            stream = self._streams.begin(event, instant(event["time"]), self._context.job_prefix, self._context.names)
            if stream is not None:
                self._tally.streams += 1
                start = self._events.work_start(self._stream_work(stream))
                self._folder.run_began(stream.run_id, start)
                self._spool(start, durable=True)
        elif event["event"] == "stream_progress":
            stream = self._streams.progress(event)
            if stream is not None:
                self._spool(self._events.work_runs(self._stream_work(stream), now()))
        elif (stream := self._streams.end(event["run"])) is not None:
            self._stream_ended(stream, instant(event["time"]), outcome_of(stream, failure_of(event.get("error"))))

    def _stream_ended(self, stream: Stream, at: str, outcome: Outcome) -> None:
        work = self._stream_work(stream, ended=at, outcome=outcome)
        self._tally.datasets(work.inputs, work.outputs)
        self._tally.problems(work.ledger.problems)
        self._tally.failed += outcome.error is not None and not outcome.cancelled
        self._work(work, told=True)

    def _stream_work(self, stream: Stream, *, ended: str = "", outcome: Outcome | None = None) -> Work:
        problems: list[Mapping[str, Any]] = [{"operator": "stream", "reason": reason, "kind": "missing"} for reason in stream.unknown()]
        if self._mode.records:
            problems.append(_STREAM)
        status = "running" if not ended else "refused" if self._mode.records else "off"
        return Work(
            run=RunName(self._application.namespace, stream.job, stream.run_id), started=stream.started, ended=ended, kind="QUERY",
            inputs=stream.inputs(), outputs=stream.outputs(), outcome=outcome or Outcome(),
            ledger=Ledger(status=status, mode=self._mode, problems=problems), streaming=True,
        )  # fmt: skip

    def _stream_of(self, query: Running) -> Stream | None:
        """The stream that tells of a query: a batch of it, or what a function of the program's did in one. None where batches are told."""
        if LeaveOut.BATCHES not in self._leave_out:
            return None
        return self._streams.of_batch(query.description) or self._streams.of_batch(self._running.description(query.root))

    def operation(self, operation: DeclaredOperation) -> None:
        """An operation that the program declares began, or ended."""
        work = self._declared_work(operation)
        if operation.ended is None:
            self._operations[operation.run_id] = operation
            start = self._events.work_start(work)
            self._folder.run_began(operation.run_id, start)
            self._spool(start, durable=True)
            return
        self._operations.pop(operation.run_id, None)
        self._tally.operations += 1
        self._tally.failed += operation.outcome.failed and not operation.outcome.cancelled
        self._tally.datasets(work.inputs, work.outputs)
        self._work(work, told=operation.declared_in == "program")

    def _declared_work(self, operation: DeclaredOperation) -> Work:
        return Work(
            run=RunName(self._application.namespace, job_name(self._context.job_prefix, redact(operation.name)), operation.run_id),
            started=instant(operation.started * 1000), ended="" if operation.ended is None else instant(operation.ended * 1000),
            kind="OPERATION", inputs=operation.read(), outputs=operation.written(), job_facets=operation.job_facets(),
            outcome=operation.outcome,
            ledger=Ledger(status="off" if operation.ended else "running", mode=self._mode),
        )  # fmt: skip

    def saved_rdd(self, saved: SavedRDD) -> None:
        """An RDD was saved: a run, with the capture of its records where there is one."""
        inputs = [bare_input(path) for path in saved.inputs]
        outputs = [bare_output(path) for path in saved.outputs]
        run = RunName(
            self._application.namespace,
            self._context.names.of(self._context.job_prefix, saved.operation, (outputs[0].namespace, outputs[0].name) if outputs else None),
            new_run_id(),
        )
        started, ended = instant(saved.started * 1000), instant(saved.ended * 1000)
        manifest = None
        if saved.capture is not None:
            local = None if self._shared_segments else self._folder.segments
            manifest = manifest_of(saved.capture, run, started, ended, self._context, local)
        ledger = self._ledger_of(saved, manifest)
        if manifest is not None and not self._keep(manifest):
            ledger = Ledger(status="refused", mode=self._mode, problems=[*ledger.problems, _FULL])
        self._tally.queries += 1
        self._tally.failed += saved.error is not None
        self._tally.datasets(inputs, outputs)
        self._tally.problems(ledger.problems)
        self._work(
            Work(
                run=run,
                started=started,
                ended=ended,
                kind="RDD_JOB",
                inputs=inputs,
                outputs=outputs,
                outcome=Outcome(error=saved.error, cancelled=is_cancelled(saved.error)) if saved.error else Outcome(),
                ledger=ledger,
                stages=stages_of(self._saving.pop(saved.id, ()), saved.ended * 1000),
            )
        )

    def _ledger_of(self, saved: SavedRDD, manifest: Mapping[str, Any] | None) -> Ledger:
        problems = [{"operator": "RDD", "reason": reason, "kind": "missing"} for reason in saved.problems if manifest is None]
        if manifest is not None:
            return ledger_of(manifest, self._mode, [*manifest["problems"], *problems])
        off = not self._mode.records
        if not off and not (self._facts.obstacle or saved.error):
            problems.insert(0, dict(saved.refused or _RDD))
        if self._facts.obstacle:
            problems.insert(0, dict(self._facts.obstacle))
        return Ledger(status="off" if off else "refused", mode=self._mode, problems=problems)

    def _keep(self, manifest: Mapping[str, Any]) -> bool:
        if self._folder.capture(manifest, segments=self._shared_segments):
            self._tally.capture(manifest)
            return True
        self._tally.dropped += 1
        return False

    def end(self, outcome: Outcome, at: float, faults: Sequence[Mapping[str, Any]]) -> None:
        """The application ended."""
        problems = [{"operator": operator or None, "reason": reason, "kind": "refused"} for operator, reason in self._tally.refused]
        problems += [{**fault, "reason": redact(str(fault["reason"]))} for fault in faults]
        for operation in list(self._operations.values()):
            cut_off = Outcome(error="The application ended before the operation did.", cancelled=True)
            self.operation(replace(operation, ended=at, outcome=cut_off))
        for operation in of_configuration(self._facts.conf.ours):
            self.operation(replace(operation, started=self._facts.started, ended=at, outcome=outcome))
        for stream in self._streams.left():
            self._stream_ended(stream, instant(at * 1000), Outcome(error="The application ended.", cancelled=True))
        for event, running in self._framed.left():
            self._ended(event, running)
        if going := len(self._running) + len(self._rdd_jobs):
            problems.append({"operator": None, "reason": f"{going} querie(s) or jobs had not ended", "kind": "missing"})
        if self._folder.log.damaged:
            problems.append(
                {"operator": None, "reason": f"{self._folder.log.damaged} line(s) of the spool's log were damaged", "kind": "missing"}
            )
        status = "off" if not self._mode.records else "partial" if problems else "complete"
        cost = {
            "driver_ms": round(self._tally.driver_seconds * 1000, 1),
            "planning_ms": round(self._tally.planning_seconds * 1000, 1),
            "tasks_ms": round(self._tally.task_seconds * 1000, 1),
            "thread_ms": round(self._tally.thread_seconds * 1000, 1),
            "bytes": float(self._tally.bytes),
            "rows": float(self._tally.associations),
        }
        left_out = dict(self._tally.left_out) or None
        ledger = Ledger(status=status, mode=self._mode, problems=problems, cost=cost, leftOut=left_out)
        event = self._events.application_end(instant(at * 1000), outcome, ledger)
        self._tell_drops(event)
        self._send_on(event)
        self._folder.last_event(event)
        self._folder.describe(ended=True)
        self._registry.close()

    def _query_end(self, event: Mapping[str, Any]) -> None:
        running = self._running.end(event["execution"], instant(event["time"]))
        plan = event.get("plan") or {}
        if running.description == OURS:
            return  # asked by `headwater.lineage`, not by the program
        if (plan.get("sink") or {}).get("staged"):
            self._staged[running.root] = event
            return
        above = self._running.above(running)
        if self._framed.hold(event, running, above):
            return
        if not plan.get("sink") and not running.run_told and is_step(running, above):
            self._tally.left_out[LeaveOut.NESTED] += 1
            return
        event = _filled(event, self._staged.pop(event["execution"], None))
        if (framed := self._framed.whole(event, running)) is not None:
            self._tally.left_out[LeaveOut.NESTED] += framed[1].execution != running.execution
            event, running = framed
        self._ended(event, running)

    def _ended(self, event: Mapping[str, Any], running: Running) -> None:
        """A query that is to be told, or counted, as it ended."""
        if event.get("capture"):
            event = {**event, "capture": self._recorded(event["capture"])}
        plan = event.get("plan") or {}
        left_out = _no_run(running, plan, failed=bool(event.get("error")))
        if left_out in self._leave_out:
            self._tally.left_out[left_out] += 1
            return
        local = None if self._shared_segments else self._folder.segments
        stream = self._stream_of(running)
        if stream is not None and event.get("stream"):
            stream.plan = self._origins.kept.within(plan)
            stream.interrupted = bool((event.get("error") or {}).get("cancelled"))
            self._tally.left_out[LeaveOut.BATCHES] += 1
            return  # how it ended, the stream tells
        query = query_of(
            {**event, "plan": self._origins.kept.within(plan)}, running.started, self._context, run_id=running.run_id, segments=local
        )
        if query is None:
            return
        query = self._with_rdds(query, event)
        if not query.work.inputs and not query.work.outputs and query.work.outcome.error is None:
            is_part = stream is not None or running.root not in (None, running.execution)  # of something that is told by itself
            if is_part or LeaveOut.OWN in self._leave_out:
                self._tally.queries += not is_part and not plan.get("command")
                self._tally.left_out[LeaveOut.OWN] += not is_part
                return
        if stream is not None and (query.manifest is None or query.manifest["status"] == "refused"):
            did(stream, query.work.inputs, query.work.outputs if query.work.outcome.error is None else ())
            return
        if query.work.outputs:
            self._running.wrote(running)
        self._tally.queries += 1
        self._tally.failed += query.work.outcome.error is not None
        self._tally.datasets(query.work.inputs, query.work.outputs)
        self._tally.problems(query.problems)
        work = query.work
        if query.manifest is not None and not self._keep(query.manifest):
            work = replace(work, ledger=Ledger(status="refused", mode=self._mode, problems=[*query.problems, _FULL]))
        self._work(work, told=running.run_told)

    def _with_rdds(self, query: Query, event: Mapping[str, Any]) -> Query:
        """The query, with what the RDDs at the leaves of its plan read."""
        leaves = [operator for operator in (event.get("plan") or {}).get("operators") or () if not operator.get("children")]
        known = {(dataset.namespace, dataset.name) for dataset in query.work.inputs}
        paths = self._origins.of_columns(column["attr"] for leaf in leaves for column in leaf.get("columns") or ())
        added = [dataset for dataset in map(bare_input, paths) if (dataset.namespace, dataset.name) not in known]
        return replace(query, work=replace(query.work, inputs=[*query.work.inputs, *added])) if added else query

    def _register(self, note: Callable[[Registry], None]) -> None:
        """Note something in the home's registry. Without it replays and values are refused, with what to do; the program goes on."""
        try:
            note(self._registry)
        except (HeadwaterError, OSError) as error:
            _log.warning("This run could not be registered for replays and for reading its data: %s", error)

    def _work(self, work: Work, *, told: bool = False) -> None:
        paths = [dataset.name for dataset in (*work.inputs, *work.outputs) if dataset.namespace == "file"]
        self._register(lambda registry: registry.add_roots(paths))
        if not told:
            self._spool(self._events.work_start(work))
        self._spool(self._events.work_end(work), durable=True)
        self._folder.run_ended(work.run.run_id)

    def _spool(self, event: dict[str, Any], *, durable: bool = False) -> None:
        told = self._tell_drops(event)
        self._send_on(event)
        if not self._folder.event(event, durable=durable):
            self._tally.dropped += 1
        elif told:
            self._folder.told(told)

    def _send_on(self, event: dict[str, Any]) -> None:
        if self._transports is not None:
            self._transports.put(event)

    def _tell_drops(self, event: dict[str, Any]) -> dict[str, int]:
        """State in the event's ledger, if it has one, what was dropped and nobody was told of yet."""
        ledger = event["run"]["facets"].get(CAPTURE)
        if ledger is None or not self._folder.dropped:
            return {}
        ledger["dropped"] = dict(self._folder.dropped)
        return dict(self._folder.dropped)


def _filled(event: Mapping[str, Any], part: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The end of a command that creates a table, with what was captured of the query that filled it, which is a part of it."""
    plan = event.get("plan") or {}
    sink = plan.get("sink")
    if part is None or not sink:
        return event
    version = part["plan"]["sink"].get("version")
    sources = [{**source, **_asked(source, part["plan"])} for source in plan.get("sources") or ()]
    filled = {**event, "plan": {**plan, "sources": sources, "sink": {**sink, **({"version": version} if version else {})}}}
    filled["stages"] = part.get("stages") or event.get("stages")
    if capture := part.get("capture"):
        own = {name: sink[name] for name in ("mode", "creates") if name in sink}
        filled["capture"] = {**capture, "sink": {**(capture.get("sink") or {}), **own}}
    return filled


def _asked(source: Mapping[str, Any], plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a database's catalog told of a source, where the plan of the query that was captured has the answer."""
    told = source.get("jdbc")
    known = (other["parts"] for other in plan.get("sources") or () if told and other.get("jdbc") == told and other.get("parts"))
    return {"parts": parts} if (parts := next(known, None)) else {}


def _no_run(query: Running, plan: Mapping[str, Any], *, failed: bool) -> LeaveOut | None:
    """Why a query is no run of its own, if it is none; one that was told already is one."""
    sink = plan.get("sink") or {}
    if query.run_told or (sink and not sink.get("frames")):
        return None
    if query.looks_at_schema:
        return LeaveOut.SCHEMA
    if failed:
        return None
    if query.keeps_rows:
        return LeaveOut.CHECKPOINTS
    if (plan.get("command") and query.nested_outputs) or (sink and not sink.get("change")):
        return LeaveOut.NESTED
    return LeaveOut.VIEWS if str(plan.get("command") or "").endswith(_VIEWS) else None
