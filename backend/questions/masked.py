"""Answers with masked columns: what those are told of records who may not see all of their values.

A masked value is replaced where it would be told; and a predicate or an order over masked columns is refused, since whoever may select by a
value learns it by halving. All names in a predicate must be those of columns that are shown: a row as a whole has a name too.

A rule about datasets is compared with the dataset that is asked about, and with what the files are called that its values come from. Where
a record is a text, or bytes, no name tells which columns stand in it: a rule about columns masks all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.backend.masks import Mask
from headwater.backend.questions.covering import datasets_with
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace.answer import Origin, RowPage, TraceAnswer, TracedRecord, TraceRequest
from headwater.graph.trace.origins import asked_of
from headwater.graph.trace.predicate import checked, mentioned
from headwater.graph.trace.questions import Questions, RowsRequest
from headwater.graph.trace.tracer import tracer_of
from headwater.graph.views import Way, reaching_tags

SHOWN = "(masked)"
_COLUMNS = 1_000  # of a dataset, which are looked at: of one with more, every text is masked


class MaskedQuestions:
    """Asks `questions` and masks their answers by `masks`. For one question: what it finds out of columns is not asked for twice.

    `keeps_origins`: answers say which files their values come from, so that they can be masked again.
    """

    def __init__(
        self, questions: Questions, graph: GraphStore, records: AssociationStore, masks: Sequence[Mask], *, keeps_origins: bool = False
    ) -> None:
        self._questions = questions
        self._graph = graph
        self._records = records
        self._masks = masks
        self._keeps_origins = keeps_origins
        self._tagged: dict[tuple[str, str], bool] = {}
        self._covered: dict[tuple[Mask, str], bool] = {}

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """See `Questions`.

        Raises:
            InvalidQueryError: the predicate needs a column that is masked.
        """
        permitted = replace(await self.permitted(tenant, request), origins=True)
        answer = await self._masked(tenant, await self._questions.trace(tenant, permitted))
        return answer if self._keeps_origins or request.origins else replace(answer, origins=())

    async def masked_anew(self, tenant: str, request: TraceRequest, answer: TraceAnswer) -> TraceAnswer:
        """An answer of some time ago, which has its origins still, without what is masked by now.

        Raises:
            InvalidQueryError: its predicate needs a column that is masked by now.
        """
        await self.permitted(tenant, request)
        return replace(await self._masked(tenant, answer), origins=())

    async def _masked(self, tenant: str, answer: TraceAnswer) -> TraceAnswer:
        origins: dict[str | None, list[Origin]] = {}
        for origin in answer.origins:
            origins.setdefault(origin.file, []).append(origin)
        known: dict[tuple[str, str | None, tuple[str, ...]], set[str]] = {}

        async def masked(record: TracedRecord) -> TracedRecord:
            key = (record.dataset, record.file, tuple(record.values))
            if key not in known:
                known[key] = await self._hidden(tenant, record.dataset, record.values, origins.get(record.file, ()))
            return replace(record, values=_without(record.values, known[key])) if known[key] else record

        records, selected = [await masked(record) for record in answer.records], [await masked(record) for record in answer.selected]
        return replace(answer, records=records, selected=selected)

    async def permitted(self, tenant: str, request: TraceRequest) -> TraceRequest:
        """The request, of the dataset that was looked at. Raises as `trace` does."""
        if request.where is None:
            return request
        asked = await asked_of(self._graph, self._records, tenant, request)
        page = await self._questions.rows(tenant, RowsRequest(asked.dataset, first=0, origins=True))
        await self._check(tenant, replace(page, origins=[*page.origins, *asked.files]), request.where)
        return asked.request

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """See `Questions`. Raises as `trace` does."""
        first = await self._questions.rows(tenant, RowsRequest(request.dataset, first=0, origins=True))
        shown_only = await self._check(tenant, first, request.where)
        if request.order is not None and shown_only is not None and request.order.column.lower() not in shown_only:
            raise InvalidQueryError(
                f"The column {request.order.column} is masked or there is none, so it cannot be ordered by.", field="order",
                hint="Order by a column that is shown.",
            )  # fmt: skip
        page = await self._questions.rows(tenant, replace(request, dataset=first.dataset, origins=True))
        await self._check(tenant, page, request.where)  # its files may be others by now
        names = [name for name, _ in page.columns]
        hidden = await self._hidden(tenant, page.dataset, names, page.origins)
        if not request.origins:
            page = replace(page, origins=())
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
        called = {page.dataset, *datasets_with(page.origins)}
        if not any(self._about(mask, called) for mask in self._masks):
            return None
        names = [name for name, _ in page.columns]
        hidden = await self._hidden(tenant, page.dataset, names, page.origins)
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

    async def _hidden(self, tenant: str, dataset: str, columns: Collection[str], origins: Collection[Origin]) -> set[str]:
        """The columns that are masked of what was read from some files as one dataset: by the rules for any of them."""
        called = {dataset, *datasets_with(origins)}
        is_whole = any(not origin.has_columns for origin in origins)
        hidden: set[str] = set()
        for mask in self._masks:
            about = self._about(mask, called)
            if not about:
                continue
            if mask.tag is None:
                hidden |= set(columns) if is_whole else mask.names(columns)
            else:
                hidden |= await self._tagged_of(tenant, {dataset, *await self._there(tenant, about)}, columns, mask.tag, is_whole=is_whole)
        return hidden

    def _about(self, mask: Mask, called: Collection[str]) -> list[str]:
        """Those of some datasets that a rule is about."""
        for identifier in called:
            if (mask, identifier) not in self._covered:
                self._covered[mask, identifier] = mask.covers(identifier)
        return [identifier for identifier in called if self._covered[mask, identifier]]

    async def _there(self, tenant: str, datasets: Sequence[str]) -> list[str]:
        return [node.id for node in await self._graph.get(tenant, sorted(datasets))]

    async def _tagged_of(self, tenant: str, datasets: Collection[str], columns: Collection[str], tag: str, *, is_whole: bool) -> set[str]:
        """The columns that bear a tag in one of some datasets; all, where a record is a text and the dataset has a column that does."""
        if not is_whole:
            return {column for column in columns for dataset in datasets if await self._bears(tenant, dataset, column, tag)}
        for dataset in datasets:
            page = await self._graph.children(tenant, dataset, kinds=[NodeKind.COLUMN], first=_COLUMNS)
            if page.cursor is not None or [True for node in page.nodes if await self._bears(tenant, dataset, parse_id(node.id)[1][2], tag)]:
                return set(columns)
        return {column for column in columns for dataset in datasets if await self._bears(tenant, dataset, column, tag)}

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
