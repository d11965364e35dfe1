"""Declarations of a program about its functions over partitions. Programs import this module, so it must load fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, overload

_DECLARED = "_headwater_declared"
_Function = TypeVar("_Function", bound=Callable[..., Any])
Of: TypeAlias = Callable[[int, Any], Iterable[int]]


@dataclass(frozen=True, slots=True)
class RowWise:
    """The declaration of a function with one input record for each result. Every `check`-th record is verified; 0 verifies none."""

    check: int = 0


@dataclass(frozen=True, slots=True)
class MadeOf:
    """The declaration of a function with `of`, which returns the records of a result.

    Every `check`-th result is verified; 0 verifies none.
    """

    of: Of
    check: int = 0


@overload
def row_wise(function: _Function) -> _Function: ...


@overload
def row_wise(*, check: int = 0) -> Callable[[_Function], _Function]: ...


def row_wise(function: Any = None, *, check: int = 0) -> Any:
    """Declare that each result of a function over a partition is made only of the record that the function read last.

    For functions passed to `mapPartitions` or `mapPartitionsWithIndex`. Each result then has lineage like a result of `map`, instead of the
    whole partition's.

    Args:
        function: The function, which is returned unchanged. It may be any callable that can have attributes.
        check: Verify every `check`-th record, and the first of each partition, by calling the function again with that record alone. If the
            results differ, no records of the function are captured, and the run's summary says so.
    """
    mark = _marked("row-wise", _count(check))
    return mark if function is None else mark(function)


def made_of(of: Of, *, check: int = 0) -> Callable[[_Function], _Function]:
    return _marked("of", of, _count(check))


def _count(check: int) -> int:
    return max(0, int(check))


def _marked(*declared: Any) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        setattr(function, _DECLARED, [*declared])  # plain values for workers that may lack this module; a separate list for each function
        return function

    return mark


def declared(function: Any) -> RowWise | MadeOf | None:
    """Return the declaration about a function. None without one.

    A declaration that `functools.wraps` copied belongs to the inner function, because the outer function may do anything.
    """
    found = getattr(function, _DECLARED, None)
    if found is not None and found is getattr(getattr(function, "__wrapped__", None), _DECLARED, None):
        return None
    match found:
        case ("row-wise", int(check)):
            return RowWise(check)
        case ("of", of, int(check)) if callable(of):
            return MadeOf(of, check)
    return None
