"""Assembles the application: guard, endpoints, GraphQL and page around one workspace.

The module contains wiring only. The order of the middleware matters: request ids are outermost, so that a refusal has one too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.requests import HTTPConnection
from starlette.types import ASGIApp

import headwater
from headwater.backend.access.keys import ring_of
from headwater.backend.access.masks import Masks
from headwater.backend.access.people.directory import People
from headwater.backend.access.people.ended_sessions import ended_of
from headwater.backend.api import (
    audit_log,
    captures,
    catalogs,
    columns,
    declarations,
    errors,
    evidence,
    health,
    impact,
    lineage,
    login,
    page,
    permitted_triggers,
    provenance,
    sessions,
)
from headwater.backend.api.administration import PermittedAdministration
from headwater.backend.api.audit import auditor, note_refusal
from headwater.backend.api.authorization import PermittedTraceJobs, questions_of, tells_values, views_of
from headwater.backend.api.caller_audit_log import PermittedAudit, tenant_of
from headwater.backend.api.cancellation import Attended
from headwater.backend.api.compression import Compressed, mark_secret
from headwater.backend.api.context import Service, graph_of, principal
from headwater.backend.api.credentials import Credentials, Principal
from headwater.backend.api.direct_events import DirectEvents
from headwater.backend.api.erasures import PermittedErasures
from headwater.backend.api.graph_changes import Live
from headwater.backend.api.guard import Guard
from headwater.backend.api.permitted_culprits import PermittedCulprits
from headwater.backend.api.permitted_declarations import PermittedDeclarations
from headwater.backend.api.permitted_replays import PermittedRecaptures, PermittedRegistrations, PermittedReplays
from headwater.backend.api.permitted_versions import PermittedVersions
from headwater.backend.api.permitted_workflows import PermittedWorkflows
from headwater.backend.api.requests import RequestLog
from headwater.backend.api.tickets import OwnTickets, SharedTickets, Tickets
from headwater.backend.audit.log import AuditLog
from headwater.backend.audit.reader import audit_of
from headwater.backend.audit.shared.copier import copier_of
from headwater.backend.compat import cdap, marquez
from headwater.backend.compat.marquez.names import EncodedNames
from headwater.backend.home.settings import DEFAULT_TENANT, Settings
from headwater.backend.http.application_loop import OwnLoop
from headwater.backend.http.connections import Direct
from headwater.backend.ingest.bodies.readers import Readers
from headwater.backend.ingest.intake.body_budget import BodyBudget
from headwater.backend.ingest.intake.declarations import DeclarationIntake
from headwater.backend.ingest.intake.documents import read_document
from headwater.backend.ingest.intake.scan import QUERY
from headwater.backend.intakes import Intakes
from headwater.backend.operate.soundness.watch import Watch
from headwater.backend.operate.upkeep.pruning import policy_of
from headwater.backend.policies import CallersPolicies, Policies
from headwater.backend.process.metrics import Metrics
from headwater.backend.questions import QuestionPool, TraceJobs
from headwater.backend.rerun.culprit_searches import CulpritSearches
from headwater.backend.rerun.recapture.jobs import RecaptureJobs
from headwater.backend.rerun.recapture.shadow_folder import sweep
from headwater.backend.triggers.callers import StoreOnDemand
from headwater.backend.versions.operations import VersionOperations
from headwater.backend.worker import ServiceWorker
from headwater.backend.worker.process import WorkerProcess
from headwater.backend.worker.thread import Worker
from headwater.backend.workflows.background_runs import BackgroundRuns
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError, InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graph.index import source_of
from headwater.graphql.context import Context
from headwater.graphql.router import RequestContext, build_router
from headwater.graphql.services import News, Services

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

# FastAPI's own traces would contain URLs with callers' data. The service has its own traces in `tracing`.
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
_SEGMENTS = "/api/v1/captures/"


def create_app(
    settings: Settings, *, credentials: Credentials | None = None, built_page: Path = page.PAGE, serving: bool = False
) -> Application:
    """Return the ASGI application of one home. The workspace is open between start-up and shut-down.

    With `serving`, the application is for a service with other users: the worker runs in a separate process, a process for queries starts
    in advance, and everything except the guard and `/healthz` runs on a separate event loop.
    """
    known = credentials or credentials_of(settings)
    metrics = Metrics()
    copier = copier_of(settings)
    audit = AuditLog(
        settings.folder.audit, most_bytes=settings.audit_bytes, kept=settings.audit_files, may_remove=copier.is_copied if copier else None
    )  # fmt: skip

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with await Workspace.open(settings, without_graph=True, indexed=True) as workspace:
            intakes = Intakes(settings, workspace, metrics)
            worker = _worker(settings, workspace, metrics, apart=serving)
            questions = QuestionPool(settings, worker.wanted, metrics.asked)
            readers = Readers(settings)
            metrics.answer_bytes.set_function(lambda: questions.waiting_bytes)
            watch = Watch(settings, known.is_key)
            audit_lines = audit_of(settings)
            app.state.service = Service(
                settings=settings, workspace=workspace, credentials=known, metrics=metrics, worker=worker, questions=questions,
                readers=readers, audit=audit, audit_lines=audit_lines, audit_copier=copier, watch=watch,
                masks=Masks(settings.folder.masks), live=Live(source_of(workspace.graph)), intakes=intakes,
            )  # fmt: skip
            audit.start()
            if copier is not None:
                copier.start()
                metrics.audit_copied.set_function(lambda: copier.behind_seconds)
            app.state.trace_jobs = TraceJobs(settings)
            app.state.triggers = StoreOnDemand(settings)
            turn = asyncio.Lock()  # replays, recaptures and searches for culprits run one after the other
            app.state.replays = workspace.replays(questions.of("replays").trace, turn).settling()
            await asyncio.to_thread(sweep, settings.folder.replays)
            app.state.recaptures, app.state.culprits = (
                RecaptureJobs(workspace.recaptures(), turn), CulpritSearches(workspace, questions.of("replays"), app.state.replays, turn)
            )  # fmt: skip
            app.state.workflow_runs, app.state.versions, app.state.policies = (
                BackgroundRuns(workspace.workflows), VersionOperations(workspace), Policies(settings, workspace.graph)
            )  # fmt: skip
            worker.start()
            intakes.start()
            if serving:
                questions.warm()
                readers.warm(2)  # for two tenants, because a start takes a second of processor time
            try:
                yield
            finally:
                watch.close()
                await app.state.trace_jobs.close()
                await asyncio.gather(
                    app.state.recaptures.close(),
                    app.state.culprits.close(),
                    app.state.workflow_runs.close(),
                    app.state.versions.close(),
                    app.state.policies.close(),
                )
                await questions.close()
                await readers.close()
                await asyncio.to_thread(intakes.stop)
                await asyncio.to_thread(worker.stop)
                await asyncio.to_thread(audit.close)
                if copier is not None:
                    await asyncio.to_thread(copier.stop)
                audit_lines.close()
                await asyncio.to_thread(app.state.triggers.close)

    # No /docs, because that page would load foreign scripts next to the user's cookie.
    app = Application(
        title="Headwater", version=headwater.__version__, summary=headwater.__doc__, lifespan=lifespan, docs_url=None, redoc_url=None,
        telemetry=_NO_TELEMETRY,
    )  # fmt: skip
    for part in (
        lineage,
        impact,
        columns,
        declarations,
        captures,
        provenance,
        evidence,
        catalogs,
        audit_log,
        permitted_triggers,
        sessions,
        login,
        health,
    ):
        app.include_router(part.router)
    for router in (*marquez.ROUTERS, *cdap.ROUTERS):
        app.include_router(router)
    app.include_router(build_router(_graphql_context, _read_query))
    app.include_router(page.build_router(built_page))
    # A caller may use half of it, which suffices for one of the largest bodies, compressed and decompressed.
    budget = BodyBudget(max(settings.bodies_bytes, 4 * settings.max_body_bytes))
    metrics.body_bytes.set_function(lambda: budget.taken)
    errors.install(app, refused=lambda request, why: note_refusal(audit, request.scope, request.state.principal, why))

    def enclosed(inner: ASGIApp) -> ASGIApp:
        attended: ASGIApp = Attended(Compressed(inner), seconds=settings.question_seconds)
        guarded = Guard(
            OwnLoop(attended, here={"/healthz"}) if serving else attended,
            credentials=known, hosts=(settings.host, *settings.allowed_hosts), limit=lambda path: _limit(settings, path),
            budget=budget, opened=settings.open_endpoints, audit=audit,
        )  # fmt: skip
        app.direct = DirectEvents(guarded, lambda: app.state.service)
        return RequestLog(EncodedNames(guarded), metrics=metrics)

    app.enclosed = enclosed
    return app


class Application(FastAPI):
    """FastAPI's application with additional outer layers, which small requests can bypass."""

    enclosed: Callable[[ASGIApp], ASGIApp]
    direct: Direct
    """What a server may offer a whole request first; there once the application has started."""

    def build_middleware_stack(self) -> ASGIApp:
        """Build the middleware (see Starlette, which calls this once, before the first message)."""
        return self.enclosed(super().build_middleware_stack())


