"""Writes runs of declared operations."""

from __future__ import annotations

from dataclasses import replace

from headwater.spark_listener.lineage.events import Work, instant
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.names import job_name
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.lineage.queries import QueryContext
from headwater.spark_listener.operations import DeclaredOperation
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.redact import redact
from headwater.spark_listener.scribe.writer import Writer
from headwater.spark_listener.tally import Tally


class OperationRuns:
    """Runs of declared operations of one application."""

    def __init__(self, writer: Writer, context: QueryContext, tally: Tally) -> None:
        self._writer = writer
        self._context = context
        self._tally = tally
        self._going: dict[str, DeclaredOperation] = {}

    def take(self, operation: DeclaredOperation) -> None:
        work = self._work(operation)
        if operation.ended is None:
            self._going[operation.run_id] = operation
            self._writer.start(work)
            return
        self._going.pop(operation.run_id, None)
        self._tally.operations += 1
        self._tally.failed += operation.outcome.failed and not operation.outcome.cancelled
        self._tally.datasets(work.inputs, work.outputs)
        self._writer.end(work, started=operation.declared_in == "program")

    def end(self, at: float) -> None:
        """End all running operations, because the application has ended."""
        for operation in list(self._going.values()):
            cut_off = Outcome(error="The application ended before the operation did.", cancelled=True)
            self.take(replace(operation, ended=at, outcome=cut_off))

    def _work(self, operation: DeclaredOperation) -> Work:
        return Work(
            run=RunName(self._context.application.namespace, job_name(self._context.job_prefix, redact(operation.name)), operation.run_id),
            started=instant(operation.started * 1000), ended="" if operation.ended is None else instant(operation.ended * 1000),
            kind="OPERATION", inputs=operation.read(), outputs=operation.written(), job_facets=operation.job_facets(),
            outcome=operation.outcome,
            ledger=Ledger(status="off" if operation.ended else "running", mode=self._context.mode),
        )  # fmt: skip
