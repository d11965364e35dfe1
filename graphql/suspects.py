"""Suspects in the schema: what is unusual about a run, which of its tasks stand out, and which tasks or files are behind wrong rows."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph import suspects as domain
from headwater.graph.access.scopes import Scope
from headwater.graph.culprits.outliers import LEAST_RUNS
from headwater.graph.culprits.outliers import Suspect as DomainSuspect
from headwater.graph.model import NodeKind
from headwater.graph.trace import instances as found_instances
from headwater.graphql.limits import bounded
from headwater.graphql.names import node_of
from headwater.graphql.record_types import Incomplete
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info

_MOST_RUNS = 1_000
_MOST_ROWS = 500_000


@strawberry.type(
    description="An unusual metric of a run, or of a task (`subject`). `expected` is the prediction from `compared` earlier runs or "
    "sibling tasks, whose values lie between `low` and `high`. `chance` is the probability of such a value if the run is healthy; null if "
    "the other values are not normal, and their median decided."
)
class Suspect:
    subject: strawberry.ID
    metric: str
    value: float
    expected: float
    low: float
    high: float
    chance: float | None
    compared: int

    @classmethod
    def of(cls, subject: str, suspect: DomainSuspect) -> Suspect:
        return cls(
            subject=strawberry.ID(subject), metric=suspect.metric, value=suspect.value, expected=suspect.expected, low=suspect.low,
            high=suspect.high, chance=suspect.chance, compared=suspect.compared,
        )  # fmt: skip


@strawberry.type(
    description="The suspects of a complete run. `compared` of its `metrics` were compared with `runs` earlier complete runs; a comparison "
    "needs 8. `siblings` counts the comparisons among tasks of a stage."
)
class SuspectReport:
    job: strawberry.ID
    job_name: str
    run: strawberry.ID
    suspects: list[Suspect]
    compared: int
    metrics: int
    runs: int
    siblings: int

    @classmethod
    def of(cls, report: domain.RunReport) -> SuspectReport:
        return cls(
            job=strawberry.ID(report.job.id), job_name=report.job.name, run=strawberry.ID(report.run.id),
            suspects=[Suspect.of(subject, suspect) for subject, suspect in report.suspects], compared=report.compared,
            metrics=report.metrics, runs=report.runs, siblings=report.siblings,
        )  # fmt: skip


@strawberry.type(
    description="A task that wrote records on the way of rows (`task`, of a `run` of a `job`), or a file of a source, or of a task that is "
    "not known (`file`). `dataset` is the dataset of these records."
)
class Instance:
    task: strawberry.ID | None
    file: str | None
    dataset: strawberry.ID
    job: strawberry.ID | None
    run: strawberry.ID | None

    @classmethod
    def of(cls, instance: found_instances.Instance) -> Instance:
        task, job, run = (strawberry.ID(node) if node is not None else None for node in (instance.node, instance.job, instance.run))
        return cls(task=task, file=instance.file, dataset=strawberry.ID(instance.dataset), job=job, run=run)


@strawberry.type(
    description="An instance through which `bad` wrong rows of `rows` rows passed. `expected` wrong rows would be usual, and `chance` is "
    "the probability of at least `bad` if the instance is healthy. The same rows passed through each of `alike`. Rows of the suspects "
    "before it do not count."
)
class SuspectInstance:
    instance: Instance
    bad: int
    rows: int
    expected: float
    chance: float
    alike: list[Instance]

    @classmethod
    def of(cls, found: found_instances.FaultyInstance) -> SuspectInstance:
        return cls(
            instance=Instance.of(found.instance), bad=found.bad, rows=found.rows, expected=found.expected, chance=found.chance,
            alike=[Instance.of(other) for other in found.alike],
        )  # fmt: skip


@strawberry.type(
    description="The suspects among `instances` instances, the least likely first, by the lineage of `bad` wrong rows and `good` other "
    "rows. `exact` is false for the reasons in `incomplete`."
)
class InstanceReport:
    dataset: strawberry.ID
    suspects: list[SuspectInstance]
    instances: int
    bad: int
    good: int
    exact: bool
    incomplete: list[Incomplete]

    @classmethod
    def of(cls, answer: found_instances.InstanceAnswer) -> InstanceReport:
        return cls(
            dataset=strawberry.ID(answer.dataset), suspects=[SuspectInstance.of(found) for found in answer.suspects],
            instances=answer.instances, bad=answer.bad, good=answer.good, exact=answer.exact,
            incomplete=[Incomplete(what=item.what, reason=item.reason, effect=item.effect) for item in answer.incomplete],
        )  # fmt: skip


@strawberry.type
class SuspectQuery:
    @query(
        "What is unusual about a run (its id), or about the last complete run of a job or of each job of a pipeline, compared with up to "
        "`runs` earlier complete runs.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def suspects(self, info: Info, name: str, runs: int = 60) -> list[SuspectReport]:
        context = info.context
        count = bounded(runs, "runs", low=LEAST_RUNS, high=_MOST_RUNS)
        node = await node_of(info, name, [NodeKind.JOB, NodeKind.PIPELINE, NodeKind.RUN])
        found = await domain.find_run_suspects(context.graph, context.tenant, node, runs=count, with_columns=context.tells_values)
        context.loaders.budget.spend(sum(report.runs for report in found))
        return [SuspectReport.of(report) for report in found]

    @query(
        "The tasks and files through which more wrong rows (`bad`, a predicate) passed than chance explains, compared with right rows "
        "(`good`; all other rows, if it is left out). At most `limit` rows are compared.",
        scope=Scope.READ,
        costly=True,
    )
    async def suspect_instances(self, info: Info, dataset: str, bad: str, good: str | None = UNSET, limit: int = 100_000) -> InstanceReport:
        context = info.context
        most = bounded(limit, "limit", low=2, high=_MOST_ROWS)
        request = found_instances.InstanceRequest(dataset=dataset, bad=bad, good=good or None, limit=most)
        async with context.audited("instances", dataset) as act:
            answer = await context.asked.instances(context.tenant, request)
            act.subjects.extend(sorted({found.instance.dataset for found in answer.suspects}))
            act.records = answer.bad + answer.good
        return InstanceReport.of(answer)
