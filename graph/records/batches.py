"""Cutting what a statement is to name into parts that fit it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, the last one of what remains."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