def _worker(settings: Settings, workspace: Workspace, metrics: Metrics, *, apart: bool) -> ServiceWorker:
    if apart and settings.worker == "process":
        return WorkerProcess(settings, workspace.log, on_projected=metrics.projected.inc, on_restart=metrics.worker_restarts.inc)
    return Worker(workspace, policy=policy_of(settings), on_projected=metrics.projected.inc)


def credentials_of(settings: Settings) -> Credentials:
    """Return the credentials that the service of a home accepts."""
    folder = settings.folder
    return Credentials(
        settings.key(), tenant=DEFAULT_TENANT, named=ring_of(settings), people=People(folder.people), ended=ended_of(settings),
        tickets=_tickets(settings),
    )  # fmt: skip


def _tickets(settings: Settings) -> Tickets:
    if settings.ingest_log is None:
        return OwnTickets()
    from headwater.backend.ingest.log.postgres.log import address_of

    return SharedTickets(address_of(settings))


def _read_query(body: bytes) -> dict[str, Any]:
    document = read_document(body, QUERY)
    if not isinstance(document, dict):
        raise InvalidQueryError("The body is no object.", field="$", hint='Send {"query": "…", "variables": {…}}.')
    return document


def _limit(settings: Settings, path: str) -> int:
    if path == "/graphql":
        return min(settings.max_body_bytes, QUERY.size)
    return settings.max_segment_bytes if path.startswith(_SEGMENTS) else settings.max_body_bytes


