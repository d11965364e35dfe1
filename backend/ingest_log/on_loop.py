"""Waiting on an event loop for what the log's thread makes durable, with one wake-up of the loop for all that a commit ended.

For intake. `asyncio.wrap_future` wakes the loop once for each future, by a system call each time; a commit ends fifty of them and more.
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


class _Done:
    """The futures of one loop that are done, and of which it has not heard yet."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ended: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_woken = False

    def add(self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[Any], ended: Future[Any]) -> None:
        """Hand a future over. Called in any thread."""
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
                continue  # whoever waited has gone
            if (error := future.exception()) is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(future.result())


_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Done] = WeakKeyDictionary()


def on_loop(future: Future[T]) -> asyncio.Future[T]:
    """A future of the running loop that ends as another does, in whatever thread. To cancel it leaves the other as it is."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[T] = loop.create_future()
    done = _LOOPS.get(loop)
    if done is None:
        done = _LOOPS.setdefault(loop, _Done())
    future.add_done_callback(partial(done.add, loop, waiting))
    return waiting
