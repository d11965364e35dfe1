"""The context of a request: the caller, the caller's rights, and the stores and services for the resolvers.

The service makes a context for every request, from the credential. The schema must never take a tenant from a query.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from typing import Any

from headwater.graph.access.scopes import Scope, unrestricted
from headwater.graph.model import Edge, EdgeKind, Node
from headwater.graph.quality import outcome_of, without_values
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.questions import DirectQuestions, Questions
from headwater.graphql.audit import Act, Auditor, Unaudited, audited
from headwater.graphql.loaders import Loaders
from headwater.graphql.services import Services


@dataclass(kw_only=True)
class Context:
    """The context of one request. `questions` answers queries about records, by default in this process.

    `require` raises an error if the caller lacks a scope. `pending` returns the number of log entries that are not yet in the graph.
    `store` names the graph store. If `is_restricted` is true, `graph` has only namespaces that the caller may read. `require_whole` raises
    an error if the caller has a scope in some namespaces only. `tells_values` is true if the caller may know values of any column, as in
    reports of data quality. `renew` identifies the caller again, and makes the context of a new request, for subscriptions.
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
    services: Services = field(default_factory=Services)
    renew: Callable[[], Awaitable[Context]] | None = None
    loaders: Loaders = field(init=False)

    def become(self, other: Context) -> None:
        """Replace all parts by those of another context of the same caller, to refresh rights and caches."""
        for part in fields(self):
            setattr(self, part.name, getattr(other, part.name))

    def audited(self, operation: str, *subjects: str, changes: bool = False) -> AbstractAsyncContextManager[Act]:
        """Audit the work of the block. Every resolver that returns records or changes data must use it."""
        return audited(self.auditor, operation, *subjects, changes=changes)

    def properties(self, node: Node) -> dict[str, Any]:
        """Return the properties of a node that the caller may know."""
        return dict(node.properties) if self.tells_values else without_values(node.kind, node.properties)

    def properties_of_edge(self, edge: Edge) -> dict[str, Any]:
        """Return the properties of an edge that the caller may know. An edge of a quality check has its result."""
        return self.result(edge.properties) if edge.kind is EdgeKind.CHECKS else dict(edge.properties)

    def result(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of a quality check's result that the caller may know."""
        return dict(values) if self.tells_values else outcome_of(values)

    def __post_init__(self) -> None:
        self.loaders = Loaders(self.graph, self.tenant)

    @property
    def asked(self) -> Questions:
        return self.questions or DirectQuestions(self.graph, self.records)
