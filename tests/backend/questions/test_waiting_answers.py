"""Answers wait for slow readers in bounded room, whole and in order."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.process.turns import Caller
from headwater.backend.questions import QuestionEndedError, TooManyQuestionsError
from headwater.backend.questions.answer_buffer import WaitingAnswer, WaitingAnswers
from headwater.graph.prov import ProvFormat
from headwater.graph.records import AssociationStore
from headwater.graph.records.roots import ANYWHERE
from headwater.graph.trace.answer import TraceRequest
from headwater.graph.trace.questions import RowsRequest
from tests.backend.questions.conftest import Opened
from tests.backend.service import ServiceProcess
from tests.graph.jobs import TENANT
from tests.graph.trace.small import copy

ANN, BOB, EVE = Caller("a", "ann"), Caller("b", "bob"), Caller("a", "eve")
MB = 1 << 20
ALL = TraceRequest(dataset="big", where="v >= 0")


async def _fill(answer: WaitingAnswer, pieces: list[bytes]) -> None:
    for piece in pieces:
        await answer.add(piece)
    answer.end()


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("seed", range(4))
async def test_an_answer_is_read_whole_and_in_order_however_the_two_sides_pause(seed: int) -> None:
    draw = random.Random(seed)
    pieces = [draw.randbytes(draw.choice([1, 1000, 200_000, 3_000_000])) for _ in range(60)]
    answers = WaitingAnswers(40 * MB)  # so that some must wait
    answer = answers.open(ANN)
    before = _open_files()
    filling = asyncio.create_task(_fill(answer, pieces))
    found = []
    async for piece in answer.pieces():
        found.append(piece)
        assert answers.disk_bytes <= 10 * MB
        if draw.random() < 0.2:
            await asyncio.sleep(0.01)
    await filling
    assert b"".join(found) == b"".join(pieces)
    answer.close()
    assert answers.disk_bytes == 0
    await _until(lambda: _open_files() <= before)


async def test_what_nobody_reads_takes_a_quarter_and_its_tenant_half_of_the_room() -> None:
    answers = WaitingAnswers(40 * MB)
    before = _open_files()
    mine = [answers.open(caller) for caller in (ANN, ANN, EVE, EVE)]
    filling = [asyncio.create_task(_fill(answer, [bytes(MB)] * 30)) for answer in mine]
    await _until(lambda: answers.disk_bytes == 20 * MB)
    other = answers.open(BOB)
    filling.append(asyncio.create_task(_fill(other, [bytes(MB)] * 30)))
    await _until(lambda: answers.disk_bytes == 30 * MB)
    await asyncio.sleep(0.05)
    assert answers.disk_bytes == 30 * MB
    assert not any(task.done() for task in filling)
    assert sum([len(piece) async for piece in other.pieces()]) == 30 * MB
    for task in filling:
        task.cancel()
    await asyncio.gather(*filling, return_exceptions=True)
    for answer in (*mine, other):
        answer.close()
    assert answers.disk_bytes == 0
    await _until(lambda: _open_files() <= before)


async def test_a_caller_who_reads_none_of_his_exports_gets_no_more_of_them() -> None:
    answers = WaitingAnswers(MB)
    opened = [answers.open(ANN) for _ in range(32)]
    with pytest.raises(TooManyQuestionsError):
        answers.open(ANN)
    answers.open(EVE).close()
    opened[0].close()
    answers.open(ANN).close()


async def test_a_fault_comes_after_what_was_made_before_it() -> None:
    answer = WaitingAnswers(40 * MB).open(ANN)
    await answer.add(bytes(MB))
    await answer.add(bytes(MB))
    answer.end(ValueError("late"))
    pieces = answer.pieces()
    assert len(await anext(pieces)) == MB
    found = 0
    while found < MB:
        found += len(await anext(pieces))
    with pytest.raises(ValueError, match="late"):
        await anext(pieces)
    answer.close()


@pytest.fixture
def big(home: Path) -> Path:
    """The home, with a dataset `big` whose provenance is larger than what sockets hold."""
    store = AssociationStore(load_settings(home=home).folder.associations, sources=ANYWHERE)
    raw = home.parent / "data" / "many.csv"
    raw.write_text("k,v\n" + "".join(f"k{n},{n}\n" for n in range(20_000)))
    copy(store, raw, home.parent / "data" / "big", 2)
    store.close()
    return home


async def test_an_export_that_waits_for_its_reader_beyond_the_deadline_is_ended(big: Path, opened: Opened) -> None:
    async with opened(question_processes=1, question_seconds=20, answer_bytes=4 * MB) as pool:
        await pool.of("ann").rows(TENANT, RowsRequest("out"))
        export = pool.of("ann").export(TENANT, ALL, ProvFormat.JSON)
        await anext(export)
        await asyncio.sleep(1)  # of the twenty that the process waits
        assert (await pool.of("bob").rows(TENANT, RowsRequest("out"))).total == 7  # once the other has been ended
        with pytest.raises(QuestionEndedError, match="HEADWATER_ANSWER_BYTES"):
            [piece async for piece in export]
        assert pool.waiting_bytes == 0


@pytest.mark.slow
def test_a_client_that_reads_slowly_holds_up_nobody(big: Path) -> None:
    roots = f'["{big.parent}/data"]'
    with ServiceProcess(big, HEADWATER_DATA_ROOTS=roots, HEADWATER_QUESTION_PROCESSES="1") as service, service.client() as other:
        host, port = service.url.removeprefix("http://").rsplit(":", 1)
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
            slow.settimeout(60)
            slow.connect((host, int(port)))
            asked = f"GET /api/v1/prov?target=big&where=v%20%3E%3D%200 HTTP/1.1\r\nHost: {host}"
            slow.sendall(f"{asked}\r\nAuthorization: Bearer {service.home.key()}\r\n\r\n".encode())
            read = bytearray(slow.recv(1000))
            assert read.startswith(b"HTTP/1.1 200 ")
            for _ in range(3):
                answer = other.post("/graphql", json={"query": '{ rows(dataset: "out") { total } }'}).json()
                assert answer == {"data": {"rows": {"total": 7}}}
                read += slow.recv(1000)
            while not read.endswith(b"\r\n0\r\n\r\n"):  # and what it gets is whole
                piece = slow.recv(MB)
                assert piece, read[-200:]
                read += piece
            assert len(read) > 8 * MB
