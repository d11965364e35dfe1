"""Lets an event loop wait for durable writes, with one wake-up of the loop for all futures of a commit.

`asyncio.wrap_future` wakes the loop once for each future, with a system call each time. A commit resolves fifty futures and
more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class _ResolvedFutures:
    """The resolved futures that one loop has not processed yet."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ended: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_woken = False

    def add(self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[Any], ended: Future[Any]) -> None:
        """Pass a resolved future to the loop. Any thread may call this."""
        with self._lock:
            self._ended.append((waiting, ended))
            if self._is_woken:
                return
            self._is_woken = True
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        with self._lock:
            ended, self._ended = self._ended, deque()
            self._is_woken = False
        for waiting, future in ended:
            if waiting.done():
                continue  # the waiting caller was cancelled
            if (error := future.exception()) is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(future.result())


_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, _ResolvedFutures] = WeakKeyDictionary()


def on_loop(future: Future[T]) -> asyncio.Future[T]:
    """Return a future of the running loop that ends with another future of any thread. Cancelling it does not affect the other."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[T] = loop.create_future()
    done = _LOOPS.get(loop)
    if done is None:
        done = _LOOPS.setdefault(loop, _ResolvedFutures())
    future.add_done_callback(partial(done.add, loop, waiting))
    return waiting
