"""A program's declaration for a function holds for that function, and for no other that looks like it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import pytest

import headwater
from headwater.spark_listener.declared import MadeOf, RowWise, declared

Lines = Callable[[Iterable[str]], Iterator[str]]


def _first(_number: int, _result: Any) -> list[int]:
    return [0]


@pytest.mark.parametrize(
    ("declares", "expected"),
    [(headwater.row_wise, RowWise(0)), (headwater.row_wise(check=3), RowWise(3)), (headwater.lineage(of=_first), MadeOf(_first, 0))],
)
def test_a_declaration_does_not_hold_for_what_is_wrapped_around_its_function(
    declares: Callable[[Lines], Lines], expected: RowWise | MadeOf
) -> None:
    @declares
    def parsed(lines: Iterable[str]) -> Iterator[str]:
        yield from lines

    @wraps(parsed)
    def backwards(lines: Iterable[str]) -> Iterator[str]:
        return reversed(list(parsed(lines)))

    @wraps(backwards)
    def twice(lines: Iterable[str]) -> Iterator[str]:
        return backwards(lines)

    assert declared(parsed) == expected
    assert declared(backwards) is None
    assert declared(twice) is None
    assert declared(declares(backwards)) == expected


def test_a_declared_method_is_declared_wherever_it_is_bound() -> None:
    class Parser:
        @headwater.row_wise
        def parsed(self, lines: Iterable[str]) -> Iterator[str]:
            yield from lines

    assert declared(Parser().parsed) == RowWise(0)
