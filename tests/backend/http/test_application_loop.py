"""An application that holds its own event loop holds up nobody who asks for the service's health."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Event

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.responses import StreamingResponse

from headwater.backend.http.application_loop import OwnLoop


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application behind `OwnLoop`, started and shut down as a server does."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.loop = asyncio.get_running_loop()
        yield
        assert asyncio.get_running_loop() is app.state.loop

    app = FastAPI(lifespan=lifespan)
    told = Event()

    @app.get("/healthz")
    async def health() -> str:
        told.set()
        return "ok"

    @app.get("/busy")
    async def busy(request: Request) -> bool:
        # Holds its loop, as putting a large answer together does, until somebody has asked for the health.
        return told.wait(60) and asyncio.get_running_loop() is request.app.state.loop

    @app.post("/echo")
    async def echo(request: Request) -> StreamingResponse:
        body = await request.body()

        async def chunks() -> AsyncIterator[bytes]:
            for begin in range(0, len(body), 1000):
                yield body[begin : begin + 1000]

        return StreamingResponse(chunks())

    @app.get("/fault")
    async def fault() -> None:
        raise ValueError("a fault")

    apart = OwnLoop(app, here={"/healthz"})
    async with _lived(apart), httpx.AsyncClient(transport=httpx.ASGITransport(apart), base_url="http://service") as client:
        yield client


@asynccontextmanager
async def _lived(app: OwnLoop) -> AsyncIterator[None]:
    messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    sent: asyncio.Queue[object] = asyncio.Queue()
    life = asyncio.ensure_future(app({"type": "lifespan"}, messages.get, sent.put))
    await messages.put({"type": "lifespan.startup"})
    assert await sent.get() == {"type": "lifespan.startup.complete"}
    yield
    await messages.put({"type": "lifespan.shutdown"})
    assert await sent.get() == {"type": "lifespan.shutdown.complete"}
    await life


async def test_health_is_told_while_an_answer_holds_the_loop(client: httpx.AsyncClient) -> None:
    busy = asyncio.ensure_future(client.get("/busy"))
    await asyncio.sleep(0.05)  # it holds its loop now, or will before it answers
    assert not busy.done()
    assert (await client.get("/healthz")).json() == "ok"
    assert (await busy).json() is True


@pytest.mark.parametrize("size", [0, 10, 200_000])
async def test_bodies_pass_whole_and_in_order(client: httpx.AsyncClient, size: int) -> None:
    body = bytes(number % 251 for number in range(size))
    assert (await client.post("/echo", content=body)).content == body


async def test_a_fault_passes_to_the_server(client: httpx.AsyncClient) -> None:
    with pytest.raises(ValueError, match="a fault"):
        await client.get("/fault")
