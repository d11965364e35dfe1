"""What a request carries: who asks, what they may do, and where the answers are kept.

Made anew for every request by the service, from the credential; the schema must never take a tenant from a query.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

from headwater.graph.access.scopes import Scope, unrestricted
from headwater.graph.model import Edge, EdgeKind, Node
from headwater.graph.quality import outcome_of, without_values
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.questions import DirectQuestions, Questions
from headwater.graphql.administration import AdminService
from headwater.graphql.audit import Act, Auditor, Unaudited, audited
from headwater.graphql.audit_log import AuditReader
from headwater.graphql.declarations import DeclarationService
from headwater.graphql.loaders import Loaders
from headwater.graphql.replays import ReplayService

if TYPE_CHECKING:
    from headwater.graphql.recaptures import RecaptureService
    from headwater.graphql.registrations import RegistrationService
    from headwater.graphql.trace_jobs import TraceJobService


class News(Protocol):
    """Tells what is written to the graph."""

    def runs(self) -> AsyncGenerator[list[str], None]:
        """First nothing; then ids of runs that were written, of any tenant."""


@dataclass(kw_only=True)
class Context:
    """`questions` answers what is asked of records, in this process unless it is given. `require` raises where the caller has not a scope.

    `pending` counts log entries that the graph has not taken in yet; `store` names the graph store.
    `is_restricted`: `graph` is of the namespaces that the caller may read; `require_whole` raises where he has a scope in some alone.
    `tells_values`: whether the caller may know what any column holds, as reports of data quality tell it.
    `renew` identifies the caller once more, and makes the context of a request that he would send now; for what is told as it happens.
    """

    tenant: str
    graph: GraphStore
    records: AssociationStore
    require: Callable[[Scope], None]
    store: str
    pending: Callable[[], Awaitable[int]]
    tells_values: bool = True
    is_restricted: bool = False
    require_whole: Callable[[Scope], None] = unrestricted
    questions: Questions | None = None
    auditor: Auditor = field(default_factory=Unaudited)
    replays: ReplayService | None = None
    recaptures: RecaptureService | None = None
    trace_jobs: TraceJobService | None = None
    registrations: RegistrationService | None = None
    declarations: DeclarationService | None = None
    administration: AdminService | None = None
    audit_log: AuditReader | None = None
    live: News | None = None
    renew: Callable[[], Awaitable[Context]] | None = None
    loaders: Loaders = field(init=False)

    def become(self, other: Context) -> None:
        """Be another context of the same caller: what he may know, and what was not looked up yet."""
        for part in fields(self):
            setattr(self, part.name, getattr(other, part.name))

    def audited(self, operation: str, *subjects: str, changes: bool = False) -> AbstractAsyncContextManager[Act]:
        """Audit what is done within, for who asks: every resolver that tells of records or changes something goes through here."""
        return audited(self.auditor, operation, *subjects, changes=changes)

    def properties(self, node: Node) -> dict[str, Any]:
        """The properties of a node that the caller may know."""
        return dict(node.properties) if self.tells_values else without_values(node.kind, node.properties)

    def properties_of_edge(self, edge: Edge) -> dict[str, Any]:
        """The same of an edge: of a run and a check it holds the result."""
        return self.result(edge.properties) if edge.kind is EdgeKind.CHECKS else dict(edge.properties)

    def result(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What the caller may know of the result of a check."""
        return dict(values) if self.tells_values else outcome_of(values)

    def __post_init__(self) -> None:
        self.loaders = Loaders(self.graph, self.tenant)

    @property
    def asked(self) -> Questions:
        """Where to ask about records."""
        return self.questions or DirectQuestions(self.graph, self.records)
