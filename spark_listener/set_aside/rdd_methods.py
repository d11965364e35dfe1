"""Wraps the methods of RDD that call a function for each record, while failing records are set aside.

A `map` becomes a `flatMap` whose function returns a sequence of no or one result. Functions over whole partitions, and functions that
combine records, are not wrapped, because no record of theirs can be left out. Such a function fails as without Headwater.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.rdd_records.calls import call_site
from headwater.spark_listener.rdd_records.operators import unseen
from headwater.spark_listener.set_aside.guards import Position, RecordGuard

if TYPE_CHECKING:
    from headwater.spark_listener.set_aside.register import Register

_POSITION = "_headwater_position"
_HOOKED = "_headwater_guarded"
Current = Callable[[Any], "Register | None"]  # the register of a context, or None while nothing is set aside
_numbers = itertools.count()


def guard_methods(rdd: type, current: Current) -> None:
    """Wrap the methods. Call it when a program sets records aside; the wrappers stay, and do nothing for other contexts."""
    is_wrapped = hasattr(rdd, _HOOKED)
    setattr(rdd, _HOOKED, current)
    if is_wrapped:
        return
    flat_map = rdd.flatMap  # type: ignore[attr-defined]
    for name in ("map", "flatMap", "filter", "foreach"):
        setattr(rdd, name, _guarded(rdd, name, getattr(rdd, name), flat_map))


def _guarded(rdd: type, name: str, original: Callable[..., Any], flat_map: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def guarded(self: Any, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        register = getattr(rdd, _HOOKED)(self.ctx)
        if register is None:
            return original(self, f, *args, **kwargs)
        position, numbered = _position_of(self, register)
        method, file, line = call_site()
        guard = RecordGuard(f, name, f"{name if method == 'RDD' else method} at {file}:{line}", next(_numbers), position, register.claims)
        made = (flat_map if name == "map" else original)(numbered, guard, *args, **kwargs)
        if made is not None:
            setattr(made, _POSITION, position)
        return made

    return guarded


def _position_of(rdd: Any, register: Register) -> tuple[Position, Any]:
    """Return the position that counts the records of a stage, and the RDD to use in place of `rdd`, which may begin the stage."""
    known = getattr(rdd, _POSITION, None)
    if known is not None and not rdd.is_cached and not getattr(rdd, "is_checkpointed", False):
        return known, rdd
    position = Position(register.remember(rdd))
    with unseen():
        numbered = rdd.mapPartitionsWithIndex(position, preservesPartitioning=True)
        program = register.program()
        if program is not None:
            facts = program.of(rdd)
            program.row_wise(rdd, numbered, getattr(facts, "top", None))
    return position, numbered
