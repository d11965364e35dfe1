"""Requests end when their client goes, and at their deadline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from headwater.backend.api.cancellation import Attended
from headwater.backend.api.credentials import Principal


class _Exchange:
    """A request to an application that waits for ever, and what became of it."""

    def __init__(self, *, begins: bool = False, reads: bool = True, method: str = "POST", path: str = "/graphql") -> None:
        self.scope: Scope = {"type": "http", "method": method, "path": path, "headers": []}
        self.sent: list[Message] = []
        self.cancelled = asyncio.Event()
        self.waits = asyncio.Event()
        self._begins = begins
        self._reads = reads
        self._to_come: asyncio.Queue[Message] = asyncio.Queue()
        self._to_come.put_nowait({"type": "http.request", "body": b"{}", "more_body": False})

    def hang_up(self) -> None:
        self._to_come.put_nowait({"type": "http.disconnect"})

    async def run(self, seconds: float) -> None:
        await Attended(self._answer, seconds=seconds)(self.scope, self._to_come.get, self._send)

    async def _answer(self, _: Scope, receive: Receive, send: Send) -> None:
        if self._reads:
            await receive()
        if self._begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        self.waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    async def _send(self, message: Message) -> None:
        self.sent.append(message)


@pytest.mark.parametrize("reads", [True, False])
async def test_a_client_that_goes_ends_its_question(*, reads: bool) -> None:
    exchange = _Exchange(reads=reads)
    running = asyncio.ensure_future(exchange.run(60))
    await exchange.waits.wait()
    exchange.hang_up()
    await asyncio.wait_for(running, 5)
    assert exchange.cancelled.is_set()
    assert not exchange.sent


async def test_a_deadline_ends_a_question_and_says_so() -> None:
    exchange = _Exchange()
    await asyncio.wait_for(exchange.run(0.01), 5)
    assert exchange.cancelled.is_set()
    start, body = exchange.sent
    assert start["status"] == 504
    error: dict[str, Any] = json.loads(body["body"])
    assert (error["error"], error["message"]) == ("QuestionEnded", "The request took more than 0.01 s and was ended.")


async def test_an_answer_that_has_begun_has_no_deadline() -> None:
    exchange = _Exchange(begins=True, method="GET", path="/api/v1/prov")
    running = asyncio.ensure_future(exchange.run(0.01))
    done, _ = await asyncio.wait({running}, timeout=1)
    assert not done
    exchange.hang_up()
    await asyncio.wait_for(running, 5)


async def test_a_client_that_takes_nothing_of_its_answer_ends_its_question() -> None:
    exchange = _Exchange(method="GET", path="/api/v1/prov")
    ended = asyncio.Event()

    async def answer(_: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
        finally:
            ended.set()

    async def full(message: Message) -> None:
        exchange.sent.append(message)
        if len(exchange.sent) > 3:
            await asyncio.Event().wait()

    to_come: asyncio.Queue[Message] = asyncio.Queue()
    to_come.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    await asyncio.wait_for(Attended(answer, seconds=0.05)(exchange.scope, to_come.get, full), 5)
    assert ended.is_set()
    assert len(exchange.sent) == 4


async def test_what_brings_data_is_left_alone() -> None:
    exchange = _Exchange(path="/api/v1/lineage")
    running = asyncio.ensure_future(exchange.run(0.01))
    exchange.hang_up()
    done, _ = await asyncio.wait({running}, timeout=1)
    assert not done
    running.cancel()


class _Crowd:
    """An application whose answers wait until they are let go, asked by many."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = asyncio.Event()
        self._attended = Attended(self._answer, seconds=60)

    def ask(self, tenant: str, name: str) -> tuple[asyncio.Queue[Message], asyncio.Task[None]]:
        """Ask as somebody; what is to come from the client, and the request."""
        to_come: asyncio.Queue[Message] = asyncio.Queue()
        to_come.put_nowait({"type": "http.request", "body": b"{}", "more_body": False})
        who = Principal(tenant, "key", name, holder=name)
        scope: Scope = {"type": "http", "method": "POST", "path": "/graphql", "headers": [], "state": {"principal": who}}
        return to_come, asyncio.create_task(self._attended(scope, to_come.get, self._send))

    async def _answer(self, scope: Scope, _: Receive, send: Send) -> None:
        self.begun.append(scope["state"]["principal"].name)
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def _send(self, _: Message) -> None:
        pass


async def test_many_questions_of_one_caller_wait_for_their_turn_and_those_whose_clients_go_never_begin() -> None:
    crowd = _Crowd()
    asked = [crowd.ask("a", "ann") for _ in range(300)]
    await _settled(lambda: len(crowd.begun) >= 16)
    _, other = crowd.ask("a", "bob")
    await _settled(lambda: "bob" in crowd.begun)
    for to_come, _ in asked:
        to_come.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(asyncio.gather(*(task for _, task in asked)), 30)
    crowd.go.set()
    await asyncio.wait_for(other, 30)
    assert (crowd.begun.count("ann"), crowd.begun.count("bob")) == (16, 1)


async def test_a_place_is_free_once_the_answer_begins() -> None:
    crowd = _Crowd()
    crowd.go.set()
    asked = [crowd.ask("a", "ann") for _ in range(50)]
    await _settled(lambda: len(crowd.begun) == 50)
    for to_come, _ in asked:
        to_come.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(asyncio.gather(*(task for _, task in asked)), 30)


async def _settled(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0)
