"""Subject access in the schema: all records anywhere that derive from chosen records."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph.access.scopes import Scope
from headwater.graph.trace.answer import Grain, ReachedDataset, TraceAnswer, TraceRequest
from headwater.graphql.limits import MAX_RECORDS, bounded
from headwater.graphql.record_types import Hop, Incomplete, RowRef, TracedRecord, references
from headwater.graphql.root_fields import query
from headwater.graphql.selection import asks
from headwater.graphql.types import Info

_READ = frozenset({"values", "line"})  # parts of a record that need its file


@strawberry.type(
    description="A dataset downstream of the records. `records` counts those in it that derive from them, `former` those that only earlier"
    " versions of it have. `complete`: none is missing. `exact`: these and no others. `coarse`: any record of it may derive from them."
)
class SubjectDataset:
    """A dataset downstream, also if no record in it derives from the chosen ones. `reasons` say why it is not exact."""

    dataset: strawberry.ID
    records: int
    former: int
    complete: bool
    exact: bool
    coarse: bool
    reasons: list[str]

    @classmethod
    def of(cls, reached: ReachedDataset) -> SubjectDataset:
        return cls(
            dataset=strawberry.ID(reached.dataset), records=reached.records, former=reached.former, complete=reached.complete,
            exact=reached.exact, coarse=reached.coarse, reasons=list(reached.reasons),
        )  # fmt: skip

    @strawberry.field(description="The dataset's name.")
    async def dataset_name(self, info: Info) -> str:
        """Return the name of the dataset, or its id if the graph does not have the dataset."""
        node = await info.context.loaders.node.load(self.dataset)
        return node.name if node else self.dataset


@strawberry.type(description="All records anywhere that derive from chosen records, and all datasets downstream.")
class SubjectAccess:
    """The records that derive from the `selected` ones. `total` counts them without the limit. `complete`: no dataset lacks one."""

    exact: bool
    complete: bool
    datasets: list[SubjectDataset]
    records: list[TracedRecord]
    total: int
    selected: list[TracedRecord]
    path: list[Hop]
    incomplete: list[Incomplete]
    notes: list[str]

    @classmethod
    def of(cls, answer: TraceAnswer) -> SubjectAccess:
        return cls(
            exact=answer.exact,
            complete=all(one.complete for one in answer.reached) and not any(entry.effect == "missing" for entry in answer.incomplete),
            datasets=[SubjectDataset.of(one) for one in answer.reached],
            records=[TracedRecord.of(record) for record in answer.records if record.grain is Grain.RECORD],
            total=answer.total,
            selected=[TracedRecord.of(record) for record in answer.selected],
            path=[Hop.of(hop) for hop in answer.path],
            incomplete=[Incomplete(what=item.what, reason=item.reason, effect=item.effect) for item in answer.incomplete],
            notes=list(answer.notes),
        )


@strawberry.type
class SubjectQuery:
    @query(
        "All records anywhere that derive from the records that the predicate selects, or from `rows`, in every dataset downstream.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def subject_access(
        self,
        info: Info,
        dataset: str,
        where: str | None = UNSET,
        rows: list[RowRef] | None = UNSET,
        limit: int = 1000,
        as_of: str | None = UNSET,
    ) -> SubjectAccess:
        """Return the derived records. The arguments have the same meaning as in `trace`."""
        context = info.context
        request = TraceRequest(
            dataset=dataset, where=where or None, rows=references(rows or None), forward=True, everywhere=True,
            limit=bounded(limit, "limit", low=0, high=MAX_RECORDS), values=asks(info, "records", _READ),
            selected_values=asks(info, "selected", _READ), as_of=as_of or None,
        )  # fmt: skip
        async with context.audited("subject", dataset) as act:
            answer = await context.asked.trace(context.tenant, request)
            act.met(answer.selected, answer.records)
        context.loaders.budget.spend(len(answer.records) + len(answer.selected) + len(answer.reached))
        return SubjectAccess.of(answer)
