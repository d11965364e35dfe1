"""Answers with masked columns: what those are told of records who may not see all of their values.

A masked value is replaced where it would be told; and a predicate or an order over masked columns is refused, since whoever may select by a
value learns it by halving. All names in a predicate must be those of columns that are shown: a row as a whole has a name too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.backend.masks import Mask
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace.answer import TraceAnswer, TracedRecord, TraceRequest
from headwater.graph.trace.predicate import checked, mentioned
from headwater.graph.trace.preview import RowPage
from headwater.graph.trace.questions import Questions, RowsRequest
from headwater.graph.trace.tracer import tracer_of
from headwater.graph.views import Way, reaching_tags

SHOWN = "(masked)"


class MaskedQuestions:
    """Asks `questions` and masks their answers by `masks`. For one question: what it finds out of columns is not asked for twice."""

    def __init__(self, questions: Questions, graph: GraphStore, records: AssociationStore, masks: Sequence[Mask]) -> None:
        self._questions = questions
        self._graph = graph
        self._records = records
        self._masks = masks
        self._tagged: dict[tuple[str, str], bool] = {}

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """See `Questions`.

        Raises:
            InvalidQueryError: the predicate needs a column that is masked.
        """
        answer = await self._questions.trace(tenant, await self.permitted(tenant, request))
        records = [await self._record(tenant, record) for record in answer.records]
        return replace(answer, records=records, selected=[await self._record(tenant, record) for record in answer.selected])

    async def permitted(self, tenant: str, request: TraceRequest) -> TraceRequest:
        """The request, of the dataset that was looked at. Raises as `trace` does."""
        if request.where is None:
            return request
        page = await self._questions.rows(tenant, RowsRequest(request.dataset, first=0))
        await self._check(tenant, page, request.where)
        return replace(request, dataset=page.dataset)

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """See `Questions`. Raises as `trace` does."""
        first = await self._questions.rows(tenant, RowsRequest(request.dataset, first=0))
        shown_only = await self._check(tenant, first, request.where)
        if request.order is not None and shown_only is not None and request.order.column.lower() not in shown_only:
            raise InvalidQueryError(
                f"The column {request.order.column} is masked or there is none, so it cannot be ordered by.", field="order",
                hint="Order by a column that is shown.",
            )  # fmt: skip
        page = await self._questions.rows(tenant, replace(request, dataset=first.dataset))
        names = [name for name, _ in page.columns]
        hidden = await self._hidden(tenant, page.dataset, names)
        if not hidden:
            return page
        shown = [name not in hidden for name in names]
        rows = [
            replace(row, values=[value if is_shown or value is None else SHOWN for value, is_shown in zip(row.values, shown, strict=True)])
            for row in page.rows
        ]
        return replace(page, rows=rows)

    async def _check(self, tenant: str, page: RowPage, where: str | None) -> set[str] | None:
        """The columns that are shown of a dataset, in lower case, where a rule is about it; refuses a predicate of other names."""
        if not any(mask.covers(page.dataset) for mask in self._masks):
            return None
        names = [name for name, _ in page.columns]
        hidden = await self._hidden(tenant, page.dataset, names)
        shown = {name.lower() for name in names} - {name.lower() for name in hidden}
        if where is None:
            return shown
        with tracer_of(self._records).session(tenant) as session:
            asked = mentioned(session.database, checked(session.database, where))
        if odd := sorted(asked - shown):
            raise InvalidQueryError(
                f"The predicate names {odd[0]}, which is masked or is no column.", field="where", hint="Select by columns that are shown."
            )
        return shown

    async def _record(self, tenant: str, record: TracedRecord) -> TracedRecord:
        hidden = await self._hidden(tenant, record.dataset, record.values)
        return replace(record, values=_without(record.values, hidden)) if hidden else record

    async def _hidden(self, tenant: str, dataset: str, columns: Collection[str]) -> set[str]:
        hidden: set[str] = set()
        for mask in self._masks:
            if not mask.covers(dataset):
                continue
            hidden |= mask.names(columns)
            if mask.tag is not None:
                hidden |= {column for column in columns if column not in hidden and await self._bears(tenant, dataset, column, mask.tag)}
        return hidden

    async def _bears(self, tenant: str, dataset: str, column: str, tag: str) -> bool:
        """Whether a column bears a tag, or values of one that does flow into it unhidden."""
        known = (f"{dataset}\0{column}", tag)
        if known not in self._tagged:
            namespace, name = parse_id(dataset)[1][:2]
            try:
                tags = await reaching_tags(self._graph, tenant, node_id(NodeKind.COLUMN, namespace, name, column))
            except NotFoundError:
                tags = []
            except InvalidQueryError:  # made of too many to look at: hidden rather than shown
                self._tagged[known] = True
                return True
            self._tagged[known] = any(one.tag.casefold() == tag.casefold() and one.way is Way.DIRECT for one in tags)
        return self._tagged[known]


def _without(values: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    return {name: SHOWN if name in hidden and value is not None else value for name, value in values.items()}
