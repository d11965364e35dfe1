"""Splits the parameters of an SQL statement into batches of a limited size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items. The last list may be shorter."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
