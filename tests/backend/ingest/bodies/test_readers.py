"""Bodies are read in processes apart: by turns, within their processor time, and no longer than their clients wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from timeit import timeit
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.bodies.readers import Readers, TooManyBodiesError
from headwater.backend.ingest.intake.bodies import BodyTooLargeError
from headwater.backend.ingest.intake.prov import read_packed_provenance
from headwater.backend.ingest.intake.receive import ReadEvents, Refused, read_packed_events
from headwater.backend.process.turns import Caller
from headwater.errors import InvalidInputError

ANN, BOB, SUE = Caller("a", "ann"), Caller("a", "bob"), Caller("b", "sue")
Opened = Callable[..., Any]
_LONG = ("pass", "pass", time.perf_counter, 10**12)  # for `timeit`: hours


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def open_readers(**options: Any) -> AsyncIterator[Readers]:
        readers = Readers(load_settings(home=tmp_path, **options))
        try:
            yield readers
        finally:
            await readers.close()

    return open_readers


class _Client:
    """A client that waits until it leaves."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def _read_long(readers: Readers, caller: Caller, client: _Client) -> None:
    await readers.read(caller, client.receive, timeit, *_LONG)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)


async def test_a_body_is_read_as_here_and_an_error_keeps_its_kind(opened: Opened) -> None:
    client = _Client()
    async with opened() as readers:
        read = await readers.read(ANN, client.receive, read_packed_events, b"[{}]", None, 100)
        assert isinstance(read, ReadEvents)
        assert [one.field for one in read.rejected] == ["$[0].run"]
        refused = await readers.read(ANN, client.receive, read_packed_provenance, b"document", None, 100, None)
        assert isinstance(refused, Refused)
        assert (refused.error.line, refused.letter.body) == (1, b"document")  # type: ignore[attr-defined]
        with pytest.raises(InvalidInputError, match="not known") as caught:
            await readers.read(ANN, client.receive, read_packed_provenance, b"x", "br", 100, None)
        assert caught.value.field == "Content-Encoding"
        assert len(readers.pids) == 1


async def test_a_body_that_takes_too_much_processor_time_is_refused_and_the_next_is_read(opened: Opened) -> None:
    async with opened(body_seconds=0.3) as readers:
        with pytest.raises(BodyTooLargeError, match=r"0\.3 s of processor time"):
            await _read_long(readers, ANN, _Client())
        first = readers.pids
        assert await readers.read(ANN, _Client().receive, len, b"abc") == 3
        assert readers.pids == first


async def test_a_reading_ends_with_its_client_and_its_process_reads_the_next(opened: Opened) -> None:
    async with opened(body_processes=2) as readers:
        assert await readers.read(ANN, _Client().receive, len, b"abc") == 3
        first, client = readers.pids, _Client()
        reading = asyncio.ensure_future(_read_long(readers, ANN, client))
        await asyncio.sleep(0.1)
        client.left.set()
        with pytest.raises(ClientDisconnect):
            await reading
        assert await readers.read(ANN, _Client().receive, len, b"abcd") == 4
        assert readers.pids == first


async def test_a_body_whose_client_leaves_before_its_turn_is_not_read(opened: Opened) -> None:
    async with opened(body_processes=2) as readers:
        busy, waiting = _Client(), _Client()
        first = asyncio.ensure_future(_read_long(readers, ANN, busy))
        await _until(lambda: bool(readers.pids))
        second = asyncio.ensure_future(_read_long(readers, ANN, waiting))
        await _until(lambda: readers.turns.count_waiting == 1)
        waiting.left.set()
        with pytest.raises(ClientDisconnect):
            await second
        assert readers.turns.count_waiting == 0
        first.cancel()


async def test_one_tenant_at_its_worst_keeps_no_other_from_its_turn(opened: Opened) -> None:
    async with opened(body_processes=2) as readers:
        clients = [_Client() for _ in range(6)]
        reading = [asyncio.ensure_future(_read_long(readers, (ANN, BOB)[n % 2], client)) for n, client in enumerate(clients)]
        await _until(lambda: readers.turns.count_waiting == 5)
        assert await readers.read(SUE, _Client().receive, len, b"abc") == 3
        assert readers.turns.overdue_seconds == 0, "it waits for its own bodies alone"
        assert readers.state == "ok"
        for client in clients:
            client.left.set()
        await asyncio.gather(*reading, return_exceptions=True)


@pytest.mark.slow
async def test_the_process_of_the_next_tenant_is_warm_before_it_comes(opened: Opened) -> None:
    async with opened(body_processes=3) as readers:
        clients = [_Client() for _ in range(2)]
        reading = [asyncio.ensure_future(_read_long(readers, caller, client)) for caller, client in zip((ANN, BOB), clients, strict=True)]
        await _until(lambda: len(readers.pids) == 3)
        first = readers.pids
        assert await readers.read(SUE, _Client().receive, len, b"abc") == 3
        assert readers.pids == first
        for client in clients:
            client.left.set()
        await asyncio.gather(*reading, return_exceptions=True)


async def test_a_start_goes_on_without_its_caller_and_serves_the_next(opened: Opened) -> None:
    async with opened(body_processes=2) as readers:
        client = _Client()
        reading = asyncio.ensure_future(_read_long(readers, ANN, client))
        await _until(lambda: readers.turns.count_at_work == 1)
        client.left.set()
        with pytest.raises(ClientDisconnect):
            await reading
        assert await readers.read(ANN, _Client().receive, len, b"abcd") == 4
        assert len(readers.pids) == 1


async def test_whoever_has_too_many_bodies_waiting_is_told_to_come_again(opened: Opened) -> None:
    async with opened(body_processes=2) as readers:
        client = _Client()
        reading = [asyncio.ensure_future(_read_long(readers, ANN, client)) for _ in range(65)]
        await _until(lambda: readers.turns.count_waiting == 64)
        with pytest.raises(TooManyBodiesError):
            await readers.read(ANN, client.receive, len, b"abc")
        client.left.set()
        await asyncio.gather(*reading, return_exceptions=True)


async def test_it_is_told_when_bodies_are_not_read_in_time(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.ingest.bodies.readers._OVERDUE", 0.0)
    async with opened(body_processes=2) as readers:
        client = _Client()
        reading = [asyncio.ensure_future(_read_long(readers, caller, client)) for caller in (ANN, SUE, Caller("c", "cid"))]
        await _until(lambda: readers.state.startswith("late: 1 bodies wait"))
        client.left.set()
        await asyncio.gather(*reading, return_exceptions=True)
        await _until(lambda: readers.state == "ok")
