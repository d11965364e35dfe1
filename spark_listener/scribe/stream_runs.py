"""Writes runs of streaming queries: at the start, at growing intervals, and at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headwater.spark_listener.lineage.events import Work, instant
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.lineage.queries import QueryContext, failure_of
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.scribe.streams import Stream, Streams, failed_batch, outcome_of
from headwater.spark_listener.scribe.writer import Writer
from headwater.spark_listener.settings import LeaveOut
from headwater.spark_listener.tally import Tally

_NO_RECORDS = {"operator": "stream", "reason": "records of streams are not followed yet", "kind": "refused"}


class StreamRuns:
    """Runs of streams of one application."""

    def __init__(self, writer: Writer, context: QueryContext, tally: Tally) -> None:
        self._writer = writer
        self._context = context
        self._tally = tally
        self._streams = Streams()
        self._batch_ended: Callable[[Stream], None] = _nothing

    def call_at_batch_end(self, ended: Callable[[Stream], None]) -> None:
        """Set the function that is called when a batch has ended and its offsets are known, and at the end of a stream."""
        self._batch_ended = ended

    def of_batch(self, description: str) -> Stream | None:
        return self._streams.of_batch(description)

    def take(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "stream_start":
            stream = self._streams.begin(event, instant(event["time"]), self._context.job_prefix, self._context.names)
            if stream is not None:
                self._tally.streams += 1
                self._writer.start(self._work(stream))
        elif event["event"] == "stream_progress":
            self._tally.left_out[LeaveOut.BATCHES] += bool(event.get("parts"))  # for other batches, their queries are counted
            due = self._streams.progress(event)
            if (stream := self._streams.by_run(event["run"])) is not None:
                self._batch_ended(stream)
            if due is not None:
                self._writer.progress(self._work(due))
        elif (stream := self._streams.end(event["run"])) is not None:
            failure = failure_of(event.get("error")) or failed_batch(stream)
            self._ended(stream, instant(event["time"]), outcome_of(stream, failure))

    def end(self, at: str) -> None:
        """End all running streams, because the application has ended."""
        for stream in self._streams.left():
            self._ended(stream, at, failed_batch(stream) or Outcome(error="The application ended.", cancelled=True))

    def _ended(self, stream: Stream, at: str, outcome: Outcome) -> None:
        self._batch_ended(stream)
        work = self._work(stream, ended=at, outcome=outcome)
        self._tally.datasets(work.inputs, work.outputs)
        self._tally.problems(work.ledger.problems)
        self._tally.failed += outcome.error is not None and not outcome.cancelled
        self._writer.end(work, started=True)

    def _work(self, stream: Stream, *, ended: str = "", outcome: Outcome | None = None) -> Work:
        mode = self._context.mode
        problems: list[Mapping[str, Any]] = [{"operator": "stream", "reason": reason, "kind": "missing"} for reason in stream.unknown()]
        if mode.records:
            problems.append(_NO_RECORDS)
        status = "running" if not ended else "refused" if mode.records else "off"
        return Work(
            run=RunName(self._context.application.namespace, stream.job, stream.run_id), started=stream.started, ended=ended, kind="QUERY",
            inputs=stream.inputs(), outputs=stream.outputs(), outcome=outcome or Outcome(),
            ledger=Ledger(status=status, mode=mode, problems=problems, leftOut={"batches": stream.batches} if stream.batches else None),
            streaming=True,
        )  # fmt: skip


def _nothing(_: Stream) -> None:
    """No query waits for the end of a batch."""
