"""Waiting for a program of the home, such that the end of the service waits for none.

asyncio's own threads are joined when a loop is closed, and again when the process ends: a service that is told to end while a program runs
would stay, without its port, until that program has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def in_thread_left_behind(work: Callable[..., T], *arguments: object) -> T:
    """What `work` returns, from a thread of its own. Whoever is cancelled leaves it behind, and so does the end of the process."""
    ended: Future[T] = Future()
    ended.set_running_or_notify_cancel()  # so that it is not cancelled with whoever waits

    def run() -> None:
        try:
            result = work(*arguments)
        except BaseException as error:  # noqa: BLE001 - whoever waits hears of it
            ended.set_exception(error)
        else:
            ended.set_result(result)

    Thread(target=run, name="headwater-program", daemon=True).start()
    return await asyncio.wrap_future(ended)
