"""What changes something: replays, and what users declare. The scope that a mutation needs stands in `access`."""

# mypy: disable-error-code="untyped-decorator"
# strawberry types what a resolver decorator returns as Any, so that the field may stand for its value.

from __future__ import annotations

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graphql.audit import subjects_of
from headwater.graphql.record_types import RowRef, references
from headwater.graphql.replays import Replay, ReplayService
from headwater.graphql.types import Info


def replay_service(info: Info) -> ReplayService:
    """The service that runs replays.

    Raises:
        UnsupportedError: this service runs none.
    """
    if info.context.replays is None:
        raise UnsupportedError("Replays are not available on this service.", hint="Start the service with: headwater serve")
    return info.context.replays


@strawberry.type
class Mutation:
    """The root of all mutations."""

    @strawberry.mutation(
        description="Run a pipeline again into a shadow folder, with the records that a trace selects left out of every source (exclusive)."
    )
    async def start_replay(
        self, info: Info, dataset: str, where: str | None = UNSET, rows: list[RowRef] | None = UNSET, output: str | None = UNSET
    ) -> Replay:
        """`rows` or `where` say which records of `dataset` are left out."""
        if not where and not rows:
            raise InvalidQueryError("Neither rows nor where is given.", field="where", hint="Say which records the replay leaves out.")
        replays = replay_service(info)
        async with info.context.audited("replay.start", *filter(None, (dataset, output)), changes=True):
            identifier = await replays.start(info.context.tenant, dataset, where or None, references(rows), output or None)
        started = await replays.get(info.context.tenant, identifier)
        if started is None:
            raise NotFoundError(f"The replay {identifier} was started and cannot be found.", hint="Look at the service's log.")
        return Replay.of(started)

    @strawberry.mutation(
        description="State types, instances, containment, links, descriptions (docs/reference/declarations.md). Returns the log's offset."
    )
    async def declare(self, info: Info, declaration: JSON) -> int:
        """Refused where it breaks a rule, with the path of what is wrong; in the graph once it is projected."""
        if info.context.declarations is None:
            raise UnsupportedError("Declarations are not taken by this service.", hint="Start the service with: headwater serve")
        if not isinstance(declaration, dict):
            raise InvalidQueryError(
                "The declaration is no object.", field="declaration", hint="Write it as {types: […], descriptions: […]}."
            )
        async with info.context.audited("declare", *subjects_of(declaration), changes=True):
            return await info.context.declarations.declare(info.context.tenant, declaration)
