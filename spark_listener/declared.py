"""Declarations of a program about its functions over partitions, for record lineage. Light, because programs import it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, overload

_DECLARED = "_headwater_declared"
_Function = TypeVar("_Function", bound=Callable[..., Any])
Of: TypeAlias = Callable[[int, Any], Iterable[int]]


@dataclass(frozen=True, slots=True)
class RowWise:
    """A function with one record behind each result. `check`: verify one record in so many; 0: none."""

    check: int = 0


@dataclass(frozen=True, slots=True)
class MadeOf:
    """A function with `of`, which returns the records behind a result. `check`: verify one result in so many; 0: none."""

    of: Of
    check: int = 0


@overload
def row_wise(function: _Function) -> _Function: ...


@overload
def row_wise(*, check: int = 0) -> Callable[[_Function], _Function]: ...


def row_wise(function: Any = None, *, check: int = 0) -> Any:
    """Declare that each result of a function over a partition is made of the record that it pulled last, and of no other.

    For functions passed to `mapPartitions` or `mapPartitionsWithIndex`. Their records then have lineage like those of `map`, instead of the
    whole partition's.

    Args:
        function: The function, which is returned unchanged. It may be any callable that can have attributes.
        check: Verify one record in so many, and the first of each partition, by calling the function again with that record alone. If the
            results differ, nothing is captured of the records, and the run's summary says so.
    """
    mark = _marked("row-wise", _count(check))
    return mark if function is None else mark(function)


def made_of(of: Of, *, check: int = 0) -> Callable[[_Function], _Function]:
    """Declare the records behind each result of a function over a partition; see `headwater.lineage(of=…)`."""
    return _marked("of", of, _count(check))


def _count(check: int) -> int:
    return max(0, int(check))


def _marked(*declared: Any) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        setattr(function, _DECLARED, [*declared])  # plain values for workers that may lack this module; a separate list for each function
        return function

    return mark


def declared(function: Any) -> RowWise | MadeOf | None:
    """The declaration about a function, or None.

    A declaration that `functools.wraps` copied belongs to the inner function: the outer one may do anything.
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
