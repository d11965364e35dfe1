"""Computes column values that segments do not contain: file and row, the range of a window partition, and the row's own reference.

Large segments are read in parts. A partition of a window may span any number of parts, so later parts are read ahead to find its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from headwater.errors import InvalidCaptureError
from headwater.graph.associations import Boundary
from headwater.graph.associations.references import ORDINAL_MASK, POSITION_BITS, POSITION_MASK
from headwater.graph.associations.segment import Segment
from headwater.graph.records.decode import Longs
from headwater.graph.records.safe_names import uri_of

Columns = Mapping[str, Longs]
Part = tuple[int, Columns]  # number of rows, and the columns
OfPart = Callable[[int, int, Columns], dict[str, Longs]]
_LONGEST = POSITION_MASK  # bytes of a range; a file is no longer


def own_columns(boundary: Boundary, segment: Segment, files: Mapping[str, int], again: Callable[[], Iterator[Part]]) -> OfPart:
    """Return a function that computes the missing columns of a part, from its first row number, its number of rows, and its columns.

    `again` reads the segment from its start.

    Raises:
        InvalidCaptureError: the segment does not state the places of its rows. The returned function raises it too.
    """
    if boundary.kind == "sink":
        return _Placed(segment, files).of
    if boundary.kind == "extent":
        return lambda _first_row, _count, columns: {"ref": _checked_places(segment, columns, POSITION_MASK | ORDINAL_MASK << POSITION_BITS)}
    if boundary.kind == "window":
        return _Partitions(segment, again).of
    if boundary.kind in {"semi", "rows"}:
        ordinal = segment.footer.partition if boundary.by == "partition" else segment.footer.attempt
        return lambda first, count, _columns: {"ref": _first(ordinal) + first + np.arange(count, dtype=np.int64)}
    return lambda _first_row, _count, _columns: {}


class _Placed:
    """Computes file and row of each record from the runs of the footer. A stated row takes precedence."""

    def __init__(self, segment: Segment, files: Mapping[str, int]) -> None:
        footer = segment.footer
        counts = np.array([count for _, count in footer.runs], np.int64)
        local = np.array([file for file, _ in footer.runs], np.int64)
        if int(counts.sum()) != footer.rows:
            raise InvalidCaptureError(
                f"Segment {segment.name} has {footer.rows} rows; its runs place {int(counts.sum())}.", field=segment.name
            )
        index = np.array([files[uri_of(file.path)] for file in footer.files] or [0], np.int64)
        self._segment = segment
        self._files = index[local] if len(local) else local
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts
        order = np.argsort(local, kind="stable")
        rows_before = np.cumsum(counts[order]) - counts[order]
        starts, sizes = runs(local[order])
        self._begins = np.empty(len(local), np.int64)  # the position in its file at which each run begins
        self._begins[order] = rows_before - np.repeat(rows_before[starts], sizes)

    def of(self, first: int, count: int, columns: Columns) -> dict[str, Longs]:
        after = first + count
        range_slice = slice(int(np.searchsorted(self._ends, first, "right")), int(np.searchsorted(self._starts, after, "left")))
        starts = self._starts[range_slice]
        counts = np.minimum(self._ends[range_slice], after) - np.maximum(starts, first)
        file_column = np.repeat(self._files[range_slice], counts)
        if "place" in columns:
            return {"file": file_column, "row": _checked_places(self._segment, columns, POSITION_MASK)}
        return {"file": file_column, "row": np.arange(first, after, dtype=np.int64) + np.repeat(self._begins[range_slice] - starts, counts)}


class _Partitions:
    """Computes each row's own reference, the range of its window partition, and the number of rows with its rank or a lower one."""

    def __init__(self, segment: Segment, again: Callable[[], Iterator[Part]]) -> None:
        self._segment = segment
        self._again = again
        self._by_key: _Reach | None = None
        self._by_rank: _Reach | None = None

    def of(self, first: int, count: int, columns: Columns) -> dict[str, Longs]:
        first_reference, after = _first(self._segment.footer.attempt), first + count
        if self._by_key is None:
            self._by_key = _Reach([part["key"]] for _, part in self._again())
            self._by_rank = _Reach([part["key"], part["peers"]] for _, part in self._again()) if "peers" in columns else None
        begins, sizes = self._by_key.of(first, after)
        known = {"ref": first_reference + np.arange(first, after, dtype=np.int64), "begin": first_reference + begins, "size": sizes}
        if self._by_rank is not None:
            peers, counts = self._by_rank.of(first, after)
            known["peers"] = peers + counts - begins
        return known


class _Reach:
    """Finds runs of equal neighbouring values in rows that are read part after part."""

    def __init__(self, parts: Iterator[Sequence[Longs]]) -> None:
        self._parts = parts
        self._starts = np.empty(0, np.int64)  # starts of runs that are still to be returned, ascending
        self._rows = 0
        self._last: list[int] | None = None
        self._done = False

    def of(self, first: int, after: int) -> tuple[Longs, Longs]:
        """Return the start and length of the run to which each row from `first` to `after` (excluded) belongs.

        Each call must ask for later rows than the call before.
        """
        while not self._done and (not len(self._starts) or int(self._starts[-1]) < after):
            self._read()
        self._starts = self._starts[max(0, int(np.searchsorted(self._starts, first, "right")) - 1) :]
        range_slice = int(np.searchsorted(self._starts, after, "left"))
        starts, ends = self._starts[:range_slice], np.append(self._starts[1:], self._rows)[:range_slice]
        counts = np.minimum(ends, after) - np.maximum(starts, first)
        return np.repeat(starts, counts), np.repeat(ends - starts, counts)

    def _read(self) -> None:
        columns = next(self._parts, None)
        if columns is None:
            self._done = True
            return
        starts, _ = runs(*columns)
        if self._last == [int(column[0]) for column in columns]:
            starts = starts[1:]  # the run at the end of the last part continues
        self._last = [int(column[-1]) for column in columns]
        self._starts = np.concatenate((self._starts, starts + self._rows))
        self._rows += len(columns[0])


def runs(*columns: Longs) -> tuple[Longs, Longs]:
    """Return the starts and lengths of runs of equal neighbouring values."""
    count = len(columns[0])
    is_start = np.ones(count, np.bool_)
    if count:
        is_start[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    starts = np.flatnonzero(is_start).astype(np.int64)
    return starts, np.diff(np.append(starts, count))


def _checked_places(segment: Segment, columns: Columns, most: int) -> Longs:
    """Return the places that a segment states. They come from another program, so they are checked.

    Raises:
        InvalidCaptureError: the segment states no place, or an impossible place.
    """
    for name, greatest in (("place", most), ("length", _LONGEST)):
        column = columns.get(name)
        if column is None and name == "place":
            raise InvalidCaptureError(f"Segment {segment.name} has no column of places.", field=segment.name)
        if column is not None and len(column) and not (int(column.min()) >= 0 and int(column.max()) <= greatest):
            raise InvalidCaptureError(f"Segment {segment.name} has a {name} below 0 or above {greatest}.", field=segment.name)
    return columns["place"]


def _first(ordinal: int) -> int:
    return (ordinal & ORDINAL_MASK) << POSITION_BITS
