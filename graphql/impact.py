"""Lists of impact and causes in the schema."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry

from headwater.errors import InvalidQueryError
from headwater.graph import views as domain
from headwater.graph.stores.protocol import Direction
from headwater.graph.trace.answer import TraceRequest
from headwater.graph.views.request import MAX_NAMES, at_most
from headwater.graphql.limits import MAX_HOPS, MAX_PAGE, bounded
from headwater.graphql.names import ids_of
from headwater.graphql.record_types import RowRef, references
from headwater.graphql.types import Info, Node

_RECORDS = 100_000  # limit of records that a trace may reach, to be counted by dataset


@strawberry.type(description="A node that is affected, or a cause. `path` leads to it from the focus, both included.")
class Affected:
    """A node in the list. `lastRun` is the last run with a flow into it, at `updated`. `records` is the number of traced records in it.

    If `former` is true, each path has a link that its job has given up.
    """

    node: Node
    distance: int
    path: list[strawberry.ID]
    owners: list[str]
    last_run: strawberry.ID | None
    updated: str | None
    records: int | None
    former: bool


@strawberry.type(
    description="A page of a list of impact or cause; `cursor` fetches the next. `total` is exact within depth and limit. `former`"
    " counts the nodes to which only links lead that their jobs have given up. They are listed on request only."
)
class ImpactPage:
    """A page of the list. If a trace of records was a superset or incomplete, `exact` is false, and `reasons` explain it."""

    rows: list[Affected]
    total: int
    beyond: int
    exact: bool
    reasons: list[str]
    former: int
    cursor: str | None

    @classmethod
    async def of(cls, info: Info, found: domain.Impact, start: int, first: int) -> ImpactPage:
        """Return one page of a list."""
        rows = [row async for row in found.rows(start, first)]
        info.context.loaders.budget.spend(len(rows))
        return cls(
            rows=[
                Affected(
                    node=Node.of(row.node),
                    distance=row.distance,
                    path=[strawberry.ID(identifier) for identifier in row.path],
                    owners=list(row.owners),
                    last_run=strawberry.ID(row.last_run) if row.last_run else None,
                    updated=row.updated,
                    records=row.records,
                    former=row.former,
                )
                for row in rows
            ],
            total=found.total,
            beyond=found.beyond,
            exact=found.exact,
            reasons=list(found.reasons),
            former=len(found.former),
            cursor=str(start + len(rows)) if start + len(rows) < found.total else None,
        )


@strawberry.input(description="Records of a dataset, by a predicate or by file and row: what a trace begins with.")
class RecordSet:
    """Records, selected with the same arguments as in `trace`."""

    dataset: str
    where: str | None = None
    rows: list[RowRef] | None = None


async def impact_page(
    info: Info,
    focus: list[strawberry.ID],
    records: RecordSet | None,
    direction: Direction,
    depth: int,
    first: int,
    after: str | None,
    former: bool,
) -> ImpactPage:
    """Return a page of the list for nodes or for a record set."""
    context = info.context
    size = bounded(first, "first", low=1, high=MAX_PAGE)
    at_most(len(focus), MAX_NAMES, "nodes", "focus")
    if after and not (after.isascii() and after.isdecimal() and len(after) <= 10):
        raise InvalidQueryError(f"{after[:80]!r} is not a cursor.", field="after", hint="Pass the cursor of the page before, or none.")
    start = bounded(int(after), "after", low=0, high=2**31) if after else 0
    if records is None and not focus:
        raise InvalidQueryError("Neither focus nor records is given.", field="focus", hint="Name a node, or a dataset and a predicate.")
    if records is None:
        hops = bounded(depth, "depth", low=1, high=MAX_HOPS)
        named = await ids_of(info, focus)
        return await ImpactPage.of(
            info, await domain.impact(context.graph, context.tenant, named, direction=direction, depth=hops, former=former), start, size
        )
    forward = direction is Direction.DOWNSTREAM
    request = TraceRequest(
        dataset=records.dataset, where=records.where, rows=references(records.rows), forward=forward, limit=_RECORDS, values=False,
        selected_values=False,
    )  # fmt: skip
    async with context.audited("impact", records.dataset) as act:
        answer = await context.asked.trace(context.tenant, request)
        act.met(answer.selected, answer.records)
    return await ImpactPage.of(info, domain.impact_of_records(context.graph, context.tenant, answer, forward=forward), start, size)
