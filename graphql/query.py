"""The GraphQL queries. Each checks its limits, queries the domain, and converts the answer."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import asyncio

import strawberry
from strawberry import UNSET

from headwater import __version__
from headwater.graph.access.scopes import Scope
from headwater.graph.dataflow import reconstruct
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.quality import quality_of
from headwater.graph.stores.protocol import Direction
from headwater.graph.trace.answer import RowOrder as Order
from headwater.graph.trace.answer import Semantics
from headwater.graph.trace.questions import RowsRequest
from headwater.graph.views.request import MAX_NAMES, at_most
from headwater.graphql.admin_query import AdminQuery
from headwater.graphql.catalog_query import CatalogQuery
from headwater.graphql.contracts import ContractQuery
from headwater.graphql.culprits import CulpritQuery
from headwater.graphql.declarations import Dataflow, QualityCheck
from headwater.graphql.describing import GlossaryQuery
from headwater.graphql.erasures import ErasureQuery
from headwater.graphql.explanations import ExplanationQuery
from headwater.graphql.limits import MAX_HOPS, MAX_NODES, MAX_PAGE, bounded
from headwater.graphql.map_query import MapQuery
from headwater.graphql.names import id_of, ids_of
from headwater.graphql.policies import PolicyQuery
from headwater.graphql.rankings import RankingQuery
from headwater.graphql.recaptures import Recapture
from headwater.graphql.record_types import RowOrder, RowPage, RowRef, Trace, trace_request
from headwater.graphql.registrations import Registration
from headwater.graphql.replay_fields import ReplayQuery
from headwater.graphql.retention import RetentionQuery
from headwater.graphql.root_fields import query
from headwater.graphql.saved_views import SavedViewQuery
from headwater.graphql.search_query import SearchQuery
from headwater.graphql.selection import asks, selects
from headwater.graphql.services import available
from headwater.graphql.subject_access import SubjectQuery
from headwater.graphql.suspects import SuspectQuery
from headwater.graphql.trace_jobs import TraceJob
from headwater.graphql.triggers import TriggerQuery
from headwater.graphql.types import Info, LineageGraph, Node, NodePage, Service
from headwater.graphql.version_query import VersionQuery
from headwater.graphql.view_query import ViewQuery
from headwater.graphql.workflows import WorkflowQuery

_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_READ = frozenset({"values", "line"})  # parts of a record that need its file


@strawberry.type
class Query(
    ReplayQuery, ViewQuery, CatalogQuery, SearchQuery, MapQuery, VersionQuery, TriggerQuery, WorkflowQuery,
    CulpritQuery, SuspectQuery, ExplanationQuery, RankingQuery, AdminQuery, GlossaryQuery,
    SavedViewQuery, PolicyQuery, ContractQuery, SubjectQuery, RetentionQuery, ErasureQuery,
):  # fmt: skip
    @query("The state of the service.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def service(self, info: Info) -> Service:
        context = info.context
        counts = await context.graph.counts(context.tenant)
        return Service(
            version=__version__,
            store=context.store,
            nodes=sum(counts.values()),
            runs=counts.get(NodeKind.RUN, 0),
            captures=0 if context.is_restricted else await asyncio.to_thread(context.records.count, context.tenant),
            pending=await context.pending(),
        )

    @query("A node by its id; null if there is none.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def node(self, info: Info, id: strawberry.ID) -> Node | None:
        node = await info.context.loaders.node.load(id)
        return Node.of(node) if node else None

    @query(
        "Nodes whose name contains the text, in any case. An empty text finds all nodes.", scope=Scope.READ, costly=True, in_namespaces=True
    )
    async def search(
        self, info: Info, text: str = "", kinds: list[NodeKind] | None = UNSET, first: int = 20, after: str | None = UNSET
    ) -> NodePage:
        context = info.context
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        page = await context.graph.search(context.tenant, text, kinds=tuple(dict.fromkeys(kinds or ())), first=size, after=after or None)
        context.loaders.budget.spend(len(page.nodes))
        return NodePage.of(page)

    @query(
        "The nodes around the focus, nearest first. Without `kinds`, READS and WRITES are followed.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def lineage(
        self,
        info: Info,
        focus: list[strawberry.ID],
        direction: Direction = Direction.BOTH,
        depth: int = 8,
        kinds: list[EdgeKind] | None = UNSET,
        limit: int = 2000,
    ) -> LineageGraph:
        """Return the nodes around the focus. If a limit cut the answer, `truncated` is the number of missing nodes."""
        context = info.context
        at_most(len(focus), MAX_NAMES, "nodes", "focus")
        graph = await context.graph.reach(
            context.tenant,
            list(dict.fromkeys(await ids_of(info, focus))),
            direction=direction,
            kinds=tuple(dict.fromkeys(kinds or _FLOWS)),
            depth=bounded(depth, "depth", low=0, high=MAX_HOPS),
            limit=bounded(limit, "limit", low=1, high=MAX_NODES),
        )
        context.loaders.budget.spend(len(graph.nodes))
        return LineageGraph.of(graph)

    @query(
        "How the actors that a container holds feed one another: links, order, cycles.", scope=Scope.READ, costly=True, in_namespaces=True
    )
    async def dataflow(self, info: Info, container: strawberry.ID) -> Dataflow:
        found = await reconstruct(info.context.graph, info.context.tenant, await id_of(info, container))
        info.context.loaders.budget.spend(sum(map(len, found.generations)))
        return Dataflow.of(found)

    @query(
        "Data-quality results of a dataset (those of its columns too) or of a column, over time.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def quality(self, info: Info, node: strawberry.ID) -> list[QualityCheck]:
        checks = await quality_of(info.context.graph, info.context.tenant, await id_of(info, node))
        info.context.loaders.budget.spend(sum(len(check.results) for check in checks))
        return [QualityCheck.of(check, info.context.result) for check in checks]

    @query(
        "Rows of a dataset, read from its current files. `where` is DuckDB SQL over its columns.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def rows(
        self,
        info: Info,
        dataset: strawberry.ID,
        where: str | None = UNSET,
        order: RowOrder | None = UNSET,
        first: int = 50,
        offset: int = 0,
    ) -> RowPage:
        context = info.context
        size = bounded(first, "first", low=0, high=MAX_PAGE)
        skipped = bounded(offset, "offset", low=0, high=2**31 - 1)
        by = Order(order.column, order.descending) if order else None
        request = RowsRequest(dataset, where=where or None, order=by, first=size, offset=skipped)
        async with context.audited("rows", dataset) as act:
            page = await context.asked.rows(context.tenant, request)
            act.subjects.append(page.dataset)
            act.records = len(page.rows)
        return RowPage.of(page)

    @query(
        "Trace the records that the predicate selects, or `rows`: where they came from, or went.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def trace(
        self,
        info: Info,
        dataset: str,
        where: str | None = UNSET,
        rows: list[RowRef] | None = UNSET,
        column: str | None = UNSET,
        semantics: Semantics = Semantics.INFLUENCE,
        forward: bool = False,
        to: str | None = UNSET,
        limit: int = 1000,
        as_of: str | None = UNSET,
    ) -> Trace:
        """Trace records.

        `dataset` and `to` are an id, a name or a path. `as_of` is an instant (UTC), a run, a version or a table's snapshot.
        """
        context = info.context
        request = trace_request(
            dataset, where, rows, column, semantics, to, limit, as_of,
            forward=forward, values=asks(info, "records", _READ), selected_values=asks(info, "selected", _READ),
        )  # fmt: skip
        async with context.audited("trace", dataset) as act:
            answer = await context.asked.trace(context.tenant, request)
            act.met(answer.selected, answer.records)
        context.loaders.budget.spend(len(answer.records) + len(answer.selected))
        return Trace.of(answer, column=request.column, forward=forward)

    @query("The current state of a trace that runs as a job; null if you have none with this id.", scope=Scope.READ, costly=False)
    async def trace_job(self, info: Info, id: strawberry.ID) -> TraceJob | None:
        context = info.context
        found = await available(info.context.services.trace_jobs, "Traces as jobs").get(context.tenant, id)
        if found is None:
            return None
        if found.answer is not None and selects(info, "answer"):
            async with context.audited("trace", found.request.dataset) as act:
                act.met(found.answer.selected, found.answer.records)
            context.loaders.budget.spend(len(found.answer.records) + len(found.answer.selected))
        return TraceJob.of(found)

    @query("The programs of the home that replays may run. Needs the scope `replay`.", scope=Scope.REPLAY, costly=True)
    async def registrations(self, info: Info) -> list[Registration]:
        """Return the registered programs by job. They belong to the default tenant."""
        return [
            Registration.of(view)
            for view in await available(
                info.context.services.registrations, "Registered programs", "Ask a running service, or use: headwater jobs list"
            ).programs(info.context.tenant)
        ]

    @query("The current state of a recapture; null if the service knows of none with this id (any more).", scope=Scope.READ, costly=False)
    async def recapture(self, info: Info, id: strawberry.ID) -> Recapture | None:
        found = await available(info.context.services.recaptures, "Recaptures").get(info.context.tenant, id)
        return Recapture.of(found) if found else None

    @query("The latest recaptures since the service was started, newest first.", scope=Scope.READ, costly=False)
    async def recaptures(self, info: Info, first: int = 20) -> list[Recapture]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        return [
            Recapture.of(view) for view in await available(info.context.services.recaptures, "Recaptures").list(info.context.tenant, size)
        ]
