"""What a program declares of its own functions over partitions, for record lineage. Light: it is imported where a program does so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, overload

_DECLARED = "_headwater_declared"
_Function = TypeVar("_Function", bound=Callable[..., Any])
Of: TypeAlias = Callable[[int, Any], Iterable[int]]


@dataclass(frozen=True, slots=True)
class RowWise:
    """A function that makes its results of one record after the other. `check`: of how many records one is verified; 0: none is."""

    check: int = 0


@dataclass(frozen=True, slots=True)
class MadeOf:
    """A function of whose results `of` tells which records each is made of. `check`: of how many results one is verified; 0: none is."""

    of: Of
    check: int = 0


@overload
def row_wise(function: _Function) -> _Function: ...


@overload
def row_wise(*, check: int = 0) -> Callable[[_Function], _Function]: ...


def row_wise(function: Any = None, *, check: int = 0) -> Any:
    """Declare that each result of a function over a partition is made of the record alone that it pulled last.

    For functions that the program gives to `mapPartitions` or `mapPartitionsWithIndex`: their records then have the lineage that those of
    `map` have, in the place of the whole partition's.

    Args:
        function: The function, which is returned as it is. It may be anything that can be called and can have attributes.
        check: Verify one of so many records, and with it the first of each partition, by calling the function again for that record alone.
            Where what it gives is not the same, nothing is captured of the records, and the run's summary says so.
    """
    mark = _marked("row-wise", _count(check))
    return mark if function is None else mark(function)


def made_of(of: Of, *, check: int = 0) -> Callable[[_Function], _Function]:
    """Declare which records each result of a function over a partition is made of: `headwater.lineage(of=…)`, which describes it."""
    return _marked("of", of, _count(check))


def _count(check: int) -> int:
    return max(0, int(check))


def _marked(*declared: Any) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        setattr(function, _DECLARED, [*declared])  # plain values: it goes to workers that may lack this module. Each function has its own
        return function

    return mark


def declared(function: Any) -> RowWise | MadeOf | None:
    """What a program declared of a function; None: nothing.

    What `functools.wraps` copied was declared of the function inside: the one around it may do anything.
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
