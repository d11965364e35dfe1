"""The scribe: writes the run of an application, and the runs of its work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import environ
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.delivery.transports import Transports
from headwater.spark_listener.facts import Facts
from headwater.spark_listener.invocation import Invocation, register_program
from headwater.spark_listener.lineage.events import EventMaker, instant
from headwater.spark_listener.lineage.facets import SET_ASIDE, Ledger, facets
from headwater.spark_listener.lineage.names import snake_case
from headwater.spark_listener.lineage.parents import RunName, new_run_id
from headwater.spark_listener.lineage.queries import QueryContext
from headwater.spark_listener.lineage.source_code import source_location
from headwater.spark_listener.lineage.source_text import source_code
from headwater.spark_listener.operations import DeclaredOperation, RecordedOperations, of_configuration
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.rdd import Origins, SavedRDD
from headwater.spark_listener.redact import redact
from headwater.spark_listener.scribe.operation_runs import OperationRuns
from headwater.spark_listener.scribe.query_runs import QueryRuns
from headwater.spark_listener.scribe.rdd_runs import RddRuns
from headwater.spark_listener.scribe.stream_runs import StreamRuns
from headwater.spark_listener.scribe.writer import Writer
from headwater.spark_listener.second_run import has_program
from headwater.spark_listener.settings import Settings
from headwater.spark_listener.spool import SpoolFolder
from headwater.spark_listener.tally import Tally

if TYPE_CHECKING:
    from headwater.spark_listener.set_aside.register import Register


class Scribe:
    """The scribe of one application. The listener's thread uses it, and the program's thread after the listener has ended."""

    def __init__(
        self,
        folder: SpoolFolder,
        facts: Facts,
        settings: Settings,
        tally: Tally,
        origins: Origins,
        transports: Transports | None = None,
        recorded: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
        register: Register | None = None,
    ) -> None:
        """`recorded` adds the RDDs from which the rows of a query came to its capture. `register` is None if no record is set aside."""
        self._folder = folder
        self._facts = facts
        self._mode = settings.mode
        self._source_code = settings.source_code
        self._tally = tally
        job = redact(settings.name or snake_case(facts.name))
        self._application = RunName(settings.namespace, job, new_run_id())
        events = EventMaker(
            application=self._application, spark_version=facts.spark_version, parents=facts.conf.parents(environ),
            job_facets=facts.conf.job_facets(),
        )  # fmt: skip
        context = QueryContext(
            application=self._application, application_id=facts.id, application_name=facts.name,
            spark_version=facts.spark_version, job_prefix=job, mode=settings.mode, obstacle=facts.obstacle,
        )  # fmt: skip
        self._writer = Writer(folder, settings, tally, events, transports)
        self._operations = OperationRuns(self._writer, context, tally)
        self._streams = StreamRuns(self._writer, context, tally)
        self._register = register
        self._rdds = RddRuns(self._writer, context, settings, tally, origins, register)
        self._queries = QueryRuns(self._writer, context, settings, tally, origins, self._streams, recorded, register)

    def start(self, invocation: Invocation) -> None:
        problems = [dict(self._facts.obstacle)] if self._facts.obstacle else []
        ledger = Ledger(status="running", mode=self._mode, problems=problems)
        self._writer.run_facets(self._facts.conf.run_facets(invocation.environment, environ))
        source = facets(
            sourceCodeLocation=source_location(invocation.script),
            sourceCode=source_code(invocation.script) if self._source_code else None,
        )
        at = instant(self._facts.started * 1000)
        event = self._writer.events.application_start(at, invocation, self._mode, ledger, source)
        self._folder.describe(application=self._facts.id, start=event, ended=False)
        self._tally.has_program, self._tally.began = has_program(invocation), self._facts.started
        self._writer.register(lambda registry: register_program(registry, invocation, self._application))
        self._writer.write(event, durable=True)

    def take(self, event: Mapping[str, Any]) -> None:
        kind = str(event.get("event"))
        if kind.startswith("query_"):
            self._queries.take(event)
        elif kind.startswith("rdd_job"):
            self._rdds.take(event)
        elif kind.startswith("stream_"):
            self._streams.take(event)
        elif kind in ("dropped", "fault", "missing", "off"):
            reason = f"{event['count']} event(s) of Spark had no room" if kind == "dropped" else str(event.get("reason"))
            known = "missing" if kind in ("dropped", "missing") else "fault"
            self._tally.problems([{"operator": "capture", "reason": redact(reason), "kind": known}])

    @property
    def waiting(self) -> bool:
        return self._queries.waiting or self._rdds.waiting

    def start_lasting(self, ask: Callable[[Any], Mapping[str, Any] | None]) -> None:
        """Write the START or RUNNING of long work. `ask` returns a query's kind and progress, or None if it has ended."""
        self._queries.start_lasting(ask)
        self._rdds.start_lasting()

    def operation(self, operation: DeclaredOperation | RecordedOperations) -> None:
        if isinstance(operation, RecordedOperations):
            self._writer.write(operation.event(self._application.namespace, self._application.job, self._application.run_id), durable=True)
            return
        self._operations.take(operation)

    def saved_rdd(self, saved: SavedRDD) -> None:
        self._rdds.saved(saved)

    def end(self, outcome: Outcome, at: float, faults: Sequence[Mapping[str, Any]]) -> None:
        self._operations.end(at)
        self._writer.register(lambda registry: self._tally.overwritten.update(registry.overwritten()))
        for operation in of_configuration(self._facts.conf.ours):
            self._operations.take(replace(operation, started=self._facts.started, ended=at, outcome=outcome))
        problems = [
            {"operator": operator or None, "reason": reason, "kind": kind}
            for kind, met in (("refused", self._tally.refused), ("missing", self._tally.incomplete))
            for operator, reason in met
        ]
        problems += [{**fault, "reason": redact(str(fault["reason"]))} for fault in faults]
        self._streams.end(instant(at * 1000))
        self._queries.end()
        if going := len(self._queries) + len(self._rdds):
            problems.append({"operator": None, "reason": f"{going} querie(s) or jobs had not ended", "kind": "missing"})
        if self._folder.log.damaged:
            problems.append(
                {"operator": None, "reason": f"{self._folder.log.damaged} line(s) of the spool's log were damaged", "kind": "missing"}
            )
        status = "off" if not self._mode.records else "partial" if problems else "complete"
        cost = {
            "driver_ms": round(self._tally.hook_seconds * 1000, 1),
            "planning_ms": round(self._tally.planning_seconds * 1000, 1),
            "tasks_ms": round(self._tally.task_seconds * 1000, 1),
            "thread_ms": round(self._tally.thread_seconds * 1000, 1),
            "bytes": float(self._tally.bytes),
            "rows": float(self._tally.associations),
        }
        left_out = dict(self._tally.left_out) or None
        ledger = Ledger(status=status, mode=self._mode, problems=problems, cost=cost, leftOut=left_out)
        further = facets(**{SET_ASIDE: self._register.of_application() if self._register is not None else None})
        self._writer.write_last(self._writer.events.application_end(instant(at * 1000), outcome, ledger, further))
