"""What changes something: replays. Every mutation needs the key."""

# mypy: disable-error-code="untyped-decorator"
# strawberry types what a resolver decorator returns as Any, so that the field may stand for its value.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.errors import InvalidQueryError, KeyRequiredError, NotFoundError, UnsupportedError
from headwater.graphql.replays import Replay, ReplayService
from headwater.graphql.types import Info, RowRef, references


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
        if not info.context.holds_key:
            raise KeyRequiredError(
                "Starting a replay needs the key.", hint="Send it as `Authorization: Bearer KEY`; the home folder's file `key` holds it."
            )
        if not where and not rows:
            raise InvalidQueryError("Neither rows nor where is given.", field="where", hint="Say which records the replay leaves out.")
        replays = replay_service(info)
        identifier = await replays.start(info.context.tenant, dataset, where or None, references(rows), output or None)
        started = await replays.get(info.context.tenant, identifier)
        if started is None:
            raise NotFoundError(f"The replay {identifier} was started and cannot be found.", hint="Look at the service's log.")
        return Replay.of(started)
