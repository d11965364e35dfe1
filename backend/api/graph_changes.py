"""Notifies subscribers of changed runs in the graph, whichever process changed them.

While there are subscribers, one task polls the store for the effects of its last transactions, and passes the
new ids to each subscriber. Several changes of one run between two polls are one notification. The number of ids for a slow subscriber is
limited. A subscriber that would miss some gets an error.

A store reports all tenants together, so all subscribers get all ids. Each subscriber looks up the ids of its own tenant.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from headwater.errors import HeadwaterError, UnavailableError
from headwater.graph.model import NodeKind
from headwater.graph.stores.indexable import IndexableStore

_PAUSE = 0.5  # seconds between two polls of the store
_MOST = 5_000  # limit of pending runs of one subscriber
_NEVER = 1 << 62  # larger than every revision, so the store returns only its own revision
_RUN = f"{NodeKind.RUN}:"
_log = logging.getLogger("headwater.live")


class _Follower:
    """A subscriber, and its pending ids."""

    def __init__(self) -> None:
        self.waiting: dict[str, None] = {}
        self.changed = asyncio.Event()
        self.end: HeadwaterError | None = None


class Live:
    """The notifications of one graph store, for one event loop."""

    def __init__(self, store: IndexableStore, *, pause: float = _PAUSE, most: int = _MOST) -> None:
        self._store = store
        self._pause = pause
        self._most = most
        self._followers: set[_Follower] = set()
        self._looking: asyncio.Task[None] | None = None
        self._begun = False

    async def runs(self) -> AsyncGenerator[list[str], None]:
        """Yield ids of written runs at each change. The first yield is empty: all later writes will be reported.

        Raises:
            UnavailableError: too many ids were pending, or the store does not answer. A new call helps.
        """
        follower = _Follower()
        self._followers.add(follower)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        elif self._begun:
            follower.changed.set()
        try:
            while True:
                await follower.changed.wait()
                follower.changed.clear()
                if follower.end is not None:
                    raise follower.end
                ids, follower.waiting = list(follower.waiting), {}
                yield ids
        finally:
            self._followers.discard(follower)

    async def _look(self) -> None:
        self._begun = False
        try:
            revision = (await self._store.news("", [], after=_NEVER)).revision
            self._begun = True
            for follower in self._followers:
                follower.changed.set()
            while self._followers:
                await asyncio.sleep(self._pause)
                news = await self._store.news("", [], after=revision)
                if news.rows is None or news.revision < revision:
                    self._end("More was written than is followed, or the graph was made anew.")
                    return
                revision = news.revision
                self._tell([identifier for identifier in news.rows.ids if identifier.startswith(_RUN)])
        except HeadwaterError as error:
            self._end(error.message)
        except Exception:  # noqa: BLE001 - whatever its fault: those who follow must hear that they are told nothing any more
            _log.exception("following the graph failed")
            self._end("The service failed to follow the graph.")

    def _tell(self, ids: list[str]) -> None:
        for follower in list(self._followers) if ids else ():
            follower.waiting.update(dict.fromkeys(ids))
            if len(follower.waiting) > self._most:
                self._end("You are told less than happens: ask for less.", [follower])
            follower.changed.set()

    def _end(self, reason: str, followers: list[_Follower] | None = None) -> None:
        for follower in list(self._followers) if followers is None else followers:
            follower.waiting.clear()
            follower.end = UnavailableError(reason, hint="Ask for what there is now, and follow again.")
            follower.changed.set()
            self._followers.discard(follower)
