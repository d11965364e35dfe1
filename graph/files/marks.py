"""Lines of a text file by marks: of every 64 kB only how many lines end before it, so that knowing a file of gigabytes takes a megabyte.

For files whose lines are all records, and end at LF. What is asked of a line is found in the part of the file that holds its ends.
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
    """The lines of one file. `ended[n]` is how many end before its n-th part."""

    data: mmap | bytes
    ended: Longs

    def __len__(self) -> int:
        return int(self.ended[-1]) + self._is_open

    @property
    def begins(self) -> Longs:
        """Where each line begins."""
        return self._bounds(np.arange(len(self)))[0]

    @property
    def numbers(self) -> Longs:
        """The line of each record, 1-based."""
        return np.arange(1, len(self) + 1)

    @property
    def ends(self) -> Longs:
        """Where each line ends, without its line end."""
        return self._bounds(np.arange(len(self)))[1]

    @property
    def size(self) -> int:
        """Bytes that keeping it takes."""
        return self.ended.nbytes + (len(self.data) if isinstance(self.data, bytes) else 0)

    def before(self, start: int) -> int:
        """How many lines of the file come before the split that starts at byte `start`."""
        if start <= 0:
            return 0
        if start >= len(self.data):
            return len(self)
        part = start // _PART
        return int(self.ended[part]) + int(np.count_nonzero(_part(self.data, part)[: start - part * _PART] == _LF)) + 1

    def numbers_of(self, rows: Longs) -> Longs:
        """The lines of some records, 1-based."""
        return rows + 1

    def read(self, rows: Longs) -> list[bytes]:
        """The bytes of lines."""
        data = self.data
        begins, ends = self._bounds(rows)
        return [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]

    @property
    def _is_open(self) -> bool:
        """Whether the last line has no end."""
        return len(self.data) > 0 and self.data[len(self.data) - 1] != _LF

    def _bounds(self, rows: Longs) -> tuple[Longs, Longs]:
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self):
            raise IndexError(f"the file has {len(self)} lines; asked for {rows.min()} to {rows.max()}")
        found = self._ends_of(np.concatenate((rows - 1, rows)))
        return found[: len(rows)] + 1, found[len(rows) :]

    def _ends_of(self, rows: Longs) -> Longs:
        """Where lines end; −1 for the one before the first."""
        found = np.where(rows < 0, -1, len(self.data)).astype(np.int64)
        asked = np.flatnonzero((rows >= 0) & (rows < self.ended[-1]))
        asked = asked[np.argsort(rows[asked], kind="stable")]
        parts = np.searchsorted(self.ended, rows[asked], side="right") - 1
        firsts = np.flatnonzero(np.diff(parts, prepend=-1, append=-1)).tolist()
        for first, last in pairwise(firsts):
            part = int(parts[first])
            places = np.flatnonzero(_part(self.data, part) == _LF) + part * _PART
            here = asked[first:last]
            found[here] = places[rows[here] - self.ended[part]]
        return found


def marked(data: mmap | bytes) -> MarkedLines | None:
    """The lines of a file's content; None where a line ends otherwise than at LF, or its first has a byte order mark."""
    if data[: len(_BOM)] == _BOM:
        return None
    parts = -(-len(data) // _PART)
    ended = np.zeros(parts + 1, np.int64)
    for part in range(parts):
        content = _part(data, part)
        if (content == _CR).any():
            return None
        ended[part + 1] = np.count_nonzero(content == _LF)
    return MarkedLines(data, np.cumsum(ended))


def _part(data: mmap | bytes, part: int) -> npt.NDArray[np.uint8]:
    begin = part * _PART
    return np.frombuffer(data, np.uint8, min(_PART, len(data) - begin), begin)
