"""Waits for a program without delaying the end of the service.

asyncio joins its threads when a loop is closed and when the process ends. A service that ends while a program runs would then
continue, without its port, until the program has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def in_thread_left_behind(work: Callable[..., T], *arguments: object) -> T:
    """Run `work` in a separate thread and return its result. Cancellation and the end of the process abandon the thread."""
    ended: Future[T] = Future()
    ended.set_running_or_notify_cancel()  # now a cancelled waiter cannot cancel the future

    def run() -> None:
        try:
            result = work(*arguments)
        except BaseException as error:  # noqa: BLE001 - whoever waits hears of it
            ended.set_exception(error)
        else:
            ended.set_result(result)

    Thread(target=run, name="headwater-program", daemon=True).start()
    return await asyncio.wrap_future(ended)
