"""Rankings of an aggregate's inputs in the schema: how much its value would change without each of them."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.graph.access.scopes import Scope
from headwater.graph.trace import rank as domain
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.record_types import Incomplete, RowRef, TracedRecord
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info


@strawberry.type(
    description="An input record, and the value `without` it. `change` is the difference of two numbers. `isRowGone`: the row would not be "
    "there without the record."
)
class RankedRecord:
    record: TracedRecord
    without: JSON | None
    change: JSON | None
    is_row_gone: bool

    @classmethod
    def of(cls, ranked: domain.RankedRecord) -> RankedRecord:
        return cls(
            record=TracedRecord.of(ranked.record), without=JSON(ranked.without) if ranked.without is not None else None,
            change=JSON(ranked.change) if ranked.change is not None else None, is_row_gone=ranked.is_row_gone,
        )  # fmt: skip


@strawberry.type(
    description="The inputs of an aggregated value, the largest change first. `value` is that of `function`, computed from the inputs. "
    "`total` counts all inputs. `exact` is false for the reasons in `incomplete`."
)
class Ranking:
    """The ranking. `run` computed the value, and `row` has it. `notes` are needed to read an exact answer, too."""

    run: strawberry.ID
    function: str
    row: TracedRecord
    value: JSON | None
    records: list[RankedRecord]
    total: int
    exact: bool
    incomplete: list[Incomplete]
    notes: list[str]

    @classmethod
    def of(cls, answer: domain.RankAnswer) -> Ranking:
        return cls(
            run=strawberry.ID(answer.run), function=answer.function, row=TracedRecord.of(answer.row),
            value=JSON(answer.value) if answer.value is not None else None,
            records=[RankedRecord.of(ranked) for ranked in answer.records], total=answer.total, exact=answer.exact,
            incomplete=[Incomplete(what=item.what, reason=item.reason, effect=item.effect) for item in answer.incomplete],
            notes=list(answer.notes),
        )  # fmt: skip


@strawberry.type
class RankingQuery:
    @query(
        "The `first` input records on which the aggregated value in `column` of one row depends most. `where` or `row` selects the row. "
        "The caller must be allowed to see every column.",
        scope=Scope.READ,
        costly=True,
    )
    async def rank_inputs(
        self, info: Info, dataset: str, column: str, where: str | None = UNSET, row: RowRef | None = UNSET, first: int = 20
    ) -> Ranking:
        context = info.context
        request = domain.RankRequest(
            dataset=dataset, column=column, where=where or None, row=(row.file, row.row) if row else None,
            first=bounded(first, "first", low=1, high=MAX_PAGE),
        )  # fmt: skip
        async with context.audited("rank", dataset) as act:
            answer = await context.asked.rank(context.tenant, request)
            act.met([answer.row], [ranked.record for ranked in answer.records])
        return Ranking.of(answer)
