"""Writes runs of queries and commands. Decides which of them are separate runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.capture.session import OURS
from headwater.spark_listener.lineage.datasets import bare_input
from headwater.spark_listener.lineage.events import Work, instant
from headwater.spark_listener.lineage.facets import SET_ASIDE, numbers_of
from headwater.spark_listener.lineage.queries import Query, QueryContext, query_of, running_of
from headwater.spark_listener.rdd import Origins
from headwater.spark_listener.scribe.framing import Framed, is_step
from headwater.spark_listener.scribe.running import Running, RunningQueries, is_look, may_look
from headwater.spark_listener.scribe.stream_runs import StreamRuns
from headwater.spark_listener.scribe.streams import Stream, did
from headwater.spark_listener.scribe.writer import Writer
from headwater.spark_listener.settings import LeaveOut, Settings
from headwater.spark_listener.tally import Tally

if TYPE_CHECKING:
    from headwater.spark_listener.set_aside.register import Register

_VIEWS = ("CreateViewCommand", "CreateTempViewUsing", "AlterViewAsCommand")
_CACHES = (" CacheTable", " CacheTableAsSelect")


class QueryRuns:
    """Runs of queries of one application. `recorded` adds the RDDs from which the rows of a query came to its capture."""

    def __init__(
        self,
        writer: Writer,
        context: QueryContext,
        settings: Settings,
        tally: Tally,
        origins: Origins,
        streams: StreamRuns,
        recorded: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        register: Register | None = None,
    ) -> None:
        self._writer = writer
        self._context = context
        self._leave_out = settings.leave_out
        self._tally = tally
        self._origins = origins
        self._streams = streams
        self._recorded = recorded
        self._register = register
        self._running = RunningQueries()
        self._framed = Framed()
        streams.call_at_batch_end(self._resume)

    def __len__(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> bool:
        return self._running.waiting()

    def take(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "query_start":
            self._running.begin(event, instant(event["time"]))
        else:
            self._ended(event)

    def start_lasting(self, ask: Callable[[Any], Mapping[str, Any] | None]) -> None:
        """Write START, later RUNNING, for each long query. `ask` returns its kind and progress, or None if it has ended."""
        for query in self._running.due():
            work = self._going_on(query, ask)
            if work is None:
                continue
            if query.start_spooled:
                self._writer.progress(work)
            else:
                self._writer.start(work)
                query.start_spooled = True

    def end(self) -> None:
        """Write the queries that still wait for their command, because the application has ended."""
        for event, running in self._framed.left():
            self._write(event, running)

    def _going_on(self, query: Running, ask: Callable[[Any], Mapping[str, Any] | None]) -> Work | None:
        apart = query.description == OURS or query.looks_at_schema or self._stream_of(query) is not None
        if apart or query.keeps_rows or is_step(query, self._running.above(query)):
            return None
        found = ask(query.execution)
        plan = (found or {}).get("plan") or {}
        sink = plan.get("sink") or {}
        if found is None or not plan or (plan.get("command") and not sink) or sink.get("staged"):
            return None  # a command may be around the query that writes, or part of another; its end decides
        if query.is_by_sql and may_look(plan):
            return None  # the text decides at its end
        return running_of(plan, found["stages"], query.started, self._context, query.run_id)

    def _ended(self, event: Mapping[str, Any]) -> None:
        running = self._running.end(event["execution"], instant(event["time"]))
        if running.description == OURS:
            return  # run by `headwater.lineage`, not by the program
        above = self._running.above(running)
        if self._framed.hold(event, running, above):
            return
        has_sink = bool((event.get("plan") or {}).get("sink"))
        if not has_sink and not running.start_spooled and is_step(running, above):
            self._tally.left_out[LeaveOut.NESTED] += 1
            return
        event, query = self._framed.whole(event, running)
        if query is not running:
            self._tally.left_out[LeaveOut.NESTED] += query.execution != running.execution
        self._write(event, query)

    def _resume(self, stream: Stream) -> None:
        stream.learn(self._origins.kept)
        held, stream.held = stream.held, []
        for event, running in held:
            self._write(event, running, stream)

    def _write(self, event: Mapping[str, Any], running: Running, resumed_by: Stream | None = None) -> None:
        """Write or count an ended query. `resumed_by` is the stream of the batch for which the query waited."""
        batch_of = resumed_by or self._batch_of(running)
        if batch_of is not None and resumed_by is None and self._is_held(event, running, batch_of):
            return
        event, plan = self._completed(event, running), event.get("plan") or {}
        left_out = _no_run(running, plan, str(event.get("sql") or ""), failed=bool(event.get("error")))
        if left_out in self._leave_out:
            self._tally.left_out[left_out] += 1
            return
        stream = batch_of if LeaveOut.BATCHES in self._leave_out else None
        if stream is not None and event.get("stream"):
            stream.interrupted = bool((event.get("error") or {}).get("cancelled"))
            self._tally.left_out[LeaveOut.BATCHES] += 1
            return  # the stream reports its end
        query = query_of(
            {**event, "plan": self._origins.kept.within(plan)},
            running.started,
            self._context,
            run_id=running.run_id,
            segments=self._writer.segments,
        )
        if query is None:
            return
        query = self._with_set_aside(self._with_rdds(query, event), event, running)
        if not query.work.inputs and not query.work.outputs and query.work.outcome.error is None:
            is_part = stream is not None or running.root not in (None, running.execution)  # part of something with its own run
            if is_part or LeaveOut.OWN in self._leave_out:
                self._tally.queries += not is_part and not plan.get("command")
                self._tally.left_out[LeaveOut.OWN] += not is_part
                return
        if stream is not None and (query.manifest is None or query.manifest["status"] == "refused"):
            did(stream, query.work.inputs, query.work.outputs if query.work.outcome.error is None else (), query.unknown)
            return
        if query.work.outputs:
            self._running.wrote(running)
        work = query.work
        self._tally.queries += 1
        self._tally.failed += work.outcome.error is not None
        self._tally.datasets(work.inputs, work.outputs)
        self._tally.problems(work.ledger.problems)
        self._note_overwrite(query, (event.get("plan") or {}).get("sink") or {})
        if query.manifest is not None:
            work = replace(work, ledger=self._writer.capture(query.manifest, work.ledger))
        self._writer.end(work, started=running.start_spooled)

    def _note_overwrite(self, query: Query, sink: Mapping[str, Any]) -> None:
        paths = [dataset.name for dataset in query.work.outputs if dataset.namespace == "file"]
        if query.work.outcome.error is not None or not paths:
            return
        if sink.get("mode") == "overwrite":
            self._writer.register(lambda registry: registry.add_overwritten(paths[0]))
        self._tally.left_groups(paths[0], query.manifest or {})

    def _is_held(self, event: Mapping[str, Any], running: Running, stream: Stream) -> bool:
        """Return whether a query waits for the end of its batch. The batch's own query, which ends last, names the sources."""
        plan = event.get("plan") or {}
        if event.get("stream"):
            stream.plan, stream.given = self._origins.kept.within(plan), event.get("given") or ()
            return False
        return self._origins.kept.awaits(plan) and stream.hold(event, running)

    def _completed(self, event: Mapping[str, Any], running: Running) -> Mapping[str, Any]:
        """Return the end of a query, with the captured RDDs, and without counts of rows that are not read yet."""
        if event.get("capture"):
            event = {**event, "capture": self._recorded(event["capture"])}
        return {**event, "read": None} if running.reads_later else event

    def _stream_of(self, query: Running) -> Stream | None:
        """Return the stream that reports a query: one of its batches, or a query of a program's function in a batch.

        None if batches are reported separately.
        """
        return self._batch_of(query) if LeaveOut.BATCHES in self._leave_out else None

    def _batch_of(self, query: Running) -> Stream | None:
        return self._streams.of_batch(query.description) or self._streams.of_batch(self._running.description(query.root))

    def _with_set_aside(self, query: Query, event: Mapping[str, Any], running: Running) -> Query:
        """Return a query with the records that were set aside: in the facets of its run, and as numbers in its manifest."""
        found = None if self._register is None else self._register.of_query(event, running.execution)
        if found is None:
            return query
        work = replace(query.work, run_facets={**query.work.run_facets, SET_ASIDE: found})
        manifest = query.manifest and {**query.manifest, "setAside": numbers_of(found)}
        return replace(query, work=work, manifest=manifest)

    def _with_rdds(self, query: Query, event: Mapping[str, Any]) -> Query:
        leaves = [operator for operator in (event.get("plan") or {}).get("operators") or () if not operator.get("children")]
        known = {(dataset.namespace, dataset.name) for dataset in query.work.inputs}
        paths = self._origins.of_columns(column["attr"] for leaf in leaves for column in leaf.get("columns") or ())
        added = [dataset for dataset in map(bare_input, paths) if (dataset.namespace, dataset.name) not in known]
        return replace(query, work=replace(query.work, inputs=[*query.work.inputs, *added])) if added else query


def _no_run(query: Running, plan: Mapping[str, Any], sql: str, *, failed: bool) -> LeaveOut | None:
    """Return the reason why a query is not a separate run. None if it is. A query with a START event always is."""
    sink = plan.get("sink") or {}
    if query.start_spooled or (sink and not sink.get("frames")):
        return None
    if query.looks_at_schema or (query.is_by_sql and is_look(sql, plan)):
        return LeaveOut.SCHEMA
    if failed:
        return None
    if query.keeps_rows or str(plan.get("command") or "").endswith(_CACHES):
        return LeaveOut.CHECKPOINTS
    if (plan.get("command") and query.nested_outputs) or (sink and not sink.get("change")):
        return LeaveOut.NESTED
    return LeaveOut.VIEWS if str(plan.get("command") or "").endswith(_VIEWS) else None
