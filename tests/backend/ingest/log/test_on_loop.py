"""Waiting on a loop for what other threads make durable."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Thread
from typing import Any

import pytest

from headwater.backend.ingest.log.loop_futures import on_loop
from headwater.errors import UnavailableError


async def test_whoever_waits_hears_of_the_result_or_the_error() -> None:
    done, failed = Future[int](), Future[int]()
    first, second = on_loop(done), on_loop(failed)

    def end() -> None:
        done.set_result(7)
        failed.set_exception(UnavailableError("The disk is away."))

    Thread(target=end).start()
    assert await first == 7
    with pytest.raises(UnavailableError, match="disk is away"):
        await second


async def test_what_a_commit_ends_wakes_the_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    wake, woken = loop.call_soon_threadsafe, list[Any]()

    def counted(*call: Any) -> None:
        woken.append(call)
        wake(*call)

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    futures = [Future[int]() for _ in range(100)]
    waiting = [on_loop(future) for future in futures]
    for number, future in enumerate(futures):  # without a turn of the loop between them
        future.set_result(number)
    assert await asyncio.gather(*waiting) == list(range(100))
    assert len(woken) == 1


async def test_one_who_has_gone_keeps_no_other_waiting() -> None:
    futures = [Future[int]() for _ in range(2)]
    gone, stays = map(on_loop, futures)
    gone.cancel()
    for future in futures:
        future.set_result(1)
    assert await stays == 1


async def test_a_future_that_is_done_already_ends_at_once() -> None:
    future = Future[str]()
    future.set_result("there")
    assert await on_loop(future) == "there"
