"""The types of records in the schema: rows of a dataset, traced records, and the exactness of answers."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Sequence

import strawberry
from strawberry.scalars import JSON

from headwater.graph.trace.answer import AsOf as DomainAsOf
from headwater.graph.trace.answer import Grain, Semantics, TraceAnswer, TraceRequest
from headwater.graph.trace.answer import Hop as DomainHop
from headwater.graph.trace.answer import Row as DomainRow
from headwater.graph.trace.answer import RowPage as DomainRowPage
from headwater.graph.trace.answer import TracedRecord as DomainRecord
from headwater.graph.trace.lineage_path import make_path_graph
from headwater.graph.views.request import at_most
from headwater.graphql.limits import MAX_RECORDS, MAX_ROWS, bounded
from headwater.graphql.root_fields import COSTLY
from headwater.graphql.row_numbers import RowNumber
from headwater.graphql.types import Info, LineageGraph

strawberry.enum(Semantics, description="INFLUENCE: every record that had a part. WITNESS: records that suffice to produce the row again.")
strawberry.enum(Grain, description="The grain of an entry of an answer. Any grain but RECORD makes the answer inexact.")


@strawberry.type(description="A column of a dataset, with its type as the reader of the rows sees it.")
class Column:
    name: str
    type: str


@strawberry.type(
    description="A record. `row` is 0-based in its file (a CSV header is none), `line` 1-based. `values` follow the page's columns."
)
class Row:
    """A row of a dataset. `values` is a list in the order of the columns."""

    file: str
    row: RowNumber
    line: int | None
    values: JSON

    @classmethod
    def of(cls, row: DomainRow) -> Row:
        return cls(file=row.file, row=RowNumber(row.row), line=row.line, values=JSON(list(row.values)))


@strawberry.type(description="A page of rows of a dataset, read from its current files.")
class RowPage:
    """A page of rows. `note` is a remark about the rows, for example that files changed since the run."""

    dataset: strawberry.ID
    columns: list[Column]
    rows: list[Row]
    total: int
    has_record_lineage: bool
    note: str | None

    @classmethod
    def of(cls, page: DomainRowPage) -> RowPage:
        return cls(
            dataset=strawberry.ID(page.dataset),
            columns=[Column(name=name, type=kind) for name, kind in page.columns],
            rows=[Row.of(row) for row in page.rows],
            total=page.total,
            has_record_lineage=page.has_record_lineage,
            note=page.note,
        )


@strawberry.type(description="An entry of a trace. `file` and `row` are null at coarser grains; `values` is an object by column.")
class TracedRecord:
    """A traced record. `row` and `line` have the same meaning as in `Row`."""

    dataset: strawberry.ID
    file: str | None
    row: RowNumber | None
    line: int | None
    grain: Grain
    values: JSON
    is_former: bool = strawberry.field(
        description="Only an earlier version of the dataset has the record. Known in an answer of `subjectAccess` alone."
    )

    @classmethod
    def of(cls, record: DomainRecord) -> TracedRecord:
        return cls(
            dataset=strawberry.ID(record.dataset),
            file=record.file,
            row=None if record.row is None else RowNumber(record.row),
            line=record.line,
            grain=record.grain,
            values=JSON(dict(record.values)),
            is_former=record.is_former,
        )

    @strawberry.field(description="The dataset's name.")
    async def dataset_name(self, info: Info) -> str:
        """Return the name of the dataset, or its id if the graph does not have the dataset."""
        node = await info.context.loaders.node.load(self.dataset)
        return node.name if node else self.dataset


@strawberry.type(description="A column, and the expression that makes it.")
class MadeColumn:
    column: str
    expression: str


@strawberry.type(
    description="One operator on a path: the columns that it computes, and what it decides `by` (a condition, keys, an order)."
)
class Step:
    """An operation on the path, with expressions as Spark writes them."""

    operator: str
    made: list[MadeColumn]
    by: list[str]


@strawberry.type(description="One run on the path of a trace: what it wrote from what, and the operations between, outermost first.")
class Hop:
    """A run on the path. `records` counts its output records in the trace. `expressions` are those behind the requested column, or all.

    `recaptured` is the time of a second run of the program that found these records and wrote the same files.
    """

    job: strawberry.ID
    run: strawberry.ID
    output: strawberry.ID
    inputs: list[strawberry.ID]
    operations: list[str]
    records: int
    grain: Grain
    expressions: list[Step]
    recaptured: str | None
    tasks: list[strawberry.ID] = strawberry.field(description="The tasks that wrote these records, as far as they are known; at most 20.")

    @classmethod
    def of(cls, hop: DomainHop) -> Hop:
        return cls(
            job=strawberry.ID(hop.job),
            run=strawberry.ID(hop.run),
            output=strawberry.ID(hop.output),
            inputs=[strawberry.ID(dataset) for dataset in hop.inputs],
            operations=list(hop.operations),
            records=hop.records,
            grain=hop.grain,
            expressions=[
                Step(
                    operator=step.operator,
                    made=[MadeColumn(column=made.column, expression=made.expression) for made in step.made],
                    by=list(step.by),
                )
                for step in hop.expressions
            ],
            recaptured=hop.recaptured,
            tasks=[strawberry.ID(task) for task in hop.tasks],
        )


@strawberry.type(
    description="What to know of an answer: `effect` is superset, missing, unreadable or version. The last two leave it exact."
)
class Incomplete:
    """A missing part of an answer. `what` is an operator, a file or a run."""

    what: str
    reason: str
    effect: str


@strawberry.type(
    description="Lineage that no run recorded and that this trace recomputed from the sources: the estimated and the actual time."
)
class FoundAgain:
    """Records of an operator that were computed again for the answer."""

    capture: str
    operator: str
    estimated_ms: float
    took_ms: float


@strawberry.type(description="The version of a dataset that a trace began with: as of an instant, the runs that wrote it, latest first.")
class AsOf:
    """A version of a dataset. With `isRead`, no known run wrote it, and a run has read it."""

    at: str
    runs: list[strawberry.ID]
    is_read: bool

    @classmethod
    def of(cls, version: DomainAsOf) -> AsOf:
        return cls(at=version.at, runs=[strawberry.ID(run) for run in version.runs], is_read=version.is_read)


@strawberry.type(description="The records that records came from, or went into; whether the answer is exact, and what is missing.")
class Trace:
    """The answer to a trace. `total` counts the records without the limit. `selected` are the records at which the trace began."""

    semantics: Semantics
    exact: bool
    records: list[TracedRecord]
    total: int
    selected: list[TracedRecord]
    path: list[Hop]
    incomplete: list[Incomplete]
    elapsed_ms: float
    found_again: list[FoundAgain]
    storage_requests: int = strawberry.field(description="Requests that it made to remote storage.")
    storage_bytes: float = strawberry.field(description="Bytes that it read from there.")
    as_of: AsOf | None = strawberry.field(description="The version that it began with, where one was asked for.")
    notes: list[str] = strawberry.field(description="What a reader has to know although the answer may be exact.")
    answer: strawberry.Private[TraceAnswer]
    column: strawberry.Private[str | None]
    forward: strawberry.Private[bool]

    @classmethod
    def of(cls, answer: TraceAnswer, *, column: str | None, forward: bool) -> Trace:
        """Convert an answer. `column` and `forward` are arguments of the request."""
        return cls(
            semantics=answer.semantics,
            exact=answer.exact,
            total=answer.total,
            elapsed_ms=answer.elapsed_ms,
            answer=answer,
            column=column,
            forward=forward,
            records=[TracedRecord.of(record) for record in answer.records],
            selected=[TracedRecord.of(record) for record in answer.selected],
            path=[Hop.of(hop) for hop in answer.path],
            incomplete=[Incomplete(what=item.what, reason=item.reason, effect=item.effect) for item in answer.incomplete],
            found_again=[
                FoundAgain(capture=item.capture, operator=item.operator, estimated_ms=item.estimated_ms, took_ms=item.took_ms)
                for item in answer.found_again
            ],
            storage_requests=answer.storage_requests,
            storage_bytes=float(answer.storage_bytes),
            as_of=AsOf.of(answer.as_of) if answer.as_of else None,
            notes=list(answer.notes),
        )

    @strawberry.field(description="The datasets and jobs on the path, and, where a column was asked for, the columns that it goes through.")
    async def graph(self, info: Info) -> LineageGraph:
        graph = await make_path_graph(info.context.graph, info.context.tenant, self.answer, column=self.column, forward=self.forward)
        info.context.loaders.budget.spend(len(graph.nodes))
        return LineageGraph.of(graph)

    @strawberry.field(
        description="Datasets on the path without known records, up to three, for which the caller may start a recapture.", metadata=COSTLY
    )
    async def recapturable(self, info: Info) -> list[strawberry.ID]:
        """Return datasets for which a recapture may succeed. Callers without the scope `replay` get none."""
        coarse = [hop.output for hop in self.answer.path if hop.grain is Grain.DATASET]
        if not coarse or info.context.services.recaptures is None:
            return []
        return [strawberry.ID(dataset) for dataset in await info.context.services.recaptures.possible(info.context.tenant, coarse)]


@strawberry.input(description="An order of rows by the values of a column, nulls last; it reads all rows that the predicate selects.")
class RowOrder:
    """The order of rows. Equal rows are ordered by file and row."""

    column: str
    descending: bool = False


@strawberry.input(description="A record, by file and 0-based row.")
class RowRef:
    """The position of a record, as in `Row` and `TracedRecord`."""

    file: str
    row: RowNumber


def references(rows: Sequence[RowRef] | None) -> list[tuple[str, int]]:
    """Convert positions of records for the domain.

    Raises:
        InvalidQueryError: the number of positions exceeds the limit.
    """
    at_most(len(rows or ()), MAX_ROWS, "records", "rows")
    return [(row.file, row.row) for row in rows or ()]


def trace_request(
    dataset: str,
    where: str | None,
    rows: Sequence[RowRef] | None,
    column: str | None,
    semantics: Semantics,
    to: str | None,
    limit: int,
    as_of: str | None,
    *,
    forward: bool,
    values: bool,
    selected_values: bool,
) -> TraceRequest:
    """Return the request for the arguments of a trace.

    Raises:
        InvalidQueryError: the trace selects or requests too many records.
    """
    return TraceRequest(
        dataset=dataset,
        where=where or None,
        rows=references(rows),
        column=column or None,
        semantics=semantics,
        forward=forward,
        to=to or None,
        limit=bounded(limit, "limit", low=0, high=MAX_RECORDS),
        values=values,
        selected_values=selected_values,
        as_of=as_of or None,
    )
