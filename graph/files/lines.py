"""Locates the records of a text file: the bytes and the line of each record, by the rules of Spark and Hadoop.

- Hadoop's line reader ends a line at LF, CR or CRLF.
- A split that starts at byte s > 0 skips the line that contains s or begins there. It reads every line that begins at or before its end. So
  a line that begins at b belongs to the split with start < b ≤ end.
- Spark's CSV reader drops blank lines (all characters up to U+0020), lines that begin with the comment mark, and then the header.
- Spark's JSON reader drops blank lines, and its text reader drops nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from mmap import mmap

import numpy as np
import numpy.typing as npt

from headwater.errors import UnsupportedError
from headwater.graph.files.compression import unpack_file
from headwater.graph.files.marks import MarkedLines, mark_lines
from headwater.graph.records import FileBlock
from headwater.graph.records.bounded_cache import Bounded
from headwater.graph.storage import StoredFile

_LF, _CR, _SPACE = 10, 13, 0x20
_CHUNK = 1 << 24
_BUDGET = 256 << 20
_MOST_TEXT = 256 << 20  # bytes of a file that is decoded as one text
_BINARY = {b"PAR1": "Parquet", b"PARE": "encrypted Parquet", b"ORC": "ORC", b"Obj\x01": "Avro"}  # formats by their first bytes
_BOM = b"\xef\xbb\xbf"

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LineRules:
    """The rules that decide which lines of a file are records."""

    blank: bool  # blank lines are records
    header: bool
    comment: bytes = b""
    objects: bool = False  # a record is a JSON object; a line with an array contains several


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of a text file: the begin and end of each (without its line end), and its 1-based line."""

    data: mmap | bytes
    begins: Longs
    ends: Longs
    numbers: Longs

    def __len__(self) -> int:
        return len(self.begins)

    def count_before(self, start: int) -> int:
        """Return the number of records before the split that starts at byte `start`."""
        return int(np.searchsorted(self.begins, start, side="right")) if start > 0 else 0

    def find_line_numbers(self, rows: Longs) -> Longs:
        return self.numbers[rows]

    def read(self, rows: Longs) -> list[bytes]:
        data = self.data
        return [data[begin:end] for begin, end in zip(self.begins[rows].tolist(), self.ends[rows].tolist(), strict=True)]

    @property
    def size(self) -> int:
        return 3 * self.begins.nbytes + (len(self.data) if isinstance(self.data, bytes) else 0)


