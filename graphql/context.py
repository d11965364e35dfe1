"""What a request carries: who asks, what they may do, and where the answers are kept.

Made anew for every request by the service, from the credential; the schema must never take a tenant from a query.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from strawberry.fastapi import BaseContext

from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.questions import DirectQuestions, Questions
from headwater.graphql.access import Scope
from headwater.graphql.audit import Act, Auditor, Unaudited, audited
from headwater.graphql.declarations import DeclarationService
from headwater.graphql.loaders import Loaders
from headwater.graphql.replays import ReplayService


@dataclass(kw_only=True)
class Context(BaseContext):
    """`questions` answers what is asked of records, in this process unless it is given. `require` raises where the caller has not a scope.

    `pending` counts log entries that the graph has not taken in yet; `store` names the graph store.
    """

    tenant: str
    graph: GraphStore
    records: AssociationStore
    require: Callable[[Scope], None]
    store: str
    pending: Callable[[], Awaitable[int]]
    questions: Questions | None = None
    auditor: Auditor = field(default_factory=Unaudited)
    replays: ReplayService | None = None
    declarations: DeclarationService | None = None
    loaders: Loaders = field(init=False)

    def audited(self, operation: str, *subjects: str, changes: bool = False) -> AbstractAsyncContextManager[Act]:
        """Audit what is done within, for who asks: every resolver that tells of records or changes something goes through here."""
        return audited(self.auditor, operation, *subjects, changes=changes)

    def __post_init__(self) -> None:
        super().__init__()
        self.loaders = Loaders(self.graph, self.tenant)

    @property
    def asked(self) -> Questions:
        """Where to ask about records."""
        return self.questions or DirectQuestions(self.graph, self.records)
