"""The two questions about records: where they came from or went, and which there are.

For GraphQL, REST and replays, which must not care where an answer is worked out: in this process (`DirectQuestions`) or in one that can
be ended (the service's pool).
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import RowOrder, RowPage, TraceAnswer, TraceRequest

if TYPE_CHECKING:
    from headwater.graph.trace.engine import Elsewhere


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """A page of a dataset's rows: `first` of them from the 0-based `offset` on, of those that `where` selects, in `order`.

    `origins`: see `TraceRequest`.
    """

    dataset: str
    where: str | None = None
    order: RowOrder | None = None
    first: int = 50
    offset: int = 0
    origins: bool = False


class Questions(Protocol):
    """Answers questions about the records of a tenant. Both methods raise as `trace` and `preview` do."""

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """Where records came from, or where they went."""

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """A page of rows."""


class DirectQuestions:
    """Answers in this process. `elsewhere` is for traces that are expected to look at more than `larger_than` rows, where that is given.

    What answers loads with the first question: a command that asks about the graph alone does without.
    """

    def __init__(
        self, graph: GraphStore, records: AssociationStore, *, elsewhere: Elsewhere = nullcontext, larger_than: int | None = None
    ) -> None:
        self._graph = graph
        self._records = records
        self._elsewhere = elsewhere
        self._larger_than = larger_than

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """See `Questions`."""
        from headwater.graph.trace.engine import trace

        return await trace(self._graph, self._records, tenant, request, elsewhere=self._elsewhere, larger_than=self._larger_than)

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """See `Questions`."""
        from headwater.graph.trace.preview import preview

        return await preview(
            self._graph,
            self._records,
            tenant,
            request.dataset,
            where=request.where,
            order=request.order,
            first=request.first,
            offset=request.offset,
            origins=request.origins,
        )
