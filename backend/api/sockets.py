"""WebSockets, for subscriptions alone: how many a caller may have, and that each ends with the right to it.

A connection outlives the request that opened it. So whom it is from is looked up again every second, with the same headers; where that is
not the same caller with the same rights any more (a key that was revoked, a session that was ended, another role), it is closed.

There is a bound for all of them together. However many the others have, a tenant may have a few.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.credentials import Principal
from headwater.backend.processes.errors import TooManyQuestionsError
from headwater.errors import HeadwaterError

PATH = "/graphql"
_MOST = 128
_OF_ONE = 8  # a caller's at most; and a tenant's, where all together have reached the bound
_LOOK_SECONDS = 1.0
Identify = Callable[[], Awaitable[Principal | None]]

_UNAUTHORIZED = 4401  # as graphql-transport-ws has it
_REASON_BYTES = 120  # a frame has room for 123


class Sockets:
    """Those of one service. For one event loop."""

    def __init__(self) -> None:
        self._of: Counter[tuple[str, str]] = Counter()  # by tenant and caller
        self._of_tenant: Counter[str] = Counter()

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, who: Principal, identify: Identify) -> None:
        """Serve a connection while `identify` says that it is from `who`.

        Raises:
            TooManyQuestionsError: he has as many as he may have, or all have together, and his tenant some of them.
        """
        caller = (who.tenant, who.holder)
        if self._of[caller] >= _OF_ONE or (self._of.total() >= _MOST and self._of_tenant[who.tenant] >= _OF_ONE):
            raise TooManyQuestionsError("There are too many WebSockets.", hint=f"A caller may have {_OF_ONE}, of 16 subscriptions.")
        self._of[caller] += 1
        self._of_tenant[who.tenant] += 1
        try:
            await _served(app, scope, receive, send, who, identify)
        finally:
            self._of.subtract([caller])
            self._of_tenant.subtract([who.tenant])
            self._of, self._of_tenant = +self._of, +self._of_tenant  # without those that have none any more


async def _served(app: ASGIApp, scope: Scope, receive: Receive, send: Send, who: Principal, identify: Identify) -> None:
    ended = False

    async def sends(message: Message) -> None:
        if not ended:
            await send(message)

    work = asyncio.ensure_future(app(scope, receive, sends))
    watch = asyncio.ensure_future(_until_other(who, identify))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
            return
        ended = True
        await send({"type": "websocket.close", "code": _UNAUTHORIZED, "reason": watch.result()})
    finally:
        for task in (watch, work):
            task.cancel()
        await asyncio.wait({watch, work})
        for task in (watch, work):
            if not task.cancelled():
                task.exception()


async def _until_other(who: Principal, identify: Identify) -> str:
    """Wait until a caller is not known as he was; why."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            found = await identify()
        except HeadwaterError as error:
            return error.message.encode()[:_REASON_BYTES].decode("utf-8", "ignore")
        if found != who:
            return "The key or session is not what it was."