async def _renewed(request: HTTPConnection) -> Context:
    """Return the context of a subscriber with present rights and masks, which may have changed since the subscription began."""
    request.state.principal = await request.app.state.service.credentials.identify(request.headers)
    return await _graphql_context(request)


def _require(request: HTTPConnection, who: Principal, scope: Scope) -> None:
    try:
        who.require(scope)
    except HeadwaterError as error:
        asked = {"method": "POST", **request.scope}  # the scope of a WebSocket has no method
        note_refusal(request.app.state.service.audit, asked, who, error.message, operation=f"graphql.{scope}")
        raise


async def _pending(workspace: Workspace, who: Principal) -> int:
    """Return the number of waiting entries of the caller's tenant. A caller restricted to namespaces gets 1 if any entry waits."""
    count = await workspace.projector.pending(who.tenant)
    return min(count, 1) if who.is_restricted(Scope.READ) else count


def _require_whole(request: HTTPConnection, who: Principal, scope: Scope) -> None:
    try:
        who.require_whole(scope)
    except HeadwaterError as error:
        asked = {"method": "POST", **request.scope}
        note_refusal(request.app.state.service.audit, asked, who, error.message, operation="graphql.namespaces")
        raise


def _services_of(request: HTTPConnection, service: Service, who: Principal, *, news: News | None) -> Services:
    state, workspace = request.app.state, service.workspace
    return Services(
        replays=PermittedReplays(state.replays, service, who),
        recaptures=PermittedRecaptures(state.recaptures, service, who),
        culprits=PermittedCulprits(state.culprits, service, who),
        trace_jobs=PermittedTraceJobs(state.trace_jobs, service, who),
        registrations=PermittedRegistrations(service.settings.folder),
        erasures=PermittedErasures(service.settings.folder),
        triggers=permitted_triggers.triggers_of(state.triggers, service, who),
        saved_views=views_of(state.triggers, who),
        policies=CallersPolicies(state.policies, who.name),
        workflows=PermittedWorkflows(state.workflow_runs, service, who),
        versions=PermittedVersions(state.versions, who),
        declarations=PermittedDeclarations(DeclarationIntake(workspace.log, graph_of(service, who, Scope.DECLARE)), service, who),
        administration=PermittedAdministration(service, who, on_secret=partial(mark_secret, request.scope)),
        audit_log=PermittedAudit(service.audit_lines, tenant_of(who)),
        news=news,
    )


async def _graphql_context(request: HTTPConnection) -> Context:
    who, service = await principal(request), request.app.state.service
    is_socket = request.scope["type"] == "websocket"
    workspace: Workspace = service.workspace
    return RequestContext(
        tenant=who.tenant,
        graph=graph_of(service, who),
        records=workspace.records,
        questions=questions_of(service, who),
        services=_services_of(request, service, who, news=service.live if is_socket else None),
        auditor=await auditor(request),
        require=partial(_require, request, who),
        require_whole=partial(_require_whole, request, who),
        is_restricted=who.is_restricted(Scope.READ),
        tells_values=tells_values(service, who),
        store=urlsplit(service.settings.store_url).scheme.partition("+")[0],
        pending=partial(_pending, workspace, who),
        renew=partial(_renewed, request) if is_socket else None,
    )
