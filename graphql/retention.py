"""Retention in the schema: data that is kept longer than a term of its sources, or will be soon."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from datetime import timedelta

import strawberry
from strawberry import UNSET

from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind
from headwater.graph.retention import ExpiringData as Found
from headwater.graph.retention import RetentionAnswer
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.names import node_of
from headwater.graphql.root_fields import query
from headwater.graphql.services import available
from headwater.graphql.types import Info

_MOST_DAYS = 36_500


@strawberry.type(description="Data of a dataset that must go by the `deadline`, because a term of `source` reaches it over `path`.")
class ExpiringData:
    """Expiring data. `born` is when its oldest part was written to its source. A legal hold (`hold`) wins over the term."""

    dataset: strawberry.ID
    source: strawberry.ID
    stated_by: str
    days: float = strawberry.field(description="The term that counts here. Masked values may have a longer one.")
    path: list[strawberry.ID]
    masked: bool
    certain: bool = strawberry.field(description="False if a job on the path does not state which columns it uses.")
    born: str
    born_known: bool = strawberry.field(description="False if the data may be older.")
    deadline: str
    overdue: bool
    blocks: list[int] = strawberry.field(description="The sequences of the blocks with data that is due.")
    rows: int | None = strawberry.field(description="Records of these blocks. Null if a run did not state them.")
    owners: list[str]
    hold: str | None
    advice: list[str]

    @classmethod
    def of(cls, found: Found) -> ExpiringData:
        carried = found.carried
        return cls(
            dataset=strawberry.ID(found.dataset), source=strawberry.ID(carried.term.node), stated_by=carried.term.stated_by,
            days=carried.after / timedelta(days=1), path=[strawberry.ID(node) for node in carried.path], masked=carried.is_masked,
            certain=carried.certain, born=found.born, born_known=found.is_born_known, deadline=found.deadline, overdue=found.is_overdue,
            blocks=list(found.blocks), rows=found.rows, owners=list(found.owners), hold=found.hold, advice=list(found.advice),
        )  # fmt: skip


@strawberry.type(description="Data whose term is over or will be soon, the earliest deadline first.")
class RetentionReport:
    """`unread` are nodes whose retention period cannot be read. `unknown` are datasets with a term and without a known write."""

    expiring: list[ExpiringData]
    total: int
    unread: list[strawberry.ID]
    unknown: list[strawberry.ID]

    @classmethod
    def of(cls, answer: RetentionAnswer, most: int) -> RetentionReport:
        return cls(
            expiring=[ExpiringData.of(each) for each in answer.expiring[:most]], total=len(answer.expiring),
            unread=[strawberry.ID(node) for node in answer.unread[:most]], unknown=[strawberry.ID(node) for node in answer.unknown[:most]],
        )  # fmt: skip


@strawberry.type
class RetentionQuery:
    @query(
        "Data that is kept longer than a retention term allows, or will be within some days: of one dataset, or of all.",
        scope=Scope.READ,
        costly=True,
    )
    async def retention(self, info: Info, dataset: str | None = UNSET, within_days: int = 30, first: int = 100) -> RetentionReport:
        most = bounded(first, "first", low=1, high=MAX_PAGE)
        within = timedelta(days=bounded(within_days, "withinDays", low=0, high=_MOST_DAYS))
        chosen = (await node_of(info, dataset, [NodeKind.DATASET])).id if dataset else None
        service = available(info.context.services.policies, "Policies")
        return RetentionReport.of(await service.expiring(info.context.tenant, chosen, within), most)