class LineCache:
    """A cache of the lines of unchanged files, with a limit of memory. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lines = Bounded[tuple[Hashable, FileBlock, LineRules], Lines | MarkedLines](_BUDGET)

    def get(self, stored: StoredFile, block: FileBlock, rules: LineRules) -> Lines | MarkedLines:
        """Return the lines of a file. `block` is its present state.

        Raises:
            OSError: the file cannot be read.
            UnsupportedError: the compression is not supported here, or the file is too large.
        """
        key = (stored.identity, block, rules)
        lines = self._lines.get(key)
        if lines is None:
            lines = find_lines(
                _check_text(unpack_file(stored), stored.name), rules
            )  # two traces may do this at the same time; one of the results is cached
            self._lines.put(key, lines, lines.size)
        return lines


def find_lines(data: mmap | bytes, rules: LineRules) -> Lines | MarkedLines:
    marked_lines = mark_lines(data) if rules == LineRules(blank=True, header=False) else None
    return _locate_records(data, rules) if marked_lines is None else marked_lines


def _locate_records(data: mmap | bytes, rules: LineRules) -> Lines:
    begins, ends = _find_bounds(data)
    numbers = np.arange(1, len(begins) + 1, dtype=np.int64)
    if len(begins) and data[: len(_BOM)] == _BOM:
        begins[0] += len(_BOM)
    is_record = np.ones(len(begins), bool)
    if not rules.blank:
        is_record &= _find_nonblank(data, begins, ends)
    if rules.objects:
        _check_objects(data, begins, ends)
    if rules.comment:
        marked = [data[begin : begin + len(rules.comment)] == rules.comment for begin in begins.tolist()]
        is_record &= ~np.array(marked, bool)
    begins, ends, numbers = begins[is_record], ends[is_record], numbers[is_record]
    header_count = 1 if rules.header else 0
    return Lines(data, begins[header_count:], ends[header_count:], numbers[header_count:])


def _check_objects(data: mmap | bytes, begins: Longs, ends: Longs) -> None:
    """Check that no line contains several records.

    Raises:
        UnsupportedError: a line is an array, or is blank here but not in JSON.
    """
    if not len(begins):
        return
    first = np.frombuffer(data, np.uint8)[np.minimum(begins, len(data) - 1)]
    for index in np.flatnonzero((ends > begins) & (first != ord("{"))).tolist():
        line = data[begins[index] : ends[index]]
        if line.lstrip(b" \t").startswith(b"["):
            raise UnsupportedError("A line is an array of JSON, of which Spark makes a record for each element: records are not lines.")
        if line.strip(b" \t") and not any(byte > _SPACE for byte in line):
            raise UnsupportedError("A line of control characters is a record to Spark's reader of JSON: records cannot be told.")


def _find_bounds(data: mmap | bytes) -> tuple[Longs, Longs]:
    feeds, returns = find_positions(data, _LF), find_positions(data, _CR)
    if len(returns):
        pairs = np.isin(returns + 1, feeds)
        stops = np.sort(np.concatenate((feeds, returns[~pairs])))
        ends = stops - np.isin(stops - 1, returns[pairs])
    else:
        stops = ends = feeds
    begins = np.concatenate((np.zeros(1, np.int64), stops + 1))
    ends = np.append(ends, len(data))
    if begins[-1] >= len(data):  # a line end closes the file, or it is empty
        begins, ends = begins[:-1], ends[:-1]
    return begins, ends


def find_positions(data: mmap | bytes, byte: int) -> Longs:
    """Return the positions of a byte in a file's content."""
    arrays = []
    for start in range(0, len(data), _CHUNK):
        chunk = np.frombuffer(data, np.uint8, min(_CHUNK, len(data) - start), start)
        arrays.append(np.flatnonzero(chunk == byte) + start)
    return np.concatenate(arrays).astype(np.int64) if arrays else np.empty(0, np.int64)


def _find_nonblank(data: mmap | bytes, begins: Longs, ends: Longs) -> npt.NDArray[np.bool_]:
    """Return which lines contain a character beyond U+0020. Only lines that begin with a blank are searched."""
    is_filled = ends > begins
    if len(begins):
        first = np.frombuffer(data, np.uint8)[np.minimum(begins, len(data) - 1)]
        for index in np.flatnonzero(is_filled & (first <= _SPACE)).tolist():
            is_filled[index] = any(byte > _SPACE for byte in data[begins[index] : ends[index]])
    return is_filled


def read_whole_text(stored: StoredFile) -> str:
    """Return the text of a file that is one value, or a few values.

    Raises:
        OSError: the file cannot be read.
        UnsupportedError: the compression is not supported here, or the file is too large.
    """
    content = unpack_file(stored, _MOST_TEXT)
    if len(content) > _MOST_TEXT:
        raise UnsupportedError(f"{stored.name} is larger than {_MOST_TEXT} bytes; what is read of it at once must be smaller.")
    return bytes(_check_text(content, stored.name)[:]).decode("utf-8", "replace")


def _check_text(content: mmap | bytes, name: str) -> mmap | bytes:
    """Refuse files of a columnar format, because the number of their lines would depend on the values.

    Raises:
        UnsupportedError: the file has a columnar format.
    """
    for magic, kind in _BINARY.items():
        if content[: len(magic)] == magic:
            raise UnsupportedError(f"{name} is {kind}, and no text.", hint="Capture a run that reads it as what it is.")
    return content
