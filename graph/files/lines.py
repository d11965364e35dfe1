"""Where the records of a text file lie: the n-th record's bytes and line, by the rules by which Spark and Hadoop cut text.

Hadoop's line reader ends a line at LF, CR or CRLF. A split that starts at byte s > 0 skips the line that holds or begins at s, and
reads on while a line begins at or before its end: so a line that begins at b belongs to the split with start < b ≤ end.
Spark's CSV reader drops lines that are blank (all characters up to U+0020) or begin with the comment mark, then the header; its
JSON reader drops blank lines; its text reader drops nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from mmap import mmap

import numpy as np
import numpy.typing as npt

from headwater.errors import UnsupportedError
from headwater.graph.files.compression import unpacked
from headwater.graph.files.marks import MarkedLines, marked
from headwater.graph.records import FileBlock
from headwater.graph.storage import StoredFile

_LF, _CR, _SPACE = 10, 13, 0x20
_CHUNK = 1 << 24
_BUDGET = 256 << 20
_MOST_TEXT = 256 << 20  # bytes of a file that is decoded as one text
_BINARY = {b"PAR1": "Parquet", b"PARE": "encrypted Parquet", b"ORC": "ORC", b"Obj\x01": "Avro"}  # by the first bytes
_BOM = b"\xef\xbb\xbf"

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LineRules:
    """Which lines of a file are records."""

    blank: bool  # blank lines are records
    header: bool
    comment: bytes = b""
    objects: bool = False  # a record is an object of JSON: of a line that is an array, each element is one


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of one file: where each begins and ends (without its line end), and its line, 1-based."""

    data: mmap | bytes
    begins: Longs
    ends: Longs
    numbers: Longs

    def __len__(self) -> int:
        return len(self.begins)

    def before(self, start: int) -> int:
        """How many records of the file come before the split that starts at byte `start`."""
        return int(np.searchsorted(self.begins, start, side="right")) if start > 0 else 0

    def numbers_of(self, rows: Longs) -> Longs:
        """The lines of some records, 1-based."""
        return self.numbers[rows]

    def read(self, rows: Longs) -> list[bytes]:
        """The bytes of records."""
        data = self.data
        return [data[begin:end] for begin, end in zip(self.begins[rows].tolist(), self.ends[rows].tolist(), strict=True)]

    @property
    def size(self) -> int:
        """Bytes that keeping it takes."""
        return 3 * self.begins.nbytes + (len(self.data) if isinstance(self.data, bytes) else 0)


class LineCache:
    """Lines of files as they are now, kept while memory allows; a file that changed is looked at again. For several threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Hashable, FileBlock, LineRules], Lines | MarkedLines] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stored: StoredFile, block: FileBlock, rules: LineRules) -> Lines | MarkedLines:
        """The lines of a file, which is `block` now.

        Raises:
            OSError: it cannot be read.
            UnsupportedError: it is compressed in a way that cannot be read here, or too large.
        """
        key = (stored.identity, block, rules)
        with self._lock:
            lines = self._known.get(key)
        if lines is None:
            lines = find_lines(_text(unpacked(stored), stored.name), rules)  # two traces may do this at once; one of the results is kept
        with self._lock:
            self._known[key] = lines
            self._known.move_to_end(key)
            while len(self._known) > 1 and sum(kept.size for kept in self._known.values()) > _BUDGET:
                self._known.popitem(last=False)
        return lines


def find_lines(data: mmap | bytes, rules: LineRules) -> Lines | MarkedLines:
    """Locate the records of a file's content."""
    found = marked(data) if rules == LineRules(blank=True, header=False) else None
    return _located(data, rules) if found is None else found


def _located(data: mmap | bytes, rules: LineRules) -> Lines:
    begins, ends = _bounds(data)
    numbers = np.arange(1, len(begins) + 1, dtype=np.int64)
    if len(begins) and data[: len(_BOM)] == _BOM:
        begins[0] += len(_BOM)
    kept = np.ones(len(begins), bool)
    if not rules.blank:
        kept &= _filled(data, begins, ends)
    if rules.objects:
        _check_objects(data, begins, ends)
    if rules.comment:
        marked = [data[begin : begin + len(rules.comment)] == rules.comment for begin in begins.tolist()]
        kept &= ~np.array(marked, bool)
    begins, ends, numbers = begins[kept], ends[kept], numbers[kept]
    skipped = 1 if rules.header else 0
    return Lines(data, begins[skipped:], ends[skipped:], numbers[skipped:])


def _check_objects(data: mmap | bytes, begins: Longs, ends: Longs) -> None:
    """See that no line holds several records.

    Raises:
        UnsupportedError: one is an array, or blank to us but not to JSON.
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


def _bounds(data: mmap | bytes) -> tuple[Longs, Longs]:
    """Begin and end (without its line end) of every line."""
    feeds, returns = positions(data, _LF), positions(data, _CR)
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


def positions(data: mmap | bytes, byte: int) -> Longs:
    """Where a byte stands in a file's content."""
    found = []
    for start in range(0, len(data), _CHUNK):
        chunk = np.frombuffer(data, np.uint8, min(_CHUNK, len(data) - start), start)
        found.append(np.flatnonzero(chunk == byte) + start)
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, np.int64)


def _filled(data: mmap | bytes, begins: Longs, ends: Longs) -> npt.NDArray[np.bool_]:
    """Which lines hold a character beyond U+0020. Only lines that begin with a lesser one have to be read."""
    filled = ends > begins
    if len(begins):
        first = np.frombuffer(data, np.uint8)[np.minimum(begins, len(data) - 1)]
        for index in np.flatnonzero(filled & (first <= _SPACE)).tolist():
            filled[index] = any(byte > _SPACE for byte in data[begins[index] : ends[index]])
    return filled


def text_of(stored: StoredFile) -> str:
    """The whole text of a file that is one value, or a few.

    Raises:
        OSError: it cannot be read.
        UnsupportedError: it is compressed in a way that cannot be read here, or too large.
    """
    content = unpacked(stored, _MOST_TEXT)
    if len(content) > _MOST_TEXT:
        raise UnsupportedError(f"{stored.name} is larger than {_MOST_TEXT} bytes; what is read of it at once must be smaller.")
    return bytes(_text(content, stored.name)[:]).decode("utf-8", "replace")


def _text(content: mmap | bytes, name: str) -> mmap | bytes:
    """The content, if it is not that of a file of columns: the number of its lines would be an accident of the values in it.

    Raises:
        UnsupportedError: it is.
    """
    for magic, kind in _BINARY.items():
        if content[: len(magic)] == magic:
            raise UnsupportedError(f"{name} is {kind}, and no text.", hint="Capture a run that reads it as what it is.")
    return content
