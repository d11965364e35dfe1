"""`headwater.operation` around a block of code or, as a decorator, around each call of a function.

Threads, tasks and generators of a program may execute an operation at the same time. Each execution is a run of its own.
"""

from __future__ import annotations

import functools
import inspect
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Protocol, Self

from headwater.spark_listener.operations import DeclaredOperation
from headwater.spark_listener.outcome import Outcome

_log = logging.getLogger("headwater")
_CANCELLED = ("CancelledError", "GeneratorExit", "KeyboardInterrupt")


class Recorder(Protocol):
    """Receives declared operations. The methods never raise."""

    def operation(self, operation: DeclaredOperation) -> None: ...


@dataclass(slots=True, eq=False)
class _Entry:
    """One execution of an operation. `begun` is None if it is not recorded."""

    owner: Operation
    begun: DeclaredOperation | None
    open: bool = True


_ENTRIES: ContextVar[tuple[_Entry, ...]] = ContextVar("headwater_operations", default=())  # of this thread or task, outermost first


class Operation:
    """A declared operation around a block of code or each call of a function. Several threads may execute it.

    `recorder` is called at each start, because capture may begin after a function was decorated. It returns None without capture. No fault
    here reaches the program. A thread or task ends the execution that it started. If another thread leaves the block, the latest execution
    ends.
    """

    def __init__(self, recorder: Callable[[], Recorder | None], declared: DeclaredOperation | None) -> None:
        self._recorder = recorder
        self._declared = declared
        self._open: list[_Entry] = []

    def __call__(self, function: Any) -> Any:
        """Return the function with a separate operation for each call.

        The operation of an `async` function ends when it has been awaited; that of a generator when it is exhausted or closed. If the
        function never begins, neither does the operation.
        """
        make = _wrapped_generator if inspect.isgeneratorfunction(function) else _wrapped
        if inspect.isasyncgenfunction(function):
            make = _wrapped_asynchronous_generator
        elif inspect.iscoroutinefunction(function):
            make = _wrapped_coroutine
        return functools.wraps(function)(make(function, lambda: Operation(self._recorder, self._declared)))

    def __enter__(self) -> Self:
        begun = None
        try:
            recorder = self._recorder()
            if recorder is not None and self._declared is not None:
                begun = self._declared.begun()
                recorder.operation(begun)
        except Exception as error:  # noqa: BLE001  # the folder that relative paths begin at may be gone
            _log.warning("A declared operation is left out: %s: %s.", type(error).__name__, error)
        entry = _Entry(self, begun)
        self._open.append(entry)
        _ENTRIES.set((*_still_open(), entry))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            begun, recorder = self._left(), self._recorder()
            if recorder is not None and begun is not None:
                recorder.operation(replace(begun, ended=time.time(), outcome=_outcome(error)))
        except Exception as fault:  # noqa: BLE001  # the program must see its own error, not this
            _log.warning("The end of a declared operation is left out: %s: %s.", type(fault).__name__, fault)

    def _left(self) -> DeclaredOperation | None:
        """Return the last execution that this thread or task started; otherwise the last of all. None if all have ended."""
        here = [entry for entry in _still_open() if entry.owner is self]
        while self._open:
            entry = here.pop() if here else self._open[-1]
            with suppress(ValueError):  # another thread has ended it at the same time
                self._open.remove(entry)
                entry.open = False
                _ENTRIES.set(_still_open())
                return entry.begun
        return None


def _still_open() -> tuple[_Entry, ...]:
    return tuple(entry for entry in _ENTRIES.get() if entry.open)


def _wrapped(function: Callable[..., Any], operation: Callable[[], Operation]) -> Callable[..., Any]:
    def called(*arguments: Any, **named: Any) -> Any:
        with operation():
            return function(*arguments, **named)

    return called


def _wrapped_coroutine(function: Callable[..., Any], operation: Callable[[], Operation]) -> Callable[..., Any]:
    async def awaited(*arguments: Any, **named: Any) -> Any:
        with operation():
            return await function(*arguments, **named)

    return awaited


def _wrapped_generator(function: Callable[..., Any], operation: Callable[[], Operation]) -> Callable[..., Any]:
    def generated(*arguments: Any, **named: Any) -> Any:
        with operation():
            return (yield from function(*arguments, **named))

    return generated


def _wrapped_asynchronous_generator(function: Callable[..., Any], operation: Callable[[], Operation]) -> Callable[..., Any]:
    async def generated(*arguments: Any, **named: Any) -> Any:
        with operation():
            inner = function(*arguments, **named)
            step = inner.__anext__()
            while True:
                try:
                    value = await step
                except StopAsyncIteration:
                    return
                try:
                    step = inner.asend((yield value))
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001  # thrown in, for the generator to see
                    step = inner.athrow(error)

    return generated


def _outcome(error: BaseException | None) -> Outcome:
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return Outcome()
    kind = type(error).__name__
    try:
        text = f"{kind}: {error}"
    except Exception:  # noqa: BLE001  # an error of the program's that has no text; the program must see that one, not this
        text = kind
    return Outcome(error=text, cancelled=kind in _CANCELLED)
