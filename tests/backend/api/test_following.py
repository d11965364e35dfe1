"""`headwater.client` follows the news of a running service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
from typing import Any
from uuid import UUID

import httpx
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from headwater.backend.access.keys import KeyRing
from headwater.client import AsyncClient, Client, Node, Progress
from headwater.errors import HeadwaterError, InvalidQueryError, KeyRequiredError, NotFoundError, UnavailableError
from headwater.graph.access.scopes import Scope
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_JOB = "job:followed:from-python"


@pytest.fixture
def caller(service: ServiceProcess) -> Client:
    return Client(service.url, service.home.key())


@pytest.fixture
def ring(service: ServiceProcess) -> Iterator[KeyRing]:
    ring = KeyRing(service.home.named_keys)
    yield ring
    ring.close()


def _run(number: int, state: str = "COMPLETE", job: str = "from-python") -> dict[str, Any]:
    event = run_event(number)
    event["run"]["runId"], event["eventType"] = str(UUID(int=0xF01104 + number)), state
    event["job"] = {"namespace": "followed", "name": job}
    return event


def _id(number: int) -> str:
    return f"run:{UUID(int=0xF01104 + number)}"


def test_what_happens_once_it_has_begun_is_state(caller: Client, client: httpx.Client) -> None:
    with caller.follow_runs(_JOB, states=["FAIL"]) as runs:
        client.post("/api/v1/lineage", json=[_run(1, job="another"), _run(2), _run(3, "FAIL")]).raise_for_status()
        told = next(runs)
        assert isinstance(told, Node)
        assert (told.id, told.properties["state"]) == (_id(3), "FAIL")
        client.post("/api/v1/lineage", json=_run(4, "FAIL")).raise_for_status()
        assert next(runs).id == _id(4)
    with pytest.raises(StopIteration):
        next(runs)


def test_progress_and_replays_are_told_at_once(caller: Client) -> None:
    with caller.follow_progress() as progress, caller.follow_replays("0" * 32) as replays, caller.follow_captures() as captures:
        assert isinstance(next(progress), Progress)
        assert not replays._state.waiting
        assert not captures._state.waiting
    with caller.follow_recaptures("0" * 32) as recaptures:
        assert not recaptures._state.waiting
    with caller.follow_culprit_searches("0" * 32) as searches:
        assert not searches._state.waiting


def test_suspects_and_explanations_of_what_is_unknown_are_refused(caller: Client) -> None:
    with pytest.raises(NotFoundError, match="Nothing is known of nobody"):
        caller.suspects("nobody")
    with pytest.raises(NotFoundError):
        caller.explain("dataset:file:%2Fnowhere", bad="true")
    with pytest.raises(NotFoundError):
        caller.suspect_instances("dataset:file:%2Fnowhere", bad="true")


def test_an_event_loop_follows_too(service: ServiceProcess, client: httpx.Client) -> None:
    async def told() -> list[str]:
        async with AsyncClient(service.url, service.home.key()) as caller, caller.follow_runs(_JOB) as runs:
            await asyncio.to_thread(client.post, "/api/v1/lineage", json=[_run(11), _run(12)])
            found: list[str] = []
            async for run in runs:
                found.append(run.id)
                if len(found) == 2:
                    break
            return found

    assert sorted(asyncio.run(asyncio.wait_for(told(), 60))) == [_id(11), _id(12)]


def test_another_thread_ends_a_loop_that_waits(caller: Client) -> None:
    runs = caller.follow_runs(_JOB)
    found: list[Node] = []
    waits = Thread(target=lambda: found.extend(runs))
    waits.start()
    time.sleep(0.2)
    runs.close()
    waits.join(30)
    assert not waits.is_alive()
    assert found == []


def test_what_was_wrong_is_raised(service: ServiceProcess, caller: Client, ring: KeyRing) -> None:
    with pytest.raises(InvalidQueryError, match="states"):
        caller.follow_runs(states=[f"S{number}" for number in range(30)])
    with pytest.raises(KeyRequiredError):
        Client(service.url, "wrong").follow_runs()
    _, text = ring.create("sends", {Scope.INTAKE}, tenant="default")
    with pytest.raises(HeadwaterError, match="not read"):
        Client(service.url, text).follow_runs()
    with pytest.raises(UnavailableError, match="does not answer"):
        Client("http://127.0.0.1:9", "k").follow_runs()

    async def asked() -> None:
        async with AsyncClient(service.url, "wrong").follow_progress():
            pass

    with pytest.raises(KeyRequiredError):
        asyncio.run(asked())


@pytest.mark.parametrize("is_cancelled", [True, False], ids=["cancelled", "patience ends"])
def test_who_waits_in_vain_for_it_to_begin_leaves_no_connection_open(is_cancelled: bool) -> None:
    """A service that accepts the connection and sends nothing."""

    async def opened() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def says_nothing(connection: ServerConnection) -> None:
            await connection.recv()
            begun.set()
            await connection.wait_closed()
            ended.set()

        async with serve(says_nothing, "127.0.0.1", 0, subprotocols=[Subprotocol("graphql-transport-ws")]) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            caller = AsyncClient(f"http://127.0.0.1:{port}", "key", timeout=60 if is_cancelled else 0.5)
            begins = asyncio.create_task(caller.follow_runs().__aenter__())
            if is_cancelled:
                await asyncio.wait_for(begun.wait(), 20)
                begins.cancel()
            with pytest.raises(asyncio.CancelledError if is_cancelled else UnavailableError):
                await asyncio.wait_for(begins, 20)
            await asyncio.wait_for(ended.wait(), 20)

    asyncio.run(opened())


def test_a_revoked_key_ends_it(service: ServiceProcess, ring: KeyRing) -> None:
    key, text = ring.create("follows", {Scope.READ}, tenant="default")
    with Client(service.url, text).follow_runs(_JOB) as runs:
        ring.revoke(key.id)
        with pytest.raises(KeyRequiredError):
            next(runs)
        with pytest.raises(StopIteration):
            next(runs)


def test_a_service_that_goes_away_is_told_of(tmp_path: Any) -> None:
    with ServiceProcess(tmp_path) as gone:
        progress = Client(gone.url, gone.home.key()).follow_progress()
        next(progress)
        gone.kill()
        with pytest.raises(UnavailableError, match="broke off"):
            list(progress)
        with suppress(Exception):
            gone.home.retract(gone.process.pid)
