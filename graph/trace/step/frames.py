"""What a window function reaches for each row, as a range of references within the row's partition (see `graph.records.tables`).

Rows of a partition have consecutive references in the window's order, so a frame is `lo … hi`, in SQL over a row `w` of the kept
table. Backward and forward steps share these ranges, so they are inverse by construction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headwater.graph.associations import Definition, Expression, Frame, Operator

FIRST = "w.begin"
LAST = "(w.begin + w.size - 1)"
UNREAD = "what stands above stopped reading before the end of a partition; its later rows were not recorded"
_RANKING = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "row_number"})
_OFFSET = frozenset({"lag", "lead"})


@dataclass(frozen=True, slots=True)
class Reach:
    """Rows `lo … hi` of the partition. `reason` says why that may be too many; the aggregate `choose` takes only some of them.

    `beyond` holds where, of a partition that was not read to its end, more rows than those recorded may belong to it.
    """

    lo: str
    hi: str
    reason: str | None = None
    choose: Expression | None = None
    beyond: str | None = None

    @property
    def unread(self) -> str:
        """A condition on a row of whose partition rows were left unread: the range goes beyond those that were read."""
        return self.beyond or f"{self.hi.replace('w.size', 'w.total')} > {LAST}"


WHOLE = Reach(FIRST, LAST)


def influence(window: Operator, definition: Definition, columns: Collection[str]) -> Reach:
    """The rows that had a part in one result of a window. `columns` are those of the kept table."""
    function = function_of(definition.expr)
    if function.fn in _RANKING:
        return WHOLE
    if function.fn in _OFFSET:
        return _offset(window, definition, function)
    return _frame(window, definition, columns)


def witness(window: Operator, definition: Definition, columns: Collection[str]) -> Reach:
    """The rows that suffice for one result of a window; with `choose`, those that the function takes among them."""
    function = function_of(definition.expr)
    if function.fn == "row_number":
        return Reach(FIRST, "w.ref")
    if function.fn in {"rank", "dense_rank"}:
        peers = next((f"end{index}" for index, frame in enumerate(window.frames) if _until_peers(frame) and f"end{index}" in columns), None)
        if peers is not None:
            return Reach(FIRST, f"(w.begin + w.{peers} - 1)")
        if "peers" in columns:
            return Reach(FIRST, "(w.begin + w.peers - 1)", beyond="w.peers = w.size")  # whether more peers follow was not read
        return Reach(FIRST, LAST, f"the peers of {function.text} were not recorded; all rows of the partition are given")
    if function.fn in _RANKING | _OFFSET:
        return influence(window, definition, columns)
    frame = _frame(window, definition, columns)
    if _ignores_nulls(function) and function.fn in {"first", "first_value", "last", "last_value", "nth_value", "any_value"}:
        return Reach(
            frame.lo, frame.hi, frame.reason or f"which row {function.text} took was not recorded; all rows of the frame are given"
        )
    return _chosen(function, frame)


def _chosen(function: Expression, frame: Reach) -> Reach:
    """Of a frame whose order is known, the row that a function takes by its place; else all, to choose from by value."""
    if function.fn in {"first", "first_value", "any_value"}:
        return Reach(frame.lo, f"least({frame.lo}, {frame.hi})", frame.reason)
    if function.fn in {"last", "last_value"}:
        return Reach(f"greatest({frame.lo}, {frame.hi})", frame.hi, frame.reason)
    if function.fn == "nth_value":
        number = _integer(function.args[1]) if len(function.args) > 1 else None
        if number is None:  # left out of the manifest, as literals beside columns of a secret's name are
            return Reach(frame.lo, frame.hi, frame.reason or f"which row {function.text} took is not told; all rows of the frame are given")
        return Reach(frame.lo, f"least({frame.hi}, {frame.lo} + {number - 1})", frame.reason)
    return Reach(frame.lo, frame.hi, frame.reason, function if function.aggregate else None)


def function_of(expression: Expression) -> Expression:
    """The window function of a definition: the outermost part that is one."""
    for part in expression.walk():
        if part.aggregate or part.fn in _RANKING | _OFFSET or part.fn in {"nth_value", "first_value", "last_value"}:
            return part
    return expression


def _offset(window: Operator, definition: Definition, function: Expression) -> Reach:
    """Of lag and lead Spark states the row that they refer to as a frame of that one row, which has the sign right."""
    frame = window.frames[definition.frame] if definition.frame is not None and 0 <= definition.frame < len(window.frames) else None
    if frame is None or not isinstance(frame.start, int) or frame.start != frame.end or _ignores_nulls(function):
        return Reach(FIRST, LAST, f"which row {function.text} refers to was not recorded; all rows of the partition are given")
    if frame.start <= 0:
        return Reach(f"if(w.ref - {-frame.start} < {FIRST}, w.ref, w.ref - {-frame.start})", "w.ref")
    unread = f"w.ref + {frame.start} BETWEEN {LAST} + 1 AND {LAST.replace('w.size', 'w.total')}"
    return Reach("w.ref", f"if(w.ref + {frame.start} > {LAST}, w.ref, w.ref + {frame.start})", beyond=unread)


def _frame(window: Operator, definition: Definition, columns: Collection[str]) -> Reach:
    index = definition.frame
    if index is None or not 0 <= index < len(window.frames):
        return WHOLE
    frame = window.frames[index]
    if frame.start is None and frame.end is None:
        return WHOLE
    if frame.unit == "rows" and not isinstance(frame.start, str) and not isinstance(frame.end, str):
        lo = FIRST if frame.start is None else f"greatest({FIRST}, w.ref + ({frame.start:d}))"
        hi = LAST if frame.end is None else f"least({LAST}, w.ref + ({frame.end:d}))"
        return Reach(lo, hi)
    end, size = f"end{index}", f"size{index}"
    if (end in columns or frame.end is None) and (size in columns or frame.start is None):
        hi = f"(w.begin + w.{end} - 1)" if end in columns else LAST
        lo = FIRST if frame.start is None else f"({hi} - w.{size} + 1)"
        return Reach(lo, hi)
    return Reach(FIRST, LAST, f"the frame of {definition.name} was not recorded; all rows of the partition are given")


def _until_peers(frame: Frame) -> bool:
    return frame.unit == "range" and frame.start is None and frame.end in (0, "0", "current row", "currentrow")


def _integer(expression: Expression) -> int | None:
    sign = 1
    while expression.fn in {"-", "negative", "unaryminus", "cast"} and len(expression.args) == 1:
        sign = sign if expression.fn == "cast" else -sign
        expression = expression.args[0]
    try:
        return sign * int(expression.value or "")
    except ValueError:
        return None


def _ignores_nulls(function: Expression) -> bool:
    flag = function.extra.get("ignore_nulls")
    return bool(flag) or "ignore nulls" in (function.sql or "").lower()
