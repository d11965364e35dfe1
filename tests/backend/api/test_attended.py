"""Requests end when their client goes, and at their deadline."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from headwater.backend.api.attended import Attended


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
