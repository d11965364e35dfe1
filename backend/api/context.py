"""The dependencies of endpoints: the parts of the service, and the caller.

The functions are coroutines, because FastAPI would run plain functions in a thread, which costs more than their work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.requests import HTTPConnection

from headwater.backend.access.masks import Masks
from headwater.backend.api.credentials import Credentials, Principal
from headwater.backend.api.graph_changes import Live
from headwater.backend.audit.log import AuditLog
from headwater.backend.audit.reader import AuditLines
from headwater.backend.audit.shared.copier import AuditCopier
from headwater.backend.home.settings import Settings
from headwater.backend.ingest.bodies.readers import Readers
from headwater.backend.intakes import Intakes
from headwater.backend.operate.soundness.watch import Watch
from headwater.backend.process.metrics import Metrics
from headwater.backend.questions import QuestionPool
from headwater.backend.worker import ServiceWorker
from headwater.backend.workspace import Workspace
from headwater.errors import KeyRequiredError
from headwater.graph.access.restricted_store import RestrictedStore
from headwater.graph.access.scopes import Scope
from headwater.graph.stores import GraphStore


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of one running service."""

    settings: Settings
    workspace: Workspace
    credentials: Credentials
    metrics: Metrics
    worker: ServiceWorker
    questions: QuestionPool
    readers: Readers
    audit: AuditLog
    audit_lines: AuditLines
    audit_copier: AuditCopier | None
    watch: Watch
    masks: Masks
    intakes: Intakes
    live: Live


async def service(request: Request) -> Service:
    parts: Service = request.app.state.service
    return parts


async def principal(request: HTTPConnection) -> Principal:
    """Return the caller. The guard has already refused callers without a credential; this is a second check."""
    found: Principal | None = getattr(request.state, "principal", None)
    if found is None:
        raise KeyRequiredError("This needs the service's key.", hint="Send it as `Authorization: Bearer KEY`.")
    return found


def graph_of(parts: Service, who: Principal, *scopes: Scope) -> GraphStore:
    """Return the graph for a caller: the whole graph, or the namespaces in which the caller has `read` and the other scopes."""
    permitted = [who.within[scope] for scope in dict.fromkeys((Scope.READ, *scopes)) if scope in who.within]
    return RestrictedStore(parts.workspace.graph, who.tenant, permitted) if permitted else parts.workspace.graph


async def graph(who: Annotated[Principal, Depends(principal)], parts: Annotated[Service, Depends(service)]) -> GraphStore:
    return graph_of(parts, who)


async def tenant(request: Request) -> str:
    return (await principal(request)).tenant
