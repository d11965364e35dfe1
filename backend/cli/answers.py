"""Answers the queries of a command, from an opened home or from the service in HEADWATER_URL.

`trace`, `lineage` and `export` work the same in both cases. A home first reads the events that applications left
in the spool, so that answers include everything that has happened.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.backend.cli.display_names import dataset_of
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.output import note
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.quick_settings import settings_of
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError
from headwater.graph.model import Node, NodeKind
from headwater.graph.names import MOST_NAMED, nodes_named
from headwater.graph.trace import TraceAnswer, TraceRequest

if TYPE_CHECKING:
    from graphql import GraphQLError

    from headwater.backend.exports import CatalogRequest, System
    from headwater.backend.exports.provenance import Exported
    from headwater.backend.workspace import Workspace
    from headwater.graph.prov import GraphReader, ProvFormat

Ask = Callable[..., Awaitable[dict[str, Any]]]  # a GraphQL document and its variables → the data of the answer

_RUN_FIRST = "run a program with `headwater run`."  # end of the hint for a home without captures
_TIMEOUT = 600.0  # in seconds; a trace may read many files
_KNOWN = 1_000  # limit of names that are compared for near matches, and in a page
_LISTED = 5  # limit of names in a hint


Tracer = Callable[[TraceRequest], Awaitable[TraceAnswer]]
Importer = Callable[[bytes, "ProvFormat | None"], Awaitable[dict[str, Any]]]
EventTaker = Callable[[bytes], Awaitable[dict[str, Any]]]
Exporter = Callable[["Exported", "ProvFormat"], AsyncIterator[bytes]]
CatalogExporter = Callable[["System", "CatalogRequest"], AsyncIterator[bytes]]


_DECLARE = "mutation ($declaration: JSON!) { declare(declaration: $declaration) }"


@dataclass(frozen=True, slots=True)
class Answers:
    """The operations that a command can use: the graph, traces, provenance documents, exports for other catalogs, and imports."""

    graph: GraphReader
    trace: Tracer
    provenance: Exporter
    catalog: CatalogExporter
    take_prov: Importer
    take_events: EventTaker
    tenant: str
    ask: Ask
    settle: Callable[[], Awaitable[None]]
    trace_on_spark: Callable[[TraceRequest, str], Awaitable[TraceAnswer]]

    async def declare(self, declaration: dict[str, Any]) -> int:
        """Append a declaration to the log, and wait until the graph contains it. Returns its offset in the log."""
        offset: int = (await self.ask(_DECLARE, declaration=declaration))["declare"]
        await self.settle()
        return offset

    async def find_dataset(self, text: str) -> str:
        """Return the id of the dataset that `text` names. Received events are waited for first. Raises as `find`."""
        await self.settle()
        return (await self.find(text, NodeKind.DATASET)).id

    async def find(self, text: str, *kinds: NodeKind) -> Node:
        """Return the node that `text` names (see `graph.names`). If several kinds of nodes match, the first of `kinds` wins.

        Raises:
            NotFoundError: no node has this name. The error lists similar names.
            InvalidQueryError: several nodes have this name.
        """
        named = await nodes_named(self.graph, self.tenant, text, kinds)
        if len(named) == 1:
            return named[0]
        if named:
            more = " and more" if len(named) > MOST_NAMED else ""
            raise InvalidQueryError(
                f"{text} names several things: {', '.join(node.id for node in named[:MOST_NAMED])}{more}.", hint="Give the id."
            )
        raise NotFoundError(f"Nothing is known of {text}.", hint=await self._near(text, kinds))

    async def _near(self, text: str, kinds: tuple[NodeKind, ...]) -> str:
        known = await self._names(kinds)
        if not known:
            return _listed(known)
        ends = get_close_matches(Path(text).name, {Path(name).name for name in known}, 3)
        near = [*get_close_matches(text, known, 3), *(name for end in ends for name in known if Path(name).name == end)]
        if near:
            return f"Near: {', '.join(dataset_of(name) for name in [*dict.fromkeys(near)][:_LISTED])}."
        return f"Nothing is near. {_listed(known)}"

    async def known(self, *kinds: NodeKind) -> str:
        """Return a few names of nodes of some kinds, as a sentence for a hint."""
        return _listed(await self._names(kinds))

    async def _names(self, kinds: Sequence[NodeKind]) -> list[str]:
        return [node.name for node in (await self.graph.search(self.tenant, "", kinds=kinds, first=_KNOWN)).nodes]


def _listed(known: Sequence[str]) -> str:
    if not known:
        return f"Nothing has been captured yet: {_RUN_FIRST}"
    named = ", ".join(dataset_of(name) for name in known[:_LISTED])
    return f"Known are {named}{' and more' if len(known) > _LISTED else ''}."


@asynccontextmanager
async def open_answers(home: Path | None, *, creates: bool = True) -> AsyncIterator[Answers]:
    """Open the service in HEADWATER_URL if it is set and no home is named, else a home. `creates` makes a home that is missing.

    Raises:
        NotFoundError: there is no such home, and `creates` is false.
    """
    url = os.environ.get("HEADWATER_URL")
    if url and home is None:
        from headwater.backend.cli.remote import RemoteGraph
        from headwater.backend.cli.rest_client import RestClient
        from headwater.transport import GraphQLClient

        remote = RemoteGraph(GraphQLClient(url, shown_key(), timeout=_TIMEOUT))
        rest = RestClient(url, shown_key(), timeout=_TIMEOUT)
        yield Answers(
            remote,
            remote.trace,
            rest.provenance,
            rest.catalog,
            rest.take_prov,
            rest.take_events,
            DEFAULT_TENANT,
            remote.ask,
            remote.settle,
            _not_there,
        )
        return

    from headwater.backend.workspace import Workspace

    settings = settings_of(home)
    if not creates and not settings.folder.path.is_dir():
        raise no_home(settings.folder.path)
    async with await Workspace.open(settings) as workspace:
        delivered, waiting = await workspace.take_in()
        for refused in delivered.refused:
            note(f"something in the spool was refused: {refused}", label="warning")
        if waiting:
            note(f"{waiting} entries of the log are not in the graph yet; the answer is without them.", label="warning")

        async def take_prov(body: bytes, notation: ProvFormat | None) -> dict[str, Any]:
            return asdict(await asyncio.to_thread(workspace.prov.submit, DEFAULT_TENANT, body, notation))

        async def take_events(body: bytes) -> dict[str, Any]:
            return asdict(await workspace.events.submit(DEFAULT_TENANT, body).durable())

        async def settle() -> None:
            await workspace.settle()

        async def trace_on_spark(request: TraceRequest, master: str) -> TraceAnswer:
            from headwater.backend.traces.spark_session import spark_session

            with spark_session(master) as spark:
                return await workspace.trace_on_spark(DEFAULT_TENANT, request, spark, _say)

        from headwater.backend.traces.large_traces import TracesBySize

        trace = partial(TracesBySize(workspace.settings, workspace.graph, workspace.records, _say).trace, DEFAULT_TENANT)
        provenance, catalog = _exports_of(workspace)
        ask = _ask_here(workspace)
        with _naming_an_empty(settings.folder.path):
            yield Answers(workspace.graph, trace, provenance, catalog, take_prov, take_events, DEFAULT_TENANT, ask, settle, trace_on_spark)


def no_home(path: Path) -> NotFoundError:
    return NotFoundError(f"There is no home {path}.", hint="--home or HEADWATER_HOME names another.")


@contextmanager
def _naming_an_empty(home: Path) -> Iterator[None]:
    """Add the folder of the home to the hint that nothing was captured. The program may have used another home."""
    try:
        yield
    except HeadwaterError as error:
        if error.hint and error.hint.endswith(_RUN_FIRST):
            error.hint += f" The home that was asked is {home}; --home or HEADWATER_HOME names another."
        raise


def _exports_of(workspace: Workspace) -> tuple[Exporter, CatalogExporter]:
    async def provenance(request: Exported, format: ProvFormat) -> AsyncIterator[bytes]:
        from headwater.backend.exports.provenance import chunks_of, open_export

        async with open_export(workspace.graph, workspace.records, DEFAULT_TENANT, request) as export:
            async for chunk in chunks_of(export, format):
                yield chunk

    async def catalog(system: System, request: CatalogRequest) -> AsyncIterator[bytes]:
        from headwater.backend.exports import open_catalog

        async for chunk in (await open_catalog(workspace.graph, DEFAULT_TENANT, system, request)).chunks:
            yield chunk

    return provenance, catalog


async def _not_there(request: TraceRequest, master: str) -> TraceAnswer:
    raise InvalidQueryError(
        "Spark reads the kept tables of a home, and HEADWATER_URL names a service.",
        hint="Name a home (--home), which may share its tables with the service (HEADWATER_ASSOCIATIONS).",
    )


def _ask_here(workspace: Workspace) -> Ask:
    """Return a function that answers GraphQL documents from the opened home, as a service would."""

    async def ask(document: str, **variables: Any) -> dict[str, Any]:
        from headwater.backend.api.caller_audit_log import PermittedAudit
        from headwater.backend.audit.reader import audit_of
        from headwater.backend.ingest.intake.declarations import DeclarationIntake
        from headwater.backend.policies import CallersPolicies, Policies
        from headwater.backend.traces.large_traces import TracesBySize
        from headwater.backend.triggers.actions import Site
        from headwater.backend.triggers.callers import CallersTriggers, StoreOnDemand
        from headwater.backend.triggers.owners import HOME
        from headwater.graph.access.scopes import unrestricted
        from headwater.graphql.context import Context
        from headwater.graphql.schema import schema
        from headwater.graphql.services import Services

        stores, policies = StoreOnDemand(workspace.settings), Policies(workspace.settings, workspace.graph, checks_first=True)
        triggers = CallersTriggers(
            stores, Site(workspace), lambda: HOME, require=unrestricted, tells_values=True, audit=partial(_audit, workspace)
        )
        audit_lines = audit_of(workspace.settings)
        context = Context(
            tenant=DEFAULT_TENANT, graph=workspace.graph, records=workspace.records, require=unrestricted, store="",
            pending=lambda: workspace.projector.pending(DEFAULT_TENANT),
            questions=TracesBySize(workspace.settings, workspace.graph, workspace.records, _say),
            services=Services(
                declarations=DeclarationIntake(workspace.log, workspace.graph), triggers=triggers,
                policies=CallersPolicies(policies, machine_user()), audit_log=PermittedAudit(audit_lines, None, quickly=False),
            ),
        )  # fmt: skip
        try:
            result = await schema.execute(document, variable_values=variables, context_value=context)
        finally:
            stores.close()
            audit_lines.close()
            await policies.close()
        if result.errors:
            raise _error(result.errors[0])
        return result.data or {}

    return ask


def _audit(workspace: Workspace, operation: str, trigger: str) -> None:
    from headwater.backend.audit.log import append_line

    line = {"who": "home", "tenant": DEFAULT_TENANT, "what": operation, "on": [f"trigger {trigger}"], "decision": "allowed"}
    append_line(workspace.home.audit, line)


def _say(line: str) -> None:
    note(line)


def _error(error: GraphQLError) -> HeadwaterError:
    from headwater.transport import error_of

    return error_of({"message": error.message, "extensions": error.extensions})


def shown_key() -> str | None:
    """Return the API key for a service: HEADWATER_API_KEY, else the key of an existing home folder."""
    from headwater.backend.home.settings import load_settings

    settings = load_settings()
    if settings.api_key is not None:
        return settings.api_key.get_secret_value()
    return settings.folder.key() if settings.folder.key_file.exists() else None
