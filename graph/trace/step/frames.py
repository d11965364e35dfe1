"""The frame rows of window functions, as a range of references within the row's partition.

Rows of a partition have consecutive references in the window's order (see `graph.records.tables`). A frame is a range `lo … hi`, in SQL
over a row `w` of the kept table. Backward and forward steps use the same ranges, so they are inverse by construction.
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
class FrameReach:
    """Rows `lo … hi` of the partition. `reason` says why the range may be too wide; the aggregate `choice` takes only some of its rows.

    `outside_condition` is true if the partition was not read to its end, and unread rows may belong to the frame.
    """

    lo: str
    hi: str
    reason: str | None = None
    choice: Expression | None = None
    outside_condition: str | None = None

    @property
    def unread(self) -> str:
        """Return an SQL condition: the range extends beyond the rows of the partition that were read."""
        return self.outside_condition or f"{self.hi.replace('w.size', 'w.total')} > {LAST}"


WHOLE = FrameReach(FIRST, LAST)


def find_influence(window: Operator, definition: Definition, columns: Collection[str]) -> FrameReach:
    """Return the rows that influence one result of a window. `columns` are the columns of the kept table."""
    function = find_function(definition.expr)
    if function.fn in _RANKING:
        return WHOLE
    if function.fn in _OFFSET:
        return _read_offset(window, definition, function)
    return _read_frame(window, definition, columns)


def find_witness(window: Operator, definition: Definition, columns: Collection[str]) -> FrameReach:
    """Return the rows that suffice for one result of a window. With `choice`, the function takes some of them."""
    function = find_function(definition.expr)
    if function.fn == "row_number":
        return FrameReach(FIRST, "w.ref")
    if function.fn in {"rank", "dense_rank"}:
        peers = next(
            (f"end{index}" for index, frame in enumerate(window.frames) if _extend_to_peers(frame) and f"end{index}" in columns), None
        )
        if peers is not None:
            return FrameReach(FIRST, f"(w.begin + w.{peers} - 1)")
        if "peers" in columns:
            return FrameReach(FIRST, "(w.begin + w.peers - 1)", outside_condition="w.peers = w.size")  # more peers may follow, unread
        return FrameReach(FIRST, LAST, f"the peers of {function.text} were not recorded; all rows of the partition are given")
    if function.fn in _RANKING | _OFFSET:
        return find_influence(window, definition, columns)
    frame = _read_frame(window, definition, columns)
    if _ignores_nulls(function) and function.fn in {"first", "first_value", "last", "last_value", "nth_value", "any_value"}:
        return FrameReach(
            frame.lo, frame.hi, frame.reason or f"which row {function.text} took was not recorded; all rows of the frame are given"
        )
    return _choose_row(function, frame)


def _choose_row(function: Expression, frame: FrameReach) -> FrameReach:
    """Return the row that a function takes by its position in the frame. Functions that choose by value return the whole frame."""
    if function.fn in {"first", "first_value", "any_value"}:
        return FrameReach(frame.lo, f"least({frame.lo}, {frame.hi})", frame.reason)
    if function.fn in {"last", "last_value"}:
        return FrameReach(f"greatest({frame.lo}, {frame.hi})", frame.hi, frame.reason)
    if function.fn == "nth_value":
        number = _read_integer(function.args[1]) if len(function.args) > 1 else None
        if number is None:  # the manifest omits literals that are compared with columns with a secret's name
            return FrameReach(
                frame.lo, frame.hi, frame.reason or f"which row {function.text} took is not told; all rows of the frame are given"
            )
        return FrameReach(frame.lo, f"least({frame.hi}, {frame.lo} + {number - 1})", frame.reason)
    return FrameReach(frame.lo, frame.hi, frame.reason, function if function.aggregate else None)


def find_function(expression: Expression) -> Expression:
    """Return the outermost window function in the expression of a definition."""
    for part in expression.walk():
        if part.aggregate or part.fn in _RANKING | _OFFSET or part.fn in {"nth_value", "first_value", "last_value"}:
            return part
    return expression


def _read_offset(window: Operator, definition: Definition, function: Expression) -> FrameReach:
    """Return the row of lag or lead. Spark states it as a frame of one row, with the right sign."""
    frame = window.frames[definition.frame] if definition.frame is not None and 0 <= definition.frame < len(window.frames) else None
    if frame is None or not isinstance(frame.start, int) or frame.start != frame.end or _ignores_nulls(function):
        return FrameReach(FIRST, LAST, f"which row {function.text} refers to was not recorded; all rows of the partition are given")
    if frame.start <= 0:
        return FrameReach(f"if(w.ref - {-frame.start} < {FIRST}, w.ref, w.ref - {-frame.start})", "w.ref")
    missing_condition = f"w.ref + {frame.start} BETWEEN {LAST} + 1 AND {LAST.replace('w.size', 'w.total')}"
    return FrameReach("w.ref", f"if(w.ref + {frame.start} > {LAST}, w.ref, w.ref + {frame.start})", outside_condition=missing_condition)


def _read_frame(window: Operator, definition: Definition, columns: Collection[str]) -> FrameReach:
    index = definition.frame
    if index is None or not 0 <= index < len(window.frames):
        return WHOLE
    frame = window.frames[index]
    if frame.start is None and frame.end is None:
        return WHOLE
    if frame.unit == "rows" and not isinstance(frame.start, str) and not isinstance(frame.end, str):
        lo = FIRST if frame.start is None else f"greatest({FIRST}, w.ref + ({frame.start:d}))"
        hi = LAST if frame.end is None else f"least({LAST}, w.ref + ({frame.end:d}))"
        return FrameReach(lo, hi)
    end, size = f"end{index}", f"size{index}"
    if (end in columns or frame.end is None) and (size in columns or frame.start is None):
        hi = f"(w.begin + w.{end} - 1)" if end in columns else LAST
        lo = FIRST if frame.start is None else f"({hi} - w.{size} + 1)"
        return FrameReach(lo, hi)
    return FrameReach(FIRST, LAST, f"the frame of {definition.name} was not recorded; all rows of the partition are given")


def _extend_to_peers(frame: Frame) -> bool:
    return frame.unit == "range" and frame.start is None and frame.end in (0, "0", "current row", "currentrow")


def _read_integer(expression: Expression) -> int | None:
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
