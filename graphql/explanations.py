"""Explanations of wrong rows in the schema: conditions that hold for the records behind them, and not for the records behind other rows."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.errors import InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graph.culprits.explanations import Explanation as DomainExplanation
from headwater.graph.trace.explain import ExplainAnswer, ExplainRequest
from headwater.graph.trace.explain import SourceExplanation as DomainSource
from headwater.graph.views.request import at_most
from headwater.graphql.limits import bounded
from headwater.graphql.record_types import Incomplete, RowRef, references
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info

_MOST_CONDITIONS = 50
_MOST_RECORDS = 500_000
_MOST_COLUMNS = 1_000
_MOST_SECONDS = 600.0


@strawberry.type(
    description="A condition in DuckDB SQL. `bad` and `good` count the records that meet it. `precision` is the share of wrong records "
    "among them, `recall` the share of the wrong records that meet it."
)
class Explanation:
    condition: str
    bad: int
    good: int
    precision: float
    recall: float

    @classmethod
    def of(cls, found: DomainExplanation) -> Explanation:
        return cls(condition=found.text, bad=found.bad, good=found.good, precision=found.precision, recall=found.recall)


@strawberry.type(
    description="The conditions on the records of a dataset, best first: of `bad` records behind wrong rows, and of `good` ones behind "
    "other rows alone. Columns in `unused` cannot be compared, columns in `hidden` are masked. `isComplete`: the time sufficed."
)
class SourceExplanation:
    dataset: strawberry.ID
    bad: int
    good: int
    explanations: list[Explanation]
    unused: list[str]
    hidden: list[str]
    is_complete: bool

    @classmethod
    def of(cls, source: DomainSource) -> SourceExplanation:
        return cls(
            dataset=strawberry.ID(source.dataset), bad=source.bad, good=source.good,
            explanations=[Explanation.of(found) for found in source.explanations], unused=list(source.unused), hidden=list(source.hidden),
            is_complete=source.is_complete,
        )  # fmt: skip


@strawberry.type(
    description="What the records behind wrong rows have in common, for each source. Conditions are hints, and prove no cause."
)
class WrongRowExplanations:
    """The explanations of wrong rows. `exact` is false if other records may be behind the rows, for the reasons in `incomplete`."""

    sources: list[SourceExplanation]
    exact: bool
    incomplete: list[Incomplete]

    @classmethod
    def of(cls, answer: ExplainAnswer) -> WrongRowExplanations:
        return cls(
            sources=[SourceExplanation.of(source) for source in answer.sources],
            exact=answer.exact,
            incomplete=[Incomplete(what=item.what, reason=item.reason, effect=item.effect) for item in answer.incomplete],
        )


@strawberry.type
class ExplanationQuery:
    @query(
        "Conditions that hold for the records behind wrong rows (`bad`, a predicate, or `rows`), and not for the records behind right rows "
        "(`good`; all other rows, if it is left out). No condition uses a masked column or one of `without`.",
        scope=Scope.READ,
        costly=True,
    )
    async def explain(
        self,
        info: Info,
        dataset: str,
        bad: str | None = UNSET,
        rows: list[RowRef] | None = UNSET,
        good: str | None = UNSET,
        to: str | None = UNSET,
        without: list[str] | None = UNSET,
        most: int = 3,
        limit: int = 20_000,
        seconds: float = 10.0,
    ) -> WrongRowExplanations:
        context = info.context
        if not 0.1 <= seconds <= _MOST_SECONDS:
            raise InvalidQueryError(f"A search cannot take {seconds:g} s.", field="seconds", hint=f"It may take up to {_MOST_SECONDS:g} s.")
        at_most(len(without or ()), _MOST_COLUMNS, "columns", "without")
        request = ExplainRequest(
            dataset=dataset, bad=bad or None, rows=references(rows or None), good=good or None, to=to or None, without=without or (),
            most=bounded(most, "most", low=1, high=_MOST_CONDITIONS), limit=bounded(limit, "limit", low=2, high=_MOST_RECORDS),
            seconds=seconds,
        )  # fmt: skip
        async with context.audited("explain", dataset) as act:
            answer = await context.asked.explain(context.tenant, request)
            act.subjects.extend(source.dataset for source in answer.sources)
            act.records = sum(source.bad + source.good for source in answer.sources)
        return WrongRowExplanations.of(answer)
