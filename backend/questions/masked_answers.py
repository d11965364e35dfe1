"""Masks columns in answers, for callers who may not see all values of records.

A masked value is replaced in answers. A predicate or an order over masked columns is refused, because repeated queries would reveal the
values. All names in a predicate must be visible columns, because even the name of a whole row could reveal values.

A rule about datasets is compared with the requested dataset, and with the names of the files behind the values. A rule about columns is
compared with the files' own names, never only with those of a manifest. If the files do not prove which column is which, as for a record
that is a text, the whole record is masked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from headwater.backend.access.masks import Mask
from headwater.backend.questions.dataset_aliases import datasets_with
from headwater.errors import InvalidQueryError
from headwater.graph.files.column_names import ColumnNames
from headwater.graph.model import Node, NodeKind
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace.answer import Origin, RowPage, TraceAnswer, TracedRecord, TraceRequest
from headwater.graph.trace.explain import ExplainAnswer, ExplainRequest, explain
from headwater.graph.trace.hops import remove_reasons
from headwater.graph.trace.instances import InstanceAnswer, InstanceRequest
from headwater.graph.trace.predicate import check_predicate, list_column_names
from headwater.graph.trace.questions import Questions, RowsRequest
from headwater.graph.trace.rank import RankAnswer, RankRequest
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.value_sources import find_predicate_scope
from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff
from headwater.graph.views import TagReach, is_same_or_within, names_above

SHOWN = "(masked)"
_COLUMNS = 5_000  # limit of columns of a dataset; above it, all columns are masked if a rule applies


class MaskedQuestions:
    """Sends queries to `questions`, and masks the answers by `masks`. An object serves one query, because it caches facts about columns.

    With `keeps_origins`, answers name the files behind their values, so that they can be masked again.
    """

    def __init__(
        self, questions: Questions, graph: GraphStore, records: AssociationStore, masks: Sequence[Mask], *, keeps_origins: bool = False
    ) -> None:
        self._questions = questions
        self._graph = graph
        self._records = records
        self._masks = masks
        self._keeps_origins = keeps_origins
        self._reach: TagReach | None = None
        self._tagged: dict[tuple[str, str], bool] = {}
        self._known: dict[str, list[Node] | None] = {}
        self._covered: dict[tuple[Mask, str], bool] = {}

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """Answer a trace (see `Questions`).

        Raises:
            InvalidQueryError: the predicate needs a masked column.
        """
        permitted, page = await self._permitted(tenant, request)
        answer = await self._questions.trace(tenant, replace(permitted, origins=True))
        if page is not None:
            await self._check(tenant, replace(page, origins=answer.origins), request.where)  # the files may have changed
        answer = await self._masked(tenant, answer)
        return answer if self._keeps_origins or request.origins else replace(answer, origins=())

    async def masked_anew(self, tenant: str, request: TraceRequest, answer: TraceAnswer) -> TraceAnswer:
        """Mask a stored answer by the present rules, which may have changed since the trace.

        Raises:
            InvalidQueryError: the predicate of the trace needs a column that is masked now.
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
        return remove_reasons(replace(answer, records=records, selected=selected))

    async def permitted(self, tenant: str, request: TraceRequest) -> TraceRequest:
        """Check a request, and return it for the dataset that was checked. Raises like `trace`."""
        return (await self._permitted(tenant, request))[0]

    async def _permitted(self, tenant: str, request: TraceRequest) -> tuple[TraceRequest, RowPage | None]:
        if request.where is None:
            return request, None
        asked = await find_predicate_scope(self._graph, self._records, tenant, request)
        page = await self._questions.rows(tenant, RowsRequest(asked.dataset, first=0, origins=True))
        await self._check(tenant, replace(page, origins=[*page.origins, *asked.files]), request.where)
        return asked.request, page

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """Return rows (see `Questions`). Raises as `trace` does."""
        first = await self._questions.rows(tenant, RowsRequest(request.dataset, first=0, origins=True))
        await self._check_rows(tenant, first, request)
        page = await self._questions.rows(tenant, replace(request, origins=True))
        await self._check_rows(tenant, page, request)  # the files with these names may have changed
        names = [name for name, _ in page.columns]
        hidden = await self._hidden(tenant, page.dataset, names, page.origins)
        if not request.origins:
            page = replace(page, origins=())
        if not hidden:
            return page
        shown = [name not in hidden for name in names]
        rows = [
            replace(row, values=[value if is_shown else SHOWN for value, is_shown in zip(row.values, shown, strict=True)])
            for row in page.rows
        ]
        return replace(page, rows=rows)

    async def diff(self, tenant: str, request: DiffRequest) -> VersionDiff:
        """Compare versions (see `Questions`). Masked columns are left out, because a difference would show which values are equal.

        Raises:
            InvalidQueryError: a column of the key is masked.
        """
        plain = replace(request, hidden=(), origins=True)
        hidden = await self._hidden_in_diff(tenant, await self._questions.diff(tenant, replace(plain, first=0)))
        if masked := sorted({name.lower() for name in request.key} & {name.lower() for name in hidden}):
            raise _refused(f"The column {masked[0]} of the key is masked.", field="key", hint="Name a key of columns that are shown.")
        answer = await self._questions.diff(tenant, replace(plain, hidden=sorted({*request.hidden, *hidden})))
        if await self._hidden_in_diff(tenant, answer):  # the files may have changed
            raise _refused("The files changed during the question.", field="dataset", hint="Ask again.")
        notes = [f"Masked columns are not compared: {', '.join(sorted(hidden))}."] if hidden else []
        shown = [note for note in answer.notes if not any(name.lower() in note.lower() for name in hidden)]
        return replace(answer, notes=[*notes, *shown], origins=answer.origins if request.origins else ())

    async def explain(self, tenant: str, request: ExplainRequest) -> ExplainAnswer:
        """Explain wrong rows by masked traces, so that no condition is about a masked column.

        Raises:
            InvalidQueryError: a predicate needs a masked column.
        """
        return await explain(partial(self.trace, tenant), request, hidden=SHOWN)

    async def instances(self, tenant: str, request: InstanceRequest) -> InstanceAnswer:
        """Compare the lineage of rows (see `Questions`). The answer has no values.

        Raises:
            InvalidQueryError: a predicate needs a masked column.
        """
        asked = [TraceRequest(dataset=request.dataset, where=where) for where in (request.bad, request.good) if where is not None]
        for one in asked:
            await self.permitted(tenant, one)
        answer = await self._questions.instances(tenant, request)
        for one in asked:  # the files may have changed
            await self.permitted(tenant, one)
        return answer

    async def rank(self, tenant: str, request: RankRequest) -> RankAnswer:
        """Refuse the query. The value without a record shows what the record adds, by expressions over columns of any dataset."""
        del tenant, request
        raise _refused(
            "Columns are masked, and a ranking could show their values.", field="column", hint="It needs the scope `unmasked`, too."
        )

    async def _hidden_in_diff(self, tenant: str, answer: VersionDiff) -> set[str]:
        return await self._hidden(tenant, answer.dataset, [name for name, _ in answer.columns], answer.origins)

    async def _check_rows(self, tenant: str, page: RowPage, request: RowsRequest) -> None:
        shown_only = await self._check(tenant, page, request.where)
        if request.order is not None and shown_only is not None and request.order.column.lower() not in shown_only:
            message = f"The column {request.order.column} is masked or there is none, so it cannot be ordered by."
            raise _refused(message, field="order", hint="Order by a column that is shown.")

    async def _check(self, tenant: str, page: RowPage, where: str | None) -> set[str] | None:
        called = {page.dataset, *datasets_with(page.origins)}
        if not any(self._about(mask, called) for mask in self._masks):
            return None
        names = [name for name, _ in page.columns]
        hidden = await self._hidden(tenant, page.dataset, names, page.origins)
        shown = {name.lower() for name in names} - {name.lower() for name in hidden}
        if where is None:
            return shown
        with get_tracer(self._records).session(tenant) as session:
            asked = list_column_names(session.database, check_predicate(session.database, where))
        if odd := sorted(asked - shown):
            raise _refused(
                f"The predicate names {odd[0]}, which is masked or is no column.", field="where", hint="Select by columns that are shown."
            )
        return shown

    async def _hidden(self, tenant: str, dataset: str, columns: Collection[str], origins: Collection[Origin]) -> set[str]:
        """Return the masked columns of files that are read as one dataset. The rules for all of the files apply.

        If a rule applies to the dataset and the files do not prove which column is which, all columns are masked.
        """
        called = {dataset, *datasets_with(origins)}
        files = [origin.names for origin in origins]
        names = {column: {column, *(name for file in files for name in file.find_names(column))} for column in columns}
        hidden: set[str] = set()
        for mask in self._masks:
            about = self._about(mask, called)
            if not about:
                continue
            known = await self._columns(tenant, {dataset, *about}) if mask.tag is not None or _may_be_renamed(files) else []
            ruled = await self._ruled(tenant, mask, names, known, files)
            if ruled is None:
                return set(columns)
            hidden |= ruled
        return hidden

    async def _ruled(
        self, tenant: str, mask: Mask, names: Mapping[str, set[str]], known: Sequence[Node] | None, files: Sequence[ColumnNames]
    ) -> set[str] | None:
        """Return the columns that a rule masks, or None for all columns. `known` are the datasets' columns (None: too many)."""
        is_certain = all(file.is_certain for file in files)
        if mask.tag is None:
            if not is_certain or known is None:
                return None
            hidden_names = mask.names({name for of_column in names.values() for name in of_column})
            hidden_names |= {column for column, of_column in names.items() if mask.names(f"{column}.{name}" for name in of_column)}
            hidden_nodes = [node.name for node in known if mask.names([node.name])]
        else:
            if known is None:
                return None
            asked = {name.casefold() for of_column in names.values() for name in of_column}
            is_asked = not is_certain or _may_be_renamed(files)
            asked_nodes = [node for node in known if is_asked or is_same_or_within(asked, node.name)]
            hidden_nodes = [node.name for node in await self._bearers(tenant, asked_nodes, mask.tag)]
            if hidden_nodes and not is_certain:
                return None
            folded = {name.casefold() for name in hidden_nodes}
            hidden_names = {name for of_column in names.values() for name in of_column if is_same_or_within(folded, name)}
        for file in files:
            of_file = {name.casefold() for name in file.file_names}
            if file.may_be_renamed and any(of_file.isdisjoint(names_above(name)) for name in hidden_nodes):
                return None  # the file may have a masked column of the table under any name
        return {column for column, of_column in names.items() if of_column & hidden_names}

    async def _columns(self, tenant: str, datasets: Collection[str]) -> list[Node] | None:
        found: list[Node] = []
        unknown = sorted(set(datasets) - self._known.keys())
        there = {node.id for node in await self._graph.get(tenant, unknown)} if unknown else set()
        self._known |= {dataset: [] for dataset in unknown if dataset not in there}
        for dataset in sorted(datasets):
            if dataset not in self._known:
                listing = await self._graph.listed(tenant, f"{NodeKind.COLUMN}:{dataset.partition(':')[2]}:", first=_COLUMNS)
                self._known[dataset] = None if listing.total > _COLUMNS else list(listing.nodes)
            if (columns := self._known[dataset]) is None:
                return None
            found += columns
        return found

    def _about(self, mask: Mask, called: Collection[str]) -> list[str]:
        for identifier in called:
            if (mask, identifier) not in self._covered:
                self._covered[mask, identifier] = mask.covers(identifier)
        return [identifier for identifier in called if self._covered[mask, identifier]]

    async def _bearers(self, tenant: str, columns: Sequence[Node], tag: str) -> list[Node]:
        """Return the columns with a tag, or with values that flow unmasked from a column with the tag."""
        self._reach = reach = self._reach or TagReach(self._graph, tenant)
        unknown = [column.id for column in columns if (column.id, tag) not in self._tagged]
        await reach.read(unknown)
        for column in unknown:
            try:
                self._tagged[column, tag] = await reach.bears(column, tag)
            except InvalidQueryError:  # there are too many sources to check, so the column is masked
                self._tagged[column, tag] = True
        return [column for column in columns if self._tagged[column.id, tag]]


def _refused(message: str, *, field: str, hint: str) -> InvalidQueryError:
    error = InvalidQueryError(message, field=field, hint=hint)
    error.is_refusal = True
    return error


def _may_be_renamed(files: Collection[ColumnNames]) -> bool:
    return any(file.may_be_renamed for file in files)


def _without(values: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """Replace the values of masked columns. Nulls are replaced too, because they reveal something about the record."""
    return {name: SHOWN if name in hidden else value for name, value in values.items()}
