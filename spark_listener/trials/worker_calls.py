"""Code of a trial in Python workers: notes which row a function of the program was processing when it failed.

The driver sends this module by value, because workers may lack Headwater. So it uses the standard library and PySpark only, and imports
them inside of its functions. A function of the program gets the same arguments, and its result or exception passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

LONGEST = 4_096  # bytes of a row's text


def count_calls(function: Callable[..., Any], folder: str) -> Callable[..., Any]:
    """Wrap a function of single rows. A failed call is noted with its number in its task."""
    number = 0

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal number
        try:
            result = function(*args, **kwargs)
        except BaseException:
            note_call(folder, number)
            raise
        number += 1
        return result

    return call


def count_rows(function: Callable[..., Any], folder: str) -> Callable[..., Any]:
    """Wrap a function of batches. A failed batch is run again in halves to find its first row that fails alone."""
    number = 0

    def call(*batch: Any) -> Any:
        nonlocal number
        size = len(batch[0]) if batch else 0
        try:
            result = function(*batch)
        except Exception as error:
            note_call(folder, number + failing_row(function, batch, size, type(error)))
            raise
        number += size
        return result

    return call


def failing_row(function: Callable[..., Any], batch: tuple[Any, ...], size: int, kind: type[Exception]) -> int:
    first, end = 0, size
    while end - first > 1:
        middle = (first + end) // 2
        try:
            function(*(cut(each, first, middle) for each in batch))
        except kind:
            end = middle
        except Exception:  # noqa: BLE001  # a half without enough rows may fail in its own way
            return first
        else:
            first = middle
    return first


def cut(column: Any, first: int, end: int) -> Any:
    return column.iloc[first:end] if hasattr(column, "iloc") else column.slice(first, end - first)


def note_call(folder: str, number: int) -> None:
    import json

    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        return
    place = {"stage": task.stageId(), "partition": task.partitionId(), "number": number}
    try:
        with open(f"{folder}/call-{task.taskAttemptId()}.json", "w", encoding="utf-8") as note:
            json.dump(place, note)
    except OSError:
        return  # the search then tries more records


def watch_rows(folder: str, source: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for `mapPartitions` that keeps the text of the present row in a file, until all rows have passed."""

    def watch(rows: Iterable[Any]) -> Iterator[Any]:
        import os

        from pyspark import TaskContext

        task = TaskContext.get()
        if task is None:
            yield from rows
            return
        path = f"{folder}/row-{source}-{task.taskAttemptId()}"
        note = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        for row in rows:
            text = repr(row).encode(errors="replace")[:LONGEST]
            os.pwrite(note, len(text).to_bytes(4, "big") + text, 0)
            yield row
        os.close(note)
        os.unlink(path)

    return watch
