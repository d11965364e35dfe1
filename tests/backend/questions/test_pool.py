"""Questions in processes of their own: they are answered as here, and end when they must."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from headwater.backend.questions import QuestionEndedError, QuestionPool, TooManyQuestionsError
from headwater.errors import InvalidProvenanceError, InvalidQueryError, UnavailableError
from headwater.graph.prov import ProvFormat
from headwater.graph.prov.constraints import check
from headwater.graph.prov.read import read
from headwater.graph.trace.answer import RowPage, TraceRequest
from headwater.graph.trace.questions import RowsRequest
from tests.backend.questions.conftest import HARD, Opened
from tests.graph.jobs import TENANT


async def _is_gone(pid: int) -> None:
    """Wait until there is no such process."""
    deadline = time.monotonic() + 30
    while _is_there(pid):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_an_answer_is_the_one_that_this_process_gives(opened: Opened) -> None:
    async with opened() as pool:
        answer = await pool.of("ann").trace(TENANT, TraceRequest(dataset="out", where="v = 7"))
        assert answer.exact
        assert [dict(record.values) for record in answer.records] == [{"k": "b", "v": 7}]
        page = await pool.of("ann").rows(TENANT, RowsRequest("out", where="k = 'b'", first=1))
        assert (page.total, len(page.rows)) == (2, 1)
        assert len(pool.pids) == 1


async def test_an_error_of_a_question_keeps_its_kind_field_and_hint(opened: Opened) -> None:
    async with opened() as pool:
        with pytest.raises(InvalidQueryError, match="does not parse") as caught:
            await pool.of("ann").rows(TENANT, RowsRequest("out", where="v ="))
        assert caught.value.field == "where"
        assert caught.value.hint
        first = pool.pids
        await pool.of("ann").rows(TENANT, RowsRequest("out"))
        assert pool.pids == first


async def test_a_question_beyond_its_deadline_is_ended_and_the_next_is_answered(opened: Opened) -> None:
    async with opened(question_seconds=0.5, question_processes=1) as pool:
        await _warmed(pool)
        began = time.perf_counter()
        with pytest.raises(QuestionEndedError, match=r"more than 0\.5 s"):
            await pool.of("ann").rows(TENANT, RowsRequest("out", where=HARD))
        assert time.perf_counter() - began < 30  # to its end, the question takes minutes
        assert (await _answered(pool)).total == 7


async def test_a_process_that_does_not_give_up_is_replaced(opened: Opened) -> None:
    async with opened(question_seconds=2.0, question_processes=1) as pool:
        await _warmed(pool)
        (stuck,) = pool.pids
        os.kill(stuck, signal.SIGSTOP)
        with pytest.raises(QuestionEndedError):
            await pool.of("ann").rows(TENANT, RowsRequest("out"))
        await _is_gone(stuck)
        assert (await _answered(pool)).total == 7


async def test_a_question_whose_caller_leaves_is_ended(opened: Opened) -> None:
    async with opened(question_processes=1) as pool:
        await _warmed(pool)
        asked = asyncio.ensure_future(pool.of("ann").rows(TENANT, RowsRequest("out", where=HARD)))
        await asyncio.sleep(0.1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert (await _answered(pool)).total == 7


async def test_an_export_comes_in_chunks_and_its_process_answers_the_next_question(opened: Opened) -> None:
    async with opened(question_processes=1) as pool:
        asked = TraceRequest(dataset="out", where="v = 7")
        document = b"".join([chunk async for chunk in pool.of("ann").export(TENANT, asked, ProvFormat.JSON)])
        assert check(read(document)) == []
        with pytest.raises(InvalidQueryError, match="does not parse"):
            await anext(pool.of("ann").export(TENANT, TraceRequest(dataset="out", where="v ="), ProvFormat.JSON))
        async with aclosing(pool.of("ann").export(TENANT, asked, ProvFormat.N)) as left:
            await anext(left)
        assert (await _answered(pool)).total == 7
        assert len(pool.pids) == 1


@pytest.mark.slow
async def test_an_export_beyond_its_deadline_is_ended(opened: Opened) -> None:
    async with opened(question_seconds=0.5, question_processes=1) as pool:
        await _warmed(pool)
        with pytest.raises(QuestionEndedError, match=r"more than 0\.5 s"):
            await anext(pool.of("ann").export(TENANT, TraceRequest(dataset="out", where=HARD), ProvFormat.JSON))
        assert (await _answered(pool)).total == 7


async def test_too_much_memory_ends_the_question_and_nothing_else(opened: Opened) -> None:
    # Each || makes a longer text: 3 GB together.
    long = " || ".join(["k"] * 250)
    longer = " + ".join(f"length({long})" for _ in range(5))
    async with opened(question_bytes=1 << 30) as pool:
        with pytest.raises(QuestionEndedError, match="memory"):
            await pool.of("ann").rows(TENANT, RowsRequest("out", where=f"{longer} > 1"))
        assert (await pool.of("ann").rows(TENANT, RowsRequest("out"))).total == 7


async def test_one_caller_leaves_a_place_to_others_and_may_have_so_many_waiting(opened: Opened) -> None:
    async with opened(question_processes=2, question_seconds=20) as pool:
        mine = [asyncio.ensure_future(pool.of("ann").rows(TENANT, RowsRequest("out", where=HARD))) for _ in range(40)]
        done, _ = await asyncio.wait(mine, return_when=asyncio.FIRST_COMPLETED)
        assert {type(one.exception()) for one in done} == {TooManyQuestionsError}
        for one in mine[3:]:
            one.cancel()
        assert (await pool.of("bob").rows(TENANT, RowsRequest("out"))).total == 7
        for one in mine:
            one.cancel()
        await asyncio.gather(*mine, return_exceptions=True)


async def test_a_process_that_the_machine_ended_is_replaced(opened: Opened) -> None:
    async with opened() as pool:
        await _warmed(pool)
        (first,) = pool.pids
        os.kill(first, signal.SIGKILL)
        await _is_gone(first)
        known = pool._processes[0]
        while known is not None and known.is_alive:  # noqa: ASYNC110 - the kernel tells the service a moment later, and no event does
            await asyncio.sleep(0.01)
        await _warmed(pool)
        assert pool.pids != [first]


async def test_a_process_that_is_starting_ends_with_the_service(opened: Opened, recwarn: pytest.WarningsRecorder) -> None:
    for wait in (0, 0.05, 0.3):
        async with opened() as pool:
            pool.warm()
            await asyncio.sleep(wait)
        assert not pool.pids
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


async def test_its_processes_end_with_the_service(opened: Opened) -> None:
    async with opened() as pool:
        await _warmed(pool)
        (process,) = pool.pids
    await _is_gone(process)


async def _answered(pool: QuestionPool) -> RowPage:
    """The answer to an easy question, once there is a place for it."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return await pool.of("ann").rows(TENANT, RowsRequest("out"))
        except (UnavailableError, QuestionEndedError):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)


async def _warmed(pool: QuestionPool) -> None:
    await pool.of("warm").rows(TENANT, RowsRequest("out", first=1))


def test_every_error_passes_the_pipe_whole() -> None:
    import pickle

    error = InvalidProvenanceError("odd", line=3, clause="PROV-C 22", hint="Mend it.")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.line, copy.clause, copy.field) == (type(error), str(error), 3, "PROV-C 22", "line 3")
