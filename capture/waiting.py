"""A session for programs on an event loop. Calls that may wait for a disk run in a thread. Recording stays in memory and never waits."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from headwater.capture.actor import Actor
from headwater.capture.session import Session


class AsyncSession:
    """`async with AsyncSession("name") as session: …`. `session.sync` is the plain session, which registers actors and names data."""

    def __init__(self, name: str, **settings: Any) -> None:
        self._name = name
        self._settings = settings
        self.sync: Session

    async def __aenter__(self) -> Self:
        self.sync = await asyncio.to_thread(lambda: Session(self._name, **self._settings))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.sync.close, f"{kind.__name__}: {error}" if kind else None)

    async def commit(self, actor: Actor) -> int:
        """Commit the associations of an actor. The actor must not record anything during the commit."""
        return await asyncio.to_thread(actor.commit)
