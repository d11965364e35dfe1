"""OpenLineage run events of one application: of the program (the pipeline) and of each of its queries (the jobs in it).

For the listener's thread. Every event must be valid by the specification, stand for something that happened, and name its parent;
START carries the instant of the start even where the query's name is known only at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from openlineage.client.generated.base import EventType, InputDataset, Job, JobFacet, OutputDataset, Run, RunEvent, RunFacet
from openlineage.client.generated.error_message_run import ErrorMessageRunFacet
from openlineage.client.generated.job_type_job import JobTypeJobFacet
from openlineage.client.generated.parent_run import Job as ParentJob
from openlineage.client.generated.parent_run import ParentRunFacet, Root, RootJob, RootRun
from openlineage.client.generated.parent_run import Run as ParentRun
from openlineage.client.generated.processing_engine_run import ProcessingEngineRunFacet
from openlineage.client.generated.sql_job import SQLJobFacet
from openlineage.client.serde import Serde

from headwater import __version__
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.lineage.facets import (
    CAPTURE,
    INVOCATION,
    PRODUCER,
    STAGES,
    CaptureRunFacet,
    InvocationRunFacet,
    StagesRunFacet,
    facet,
)
from headwater.spark_listener.lineage.parents import RunName, given_parent
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.redact import redact

_LONGEST_MESSAGE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One unit of work inside the application: a query, or the saving of an RDD."""

    run: RunName
    started: str
    ended: str
    kind: str  # QUERY, COMMAND or RDD_JOB, the words of OpenLineage's Spark integration
    inputs: Sequence[InputDataset]
    outputs: Sequence[OutputDataset]
    outcome: Outcome
    ledger: CaptureRunFacet
    sql: str | None = None
    stages: StagesRunFacet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMaker:
    """Makes the events of one application, whose run is `application`."""

    application: RunName
    spark_version: str
    parents: Mapping[str, str] = field(default_factory=dict)

    def application_start(self, at: str, invocation: Invocation, mode: str, ledger: CaptureRunFacet) -> dict[str, Any]:
        """The program began to use Spark."""
        recorded = InvocationRunFacet(
            **{name: _plain(getattr(invocation, name)) for name in invocation.__slots__}, mode=mode, producer=PRODUCER
        )
        return self._event(EventType.START, at, self.application, "APPLICATION", {INVOCATION: recorded, CAPTURE: ledger}, self._above())

    def application_end(self, at: str, outcome: Outcome, ledger: CaptureRunFacet) -> dict[str, Any]:
        """The program ended."""
        facets: dict[str, RunFacet] = {CAPTURE: ledger, **_error(outcome)}
        return self._event(_ending(outcome), at, self.application, "APPLICATION", facets, self._above())

    def work(self, work: Work) -> list[dict[str, Any]]:
        """START and COMPLETE or FAIL of one unit of work."""
        parent = _parent_facet(self.application, self._root())
        job: dict[str, JobFacet] = {"sql": facet(SQLJobFacet, query=redact(work.sql), dialect="spark")} if work.sql else {}
        start = self._event(EventType.START, work.started, work.run, work.kind, {}, parent, job, work.inputs, work.outputs)
        facets: dict[str, RunFacet] = {CAPTURE: work.ledger, **({STAGES: work.stages} if work.stages else {}), **_error(work.outcome)}
        end = self._event(_ending(work.outcome), work.ended, work.run, work.kind, facets, parent, job, work.inputs, work.outputs)
        return [start, end]

    def _event(
        self,
        kind: EventType,
        at: str,
        name: RunName,
        job_type: str,
        run_facets: Mapping[str, RunFacet],
        parent: ParentRunFacet | None,
        job_facets: Mapping[str, JobFacet] | None = None,
        inputs: Sequence[InputDataset] = (),
        outputs: Sequence[OutputDataset] = (),
    ) -> dict[str, Any]:
        engine = facet(ProcessingEngineRunFacet, name="spark", version=self.spark_version, openlineageAdapterVersion=__version__)
        kinds = facet(JobTypeJobFacet, processingType="BATCH", integration="SPARK", jobType=job_type)
        event = RunEvent(
            eventType=kind,
            eventTime=at,
            run=Run(runId=name.run_id, facets={"processing_engine": engine, **({"parent": parent} if parent else {}), **run_facets}),
            job=Job(namespace=name.namespace, name=name.job, facets={"jobType": kinds, **(job_facets or {})}),
            inputs=list(inputs),
            outputs=list(outputs),
            producer=PRODUCER,
        )
        return Serde.to_dict(event)

    def _above(self) -> ParentRunFacet | None:
        given = given_parent(self.parents)
        return _parent_facet(given, given_parent(self.parents, root=True)) if given else None

    def _root(self) -> RunName:
        return given_parent(self.parents, root=True) or given_parent(self.parents) or self.application


def now() -> str:
    """This instant, in the form of all events: ISO 8601, UTC, microseconds."""
    return instant(datetime.now(UTC))


def instant(value: Any) -> str:
    """An instant in the form of all events, from one of ours, ISO 8601, or milliseconds since the epoch."""
    if isinstance(value, (int, float)):
        value = datetime.fromtimestamp(value / 1000, UTC)
    elif isinstance(value, str):
        value = datetime.fromisoformat(value)
    text: str = value.astimezone(UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def _parent_facet(parent: RunName, root: RunName | None) -> ParentRunFacet:
    above = Root(run=RootRun(runId=root.run_id), job=RootJob(namespace=root.namespace, name=root.job)) if root else None
    return facet(ParentRunFacet, run=ParentRun(runId=parent.run_id), job=ParentJob(namespace=parent.namespace, name=parent.job), root=above)


def _ending(outcome: Outcome) -> EventType:
    return EventType.FAIL if outcome.failed else EventType.COMPLETE


def _error(outcome: Outcome) -> dict[str, RunFacet]:
    if not outcome.failed:
        return {}
    message = outcome.error or f"The program ended with exit code {outcome.exit_code}."
    trace = redact(outcome.stack_trace)[:_LONGEST_MESSAGE] if outcome.stack_trace else None
    return {
        "errorMessage": facet(
            ErrorMessageRunFacet, message=redact(message)[:_LONGEST_MESSAGE], programmingLanguage=outcome.language, stackTrace=trace
        )
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
