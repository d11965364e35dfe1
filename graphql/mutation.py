"""The mutations: recaptures, traces as jobs, declarations and keys."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import asyncio
from dataclasses import replace

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.access.rights import rights_of
from headwater.graph.access.scopes import ROLES, Scope
from headwater.graph.trace.answer import Semantics
from headwater.graphql.administration import KeyWanted, NamedKey, NewKey
from headwater.graphql.audit import subjects_of
from headwater.graphql.contracts import ContractMutation
from headwater.graphql.culprits import CulpritMutation
from headwater.graphql.describing import DescriptionMutation
from headwater.graphql.policies import PolicyMutation
from headwater.graphql.recaptures import Recapture
from headwater.graphql.record_types import RowRef, trace_request
from headwater.graphql.replay_fields import ReplayMutation
from headwater.graphql.root_fields import mutation
from headwater.graphql.saved_views import SavedViewMutation
from headwater.graphql.services import available
from headwater.graphql.trace_jobs import TraceJob
from headwater.graphql.triggers import TriggerMutation
from headwater.graphql.types import Info
from headwater.graphql.version_changes import VersionMutation
from headwater.graphql.workflows import WorkflowMutation

_MOST_DAYS = 36_500
_ON_THE_HOME = "Ask a running service, or use: headwater admin keys"


@strawberry.type
class Mutation(
    ReplayMutation,
    CulpritMutation,
    TriggerMutation,
    WorkflowMutation,
    VersionMutation,
    DescriptionMutation,
    SavedViewMutation,
    PolicyMutation,
    ContractMutation,
):
    @mutation(
        "Find which records a dataset was made of: run its registered program again with record capture, beside the real data.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def start_recapture(self, info: Info, dataset: str) -> Recapture:
        """Start a recapture. `dataset` is an id, or the path of a folder. Lineage is stored only if the files are identical."""
        recaptures = available(info.context.services.recaptures, "Recaptures")
        async with info.context.audited("recapture.start", dataset, changes=True):
            identifier = await recaptures.start(info.context.tenant, dataset)
        started = await recaptures.get(info.context.tenant, identifier)
        if started is None:
            raise NotFoundError(f"The recapture {identifier} was started and cannot be found.", hint="Look at the service's log.")
        return Recapture.of(started)

    @mutation(
        "Follow a trace as a job, for one that is too large to be answered at once; ask `traceJob` how far it is.",
        scope=Scope.READ,
        costly=True,
    )
    async def start_trace(
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
        values: bool = True,
    ) -> TraceJob:
        """Start a trace (see the query `trace`) as a job. Without `values`, records have their positions only."""
        request = trace_request(
            dataset, where, rows, column, semantics, to, limit, as_of, forward=forward, values=values, selected_values=values
        )
        jobs = available(info.context.services.trace_jobs, "Traces as jobs")
        async with info.context.audited("trace.start", dataset, changes=True):
            return TraceJob.of(await jobs.start(info.context.tenant, request))

    @mutation("End a trace that you started as a job; null if you have none with this id.", scope=Scope.READ, costly=False)
    async def cancel_trace(self, info: Info, id: strawberry.ID) -> TraceJob | None:
        """Cancel a job, and return it without its answer."""
        jobs = available(info.context.services.trace_jobs, "Traces as jobs")
        async with info.context.audited("trace.cancel", id, changes=True):
            found = await jobs.cancel(info.context.tenant, id)
        return replace(TraceJob.of(found), answer=None) if found else None

    @mutation(
        "State types, instances, containment, links, descriptions (docs/reference/declarations.md). Returns the log's offset.",
        scope=Scope.DECLARE,
        costly=True,
        in_namespaces=True,
    )
    async def declare(self, info: Info, declaration: JSON) -> int:
        """Append a declaration to the log. A declaration that breaks a rule is refused with the path of the fault."""
        declarations = available(info.context.services.declarations, "Declarations")
        if not isinstance(declaration, dict):
            raise InvalidQueryError(
                "The declaration is no object.", field="declaration", hint="Write it as {types: […], descriptions: […]}."
            )
        async with info.context.audited("declare", *subjects_of(declaration), changes=True):
            return await declarations.declare(info.context.tenant, declaration)

    @mutation(
        "Make a named key, and tell its text this once. What the roles and scopes open is what it may.", scope=Scope.ADMIN, costly=False
    )
    async def create_key(
        self,
        info: Info,
        name: str,
        roles: list[str],
        scopes: list[str] | None = UNSET,
        tenant: str | None = UNSET,
        days: float | None = UNSET,
    ) -> NewKey:
        """Create a key. `days` is its time of validity, by default unlimited. Only the owner of the home may name another `tenant`.

        A role or scope may be restricted to namespaces: `viewer:s3://sales*`.
        """
        wanted = KeyWanted(name, rights_of(roles, scopes or (), _unknown), tenant or None, _length(days, "days", _MOST_DAYS))
        async with info.context.audited("key.create", name, *filter(None, (tenant,)), changes=True):
            return await asyncio.to_thread(available(info.context.services.administration, "Keys", _ON_THE_HOME).create, wanted)

    @mutation("Make a key in the place of a valid one, which stays valid for some hours more.", scope=Scope.ADMIN, costly=False)
    async def rotate_key(self, info: Info, id: strawberry.ID, overlap_hours: float = 168, days: float | None = UNSET) -> NewKey:
        hours = _length(overlap_hours, "overlapHours", _MOST_DAYS * 24) or 0.0
        async with info.context.audited("key.rotate", id, changes=True):
            return await asyncio.to_thread(
                available(info.context.services.administration, "Keys", _ON_THE_HOME).rotate, id, hours, _length(days, "days", _MOST_DAYS)
            )

    @mutation(
        "Make a key worth nothing from now on, and so the sessions of the page that were opened with it.", scope=Scope.ADMIN, costly=False
    )
    async def revoke_key(self, info: Info, id: strawberry.ID) -> NamedKey:
        async with info.context.audited("key.revoke", id, changes=True):
            return await asyncio.to_thread(available(info.context.services.administration, "Keys", _ON_THE_HOME).revoke, id)


def _unknown(field: str, name: str) -> InvalidQueryError:
    there = ", ".join(ROLES if field == "roles" else Scope)
    return InvalidQueryError(f"{name[:80]!r} is none of the {field}.", field=field, hint=f"There are {there}.")


def _length(value: float | None, field: str, most: float) -> float | None:
    if value is None or value is UNSET:
        return None
    if not 0 <= value <= most:
        raise InvalidQueryError(f"{field} is {value:g}.", field=field, hint=f"It may be from 0 to {most:g}.")
    return value
