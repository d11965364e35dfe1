"""The reports of a block or function of `headwater.operation`, in threads, tasks and generators; without effect on the program."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Generator

import pytest

from headwater.spark_listener.operation_blocks import Operation
from headwater.spark_listener.operations import DeclaredOperation, declared


class _Kept:
    """Keeps its calls."""

    def __init__(self) -> None:
        self.told: list[DeclaredOperation] = []

    def operation(self, operation: DeclaredOperation) -> None:
        self.told.append(operation)

    @property
    def ends(self) -> list[tuple[str, str | None]]:
        """The operations that ended, in the order of their ends, and their errors."""
        began = [one.run_id for one in self.told if one.ended is None]
        return [(f"{began.index(one.run_id)}", one.outcome.error) for one in self.told if one.ended is not None]


@pytest.fixture
def kept() -> _Kept:
    return _Kept()


@pytest.fixture
def operation(kept: _Kept) -> Operation:
    return Operation(lambda: kept, declared("copy", ["/a"], ["/b"], None))


def _in_a_thread(work: object) -> None:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_what_one_thread_entered_another_may_leave(kept: _Kept, operation: Operation):
    _in_a_thread(operation.__enter__)
    operation.__exit__(None, None, None)
    assert kept.ends == [("0", None)]
    operation.__exit__(None, None, None)  # once too often
    operation.__enter__()
    _in_a_thread(lambda: operation.__exit__(None, None, None))
    with operation:  # what another thread ended is not ended again
        pass
    assert kept.ends == [("0", None), ("1", None), ("2", None)]


def test_the_program_sees_its_own_error_whatever_becomes_of_ours(caplog: pytest.LogCaptureFixture):
    class Broken:
        def operation(self, operation: DeclaredOperation) -> None:
            raise RuntimeError("ours")

    recorded = Operation(Broken, declared("copy", ["/a"], ["/b"], None))
    with pytest.raises(ValueError, match="theirs"), recorded:
        raise ValueError("theirs")
    asked = iter([Broken()])
    with pytest.raises(ValueError, match="theirs"), Operation(lambda: next(asked), declared("copy", [], [], None)):
        raise ValueError("theirs")
    assert "is left out" in caplog.text


def test_tasks_in_one_operation_end_their_own(kept: _Kept, operation: Operation):
    async def task(delay: float, error: str | None) -> None:
        with operation:
            await asyncio.sleep(delay)
            if error:
                raise ValueError(error)

    async def main() -> None:
        await asyncio.gather(task(0.05, "boom"), task(0.2, None), return_exceptions=True)

    asyncio.run(main())
    assert kept.ends == [("0", "ValueError: boom"), ("1", None)]


def test_an_operation_in_itself_ends_from_within(kept: _Kept, operation: Operation):
    with operation, operation:
        pass

    @operation
    def down(number: int) -> int:
        return number and down(number - 1)

    assert down(2) == 0
    assert [place for place, _ in kept.ends] == ["1", "0", "4", "3", "2"]


def test_a_generator_ends_when_its_work_does(kept: _Kept, operation: Operation):
    @operation
    def numbers(most: int) -> Generator[int, str | None, str]:
        """Count."""
        for number in range(most):
            seen = yield number
            if seen:
                raise ValueError(seen)
        return "all"

    assert (inspect.isgeneratorfunction(numbers), numbers.__doc__) == (True, "Count.")
    first, second = numbers(2), numbers(9)
    assert not kept.told
    assert (next(first), next(second), next(first)) == (0, 0, 1)
    assert not kept.ends
    with pytest.raises(StopIteration) as stopped:
        next(first)
    assert stopped.value.value == "all"
    with pytest.raises(ValueError, match="bad"):
        second.send("bad")
    third = numbers(5)
    next(third)
    third.close()
    assert kept.ends == [("0", None), ("1", "ValueError: bad"), ("2", "GeneratorExit: ")]
    assert kept.told[-1].outcome.cancelled


def test_an_asynchronous_generator_ends_when_its_work_does(kept: _Kept, operation: Operation):
    @operation
    async def numbers(most: int) -> AsyncGenerator[object, object]:
        for number in range(most):
            try:
                seen = yield number
            except KeyError as error:
                seen = yield f"caught {error}"
            if seen:
                yield f"sent {seen}"

    async def program() -> None:
        assert inspect.isasyncgenfunction(numbers)
        first, second = numbers(3), numbers(3)
        assert [await anext(first), await anext(second), await anext(first)] == [0, 0, 1]
        assert await first.asend("x") == "sent x"
        assert await anext(first) == 2
        assert await first.athrow(KeyError("k")) == "caught 'k'"
        assert not kept.ends
        assert [each async for each in first] == []
        with pytest.raises(IndexError):
            await second.athrow(IndexError("i"))
        third = numbers(2)
        await anext(third)
        await third.aclose()

    asyncio.run(program())
    assert kept.ends == [("0", None), ("1", "IndexError: i"), ("2", "GeneratorExit: ")]


def test_a_coroutine_ends_when_it_was_awaited(kept: _Kept, operation: Operation):
    @operation
    async def work(delay: float) -> float:
        await asyncio.sleep(delay)
        return delay

    async def main() -> None:
        waiting = work(0.1)
        assert not kept.told
        assert sorted(await asyncio.gather(waiting, work(0.01))) == [0.01, 0.1]

    asyncio.run(main())
    assert [place for place, _ in kept.ends] == ["1", "0"]
