"""Bounds for WebSockets: one for all, and a few for each tenant however many the others have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from headwater.backend.api.credentials import Principal
from headwater.backend.api.sockets import Sockets
from headwater.backend.questions import TooManyQuestionsError

_Open = Callable[[str, str], Awaitable[None]]
_Close = Callable[[], Awaitable[None]]


@asynccontextmanager
async def opening() -> AsyncIterator[tuple[_Open, _Close]]:
    """Opens connections by tenant and caller, and closes all."""
    sockets, end, tasks = Sockets(), asyncio.Event(), set[asyncio.Task[None]]()

    async def app(*_: Any) -> None:
        await end.wait()

    async def unused() -> Any:
        raise AssertionError

    async def opened(tenant: str, holder: str) -> None:
        who = Principal(tenant, "key", holder, holder=holder)

        async def identify() -> Principal:
            return who

        task = asyncio.create_task(sockets.serve(app, {"type": "websocket"}, unused, app, who=who, identify=identify))
        tasks.add(task)
        await asyncio.sleep(0)
        if task.done():
            task.result()

    async def closed() -> None:
        end.set()
        await asyncio.gather(*tasks, return_exceptions=True)

    try:
        yield opened, closed
    finally:
        await closed()


async def test_one_tenant_that_has_all_sockets_leaves_some_to_another() -> None:
    async with opening() as (opened, _):
        for number in range(128):
            await opened("busy", f"key {number // 8}")
        with pytest.raises(TooManyQuestionsError):
            await opened("busy", "key 16")
        for number in range(8):
            await opened("quiet", f"key {number}")
        with pytest.raises(TooManyQuestionsError):
            await opened("quiet", "key 8")


async def test_callers_of_one_name_in_two_tenants_count_apart_and_what_ends_counts_no_more() -> None:
    async with opening() as (opened, closed):
        for tenant in ("a", "b"):
            for _ in range(8):
                await opened(tenant, "home")
            with pytest.raises(TooManyQuestionsError):
                await opened(tenant, "home")
        await closed()
        await opened("a", "home")
