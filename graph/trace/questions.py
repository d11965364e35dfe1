"""The protocol for questions about records: lineage, rows of a dataset, the difference between two versions, explanations of wrong rows.

GraphQL, REST and replays use the protocol. `DirectQuestions` computes answers in this process. The service computes them in a process that
can be ended.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import RowOrder, RowPage, TraceAnswer, TraceRequest

if TYPE_CHECKING:
    from headwater.graph.trace.engine import SessionFactory
    from headwater.graph.trace.explain import ExplainAnswer, ExplainRequest
    from headwater.graph.trace.instances import InstanceAnswer, InstanceRequest
    from headwater.graph.trace.rank import RankAnswer, RankRequest
    from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """A request for `first` rows of a dataset, from the 0-based `offset` on. `where` selects rows, and `order` sorts them.

    `origins`: see `TraceRequest`.
    """

    dataset: str
    where: str | None = None
    order: RowOrder | None = None
    first: int = 50
    offset: int = 0
    origins: bool = False


class Questions(Protocol):
    """A service that answers questions about records of a tenant. They raise as `trace`, `preview`, `diff`, `explain`, … do."""

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """Return the origin or the destination of records."""

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """Return a page of rows."""

    async def diff(self, tenant: str, request: DiffRequest) -> VersionDiff:
        """Return a page of the difference between two versions."""

    async def explain(self, tenant: str, request: ExplainRequest) -> ExplainAnswer:
        """Return conditions that separate the records behind wrong rows from the records behind others."""

    async def instances(self, tenant: str, request: InstanceRequest) -> InstanceAnswer:
        """Return the tasks and files through which more wrong rows passed than chance explains."""

    async def rank(self, tenant: str, request: RankRequest) -> RankAnswer:
        """Return the inputs on which an aggregated value depends most."""


class DirectQuestions:
    """Answers questions in this process. `session_factory` serves traces that are expected to read more than `larger_than` rows.

    The modules that answer are loaded with the first question. A command that only asks about the graph does not load them.
    """

    def __init__(
        self, graph: GraphStore, records: AssociationStore, *, session_factory: SessionFactory = nullcontext, larger_than: int | None = None
    ) -> None:
        self._graph = graph
        self._records = records
        self._session_factory = session_factory
        self._larger_than = larger_than

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        from headwater.graph.trace.engine import trace

        return await trace(
            self._graph, self._records, tenant, request, session_factory=self._session_factory, larger_than=self._larger_than
        )

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        from headwater.graph.trace.preview import preview

        return await preview(
            self._graph,
            self._records,
            tenant,
            request.dataset,
            predicate=request.where,
            order=request.order,
            first=request.first,
            offset=request.offset,
            origins=request.origins,
        )

    async def diff(self, tenant: str, request: DiffRequest) -> VersionDiff:
        from headwater.graph.trace.version_diff.engine import diff

        return await diff(self._graph, self._records, tenant, request)

    async def explain(self, tenant: str, request: ExplainRequest) -> ExplainAnswer:
        from headwater.graph.trace.explain import explain

        return await explain(partial(self.trace, tenant), request)

    async def instances(self, tenant: str, request: InstanceRequest) -> InstanceAnswer:
        from headwater.graph.trace.instances.engine import find_faulty_instances

        return await find_faulty_instances(self._graph, self._records, tenant, request)

    async def rank(self, tenant: str, request: RankRequest) -> RankAnswer:
        from headwater.graph.trace.rank.engine import rank

        return await rank(self._graph, self._records, tenant, request)
