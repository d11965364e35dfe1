"""OpenLineage run events of one application: of the program (the pipeline) and of each of its queries (the jobs in it).

Every event must be valid by the specification, describe something that happened, and name its parent. START has the time of the start, even
if the query's name is known only at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from headwater import __version__
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.lineage.datasets import Dataset
from headwater.spark_listener.lineage.facets import CAPTURE, EVENT_SCHEMA, INVOCATION, PRODUCER, STAGES, Facet, Ledger, facet, facets
from headwater.spark_listener.lineage.parents import RunName, given_parent
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.redact import redact

_LONGEST_MESSAGE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One unit of work in an application: a query, a job of an RDD, a stream, or a declared operation."""

    run: RunName
    started: str
    ended: str
    kind: str  # QUERY, COMMAND or RDD_JOB, as in OpenLineage's Spark integration; or OPERATION
    inputs: Sequence[Dataset]
    outputs: Sequence[Dataset]
    outcome: Outcome
    ledger: Ledger
    sql: str | None = None
    stages: Facet | None = None
    streaming: bool = False
    job_facets: Mapping[str, Facet] = field(default_factory=dict)
    run_facets: Mapping[str, Facet] = field(default_factory=dict)  # further facets of the run's end


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMaker:
    """Makes the events of one application, whose run is `application`."""

    application: RunName
    spark_version: str
    parents: Mapping[str, str] = field(default_factory=dict)
    job_facets: Mapping[str, Facet] = field(default_factory=dict)  # facets of the application and of every job in it
    run_facets: Mapping[str, Facet] = field(default_factory=dict)  # facets of the application's run

    def application_start(
        self, at: str, invocation: Invocation, mode: str, ledger: Ledger, source: Mapping[str, Facet] | None = None
    ) -> dict[str, Any]:
        recorded = facet(INVOCATION, **{name: getattr(invocation, name) for name in invocation.__slots__}, mode=str(mode))
        stated = {INVOCATION: recorded, CAPTURE: ledger.facet(), **self.run_facets}
        return self._event("START", at, self.application, "APPLICATION", stated, self._above(), source)

    def application_end(
        self, at: str, outcome: Outcome, ledger: Ledger, further: Mapping[str, Facet] = MappingProxyType({})
    ) -> dict[str, Any]:
        stated = {CAPTURE: ledger.facet(), **further, **_error(outcome)}
        return self._event(_ending(outcome), at, self.application, "APPLICATION", stated, self._above())

    def work_start(self, work: Work) -> dict[str, Any]:
        return self._work("START", work.started, work, {})

    def work_runs(self, work: Work, at: str) -> dict[str, Any]:
        """Return a RUNNING event, with the stages that Spark has run so far."""
        return self._work("RUNNING", at, work, facets(**{STAGES: work.stages}))

    def work_end(self, work: Work) -> dict[str, Any]:
        stated = {CAPTURE: work.ledger.facet(), **facets(**{STAGES: work.stages}), **work.run_facets, **_error(work.outcome)}
        return self._work(_ending(work.outcome), work.ended, work, stated)

    def _work(self, kind: str, at: str, work: Work, run_facets: Mapping[str, Facet]) -> dict[str, Any]:
        parent = _parent_facet(self.application, self._root())
        sql = facets(sql=facet("sql", query=redact(work.sql), dialect="spark") if work.sql else None)
        job = {**sql, **work.job_facets}
        event = self._event(kind, at, work.run, work.kind, run_facets, parent, job, work.inputs, work.outputs)
        if work.streaming:
            event["job"]["facets"]["jobType"]["processingType"] = "STREAMING"
        return event

    def _event(
        self,
        kind: str,
        at: str,
        name: RunName,
        job_type: str,
        run_facets: Mapping[str, Facet],
        parent: Facet | None,
        job_facets: Mapping[str, Facet] | None = None,
        inputs: Sequence[Dataset] = (),
        outputs: Sequence[Dataset] = (),
    ) -> dict[str, Any]:
        engine = facet("processing_engine", name="spark", version=self.spark_version, openlineageAdapterVersion=__version__)
        kinds = facet("jobType", processingType="BATCH", integration="SPARK", jobType=job_type)
        return {
            "eventType": kind,
            "eventTime": at,
            "run": {"runId": name.run_id, "facets": {"processing_engine": engine, **facets(parent=parent), **run_facets}},
            "job": {"namespace": name.namespace, "name": name.job, "facets": {"jobType": kinds, **self.job_facets, **(job_facets or {})}},
            "inputs": [dataset.as_input() for dataset in inputs],
            "outputs": [dataset.as_output() for dataset in outputs],
            "producer": PRODUCER,
            "schemaURL": EVENT_SCHEMA,
        }

    def _above(self) -> Facet | None:
        given = given_parent(self.parents)
        return _parent_facet(given, given_parent(self.parents, root=True)) if given else None

    def _root(self) -> RunName:
        return given_parent(self.parents, root=True) or given_parent(self.parents) or self.application


def now() -> str:
    """Return the current time in the form of all events: ISO 8601, UTC, microseconds."""
    return instant(datetime.now(UTC))


def instant(value: Any) -> str:
    """Convert a time, ISO 8601 text, or milliseconds since the epoch to the form of all events."""
    if isinstance(value, (int, float)):
        value = datetime.fromtimestamp(value / 1000, UTC)
    elif isinstance(value, str):
        value = datetime.fromisoformat(value)
    text: str = value.astimezone(UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def _parent_facet(parent: RunName, root: RunName | None) -> Facet:
    return facet("parent", **_named(parent), root=_named(root) if root else None)


def _named(run: RunName) -> dict[str, Any]:
    return {"run": {"runId": run.run_id}, "job": {"namespace": run.namespace, "name": run.job}}


def _ending(outcome: Outcome) -> str:
    if not outcome.failed:
        return "COMPLETE"
    return "ABORT" if outcome.cancelled else "FAIL"


def _error(outcome: Outcome) -> dict[str, Facet]:
    if not outcome.failed:
        return {}
    message = redact(outcome.error or f"The program ended with exit code {outcome.exit_code}.")[:_LONGEST_MESSAGE]
    trace = redact(outcome.stack_trace)[:_LONGEST_MESSAGE] if outcome.stack_trace else None
    return {"errorMessage": facet("errorMessage", message=message, programmingLanguage=outcome.language, stackTrace=trace)}
