"""Locates lines of a long text file by the number of lines before each part of 64 kB.

These marks take a megabyte for a file of gigabytes. The file must end its lines with LF, and all its lines must be records. To locate a
line, the part that contains it is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from mmap import mmap

import numpy as np
import numpy.typing as npt

_LF, _CR = 10, 13
_PART = 1 << 16
_BOM = b"\xef\xbb\xbf"

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MarkedLines:
    """The lines of one file. `lines_ended[n]` is the number of lines that end before its n-th part."""

    data: mmap | bytes
    lines_ended: Longs

    def __len__(self) -> int:
        return int(self.lines_ended[-1]) + self._is_open

    @property
    def begins(self) -> Longs:
        return self._find_bounds(np.arange(len(self)))[0]

    @property
    def numbers(self) -> Longs:
        return np.arange(1, len(self) + 1)

    @property
    def ends(self) -> Longs:
        return self._find_bounds(np.arange(len(self)))[1]

    @property
    def size(self) -> int:
        return self.lines_ended.nbytes + (len(self.data) if isinstance(self.data, bytes) else 0)

    def count_before(self, start: int) -> int:
        """Return the number of lines before the split that starts at byte `start`."""
        if start <= 0:
            return 0
        if start >= len(self.data):
            return len(self)
        part = start // _PART
        return int(self.lines_ended[part]) + int(np.count_nonzero(_get_part(self.data, part)[: start - part * _PART] == _LF)) + 1

    def find_line_numbers(self, rows: Longs) -> Longs:
        return rows + 1

    def read(self, rows: Longs) -> list[bytes]:
        data = self.data
        begins, ends = self._find_bounds(rows)
        return [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]

    @property
    def _is_open(self) -> bool:
        """Return whether the last line has no line end."""
        return len(self.data) > 0 and self.data[len(self.data) - 1] != _LF

    def _find_bounds(self, rows: Longs) -> tuple[Longs, Longs]:
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self):
            raise IndexError(f"the file has {len(self)} lines; asked for {rows.min()} to {rows.max()}")
        ends = self._find_ends(np.concatenate((rows - 1, rows)))
        return ends[: len(rows)] + 1, ends[len(rows) :]

    def _find_ends(self, rows: Longs) -> Longs:
        """Return the ends of lines; −1 for the line before the first."""
        ends = np.where(rows < 0, -1, len(self.data)).astype(np.int64)
        asked_indexes = np.flatnonzero((rows >= 0) & (rows < self.lines_ended[-1]))
        asked_indexes = asked_indexes[np.argsort(rows[asked_indexes], kind="stable")]
        parts = np.searchsorted(self.lines_ended, rows[asked_indexes], side="right") - 1
        firsts = np.flatnonzero(np.diff(parts, prepend=-1, append=-1)).tolist()
        for first, last_row in pairwise(firsts):
            part = int(parts[first])
            places = np.flatnonzero(_get_part(self.data, part) == _LF) + part * _PART
            part_indexes = asked_indexes[first:last_row]
            ends[part_indexes] = places[rows[part_indexes] - self.lines_ended[part]]
        return ends


def mark_lines(data: mmap | bytes) -> MarkedLines | None:
    """Return the lines of a file's content. None if a line ends other than with LF, or if the file has a byte order mark."""
    if data[: len(_BOM)] == _BOM:
        return None
    parts = -(-len(data) // _PART)
    lines_ended = np.zeros(parts + 1, np.int64)
    for part in range(parts):
        content = _get_part(data, part)
        if (content == _CR).any():
            return None
        lines_ended[part + 1] = np.count_nonzero(content == _LF)
    return MarkedLines(data, np.cumsum(lines_ended))


def _get_part(data: mmap | bytes, part: int) -> npt.NDArray[np.uint8]:
    begin = part * _PART
    return np.frombuffer(data, np.uint8, min(_PART, len(data) - begin), begin)
