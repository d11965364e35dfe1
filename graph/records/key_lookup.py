"""Reads rows of a kept table by key: the few row groups that may contain them, and a binary search in each.

A trace reads few keys of a table many times. Footers and the row groups read last stay in memory, for each state of a file: its inode,
length and modification time. The key is the column by which the table is sorted; for a sink it is the file and row.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from headwater.graph.associations.references import POSITION_BITS
from headwater.graph.records.decode import Longs, longs_of
from headwater.graph.records.digests import check_file, check_part, compare_anew
from headwater.graph.records.layout import reading

PLACE = ["file", "row"]  # the columns that form the key of a sink
_FOOTERS = 256
_BYTES = 64 << 20
_CHECKED = 32 << 20  # bytes of a table without a digest that is read once completely, to check it
_TAIL = 8  # bytes: the length of the footer, and the mark of the format
_MOST_GROUPS = 128  # row groups read for one question; beyond them, a scan of the table is faster

_Key = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class _Footer:
    """The least and the greatest possible key of each row group, from the footer of a Parquet file."""

    metadata: pq.FileMetaData
    names: Sequence[str]
    least: Longs
    greatest: Longs

    @property
    def by_place(self) -> bool:
        return list(self.names[:2]) == PLACE


class KeptTables:
    """Reads rows of kept tables by key, with a cache. Safe to use from several threads."""

    def __init__(self, *, most_bytes: int = _BYTES) -> None:
        self._lock = threading.Lock()
        self._footers: OrderedDict[_Key, _Footer | None] = OrderedDict()
        self._read: OrderedDict[tuple[_Key, int, str], Longs] = OrderedDict()
        self._sound: set[_Key] = set()
        self._bytes = 0
        self._most_bytes = most_bytes

    def find(self, path: Path, keys: Longs, columns: Sequence[str], *, most: int) -> tuple[Longs, dict[str, Longs]] | None:
        """Return the rows with these keys, in the order of the table: the key of each row, and `columns`.

        `keys` are ascending and distinct; those of a sink are `place_key`s. None if there are more than `most` rows, or if a scan of the
        table is cheaper.

        Raises:
            DamagedError: a part that was read is damaged.
        """
        with reading(path):
            return self._find(path, keys, columns, most)

    def _find(self, path: Path, keys: Longs, columns: Sequence[str], most: int) -> tuple[Longs, dict[str, Longs]] | None:
        file = _as_it_is(path)
        footer = self._footer(file)
        if footer is None:
            return None
        groups = np.flatnonzero(np.searchsorted(keys, footer.least, "left") < np.searchsorted(keys, footer.greatest, "right"))
        if len(groups) > _MOST_GROUPS:
            return None
        places: list[Longs] = []
        parts: dict[str, list[Longs]] = {name: [] for name in columns}
        count = 0
        for group in groups.tolist():
            present_keys = self._keys(file, footer, group)
            rows = _select_present(present_keys, keys)
            count += len(rows)
            if count > most:
                return None
            if len(rows):
                places.append(present_keys[rows])
                for name, column in zip(columns, self._columns(file, footer, group, columns), strict=True):
                    parts[name].append(column[rows])
        if _as_it_is(path) != file:
            return None  # the file was replaced meanwhile
        return _joined(places), {name: _joined(arrays) for name, arrays in parts.items()}

    def check(self, path: Path) -> None:
        """Check the checksum of a table before the database reads it, once for each file. DuckDB does not check page checksums.

        A small table of an earlier release has no digest, and is checked by reading all of it.

        Raises:
            DamagedError: the file is damaged.
        """
        with reading(path):
            file = _as_it_is(path)
            if check_file(path):
                return
        with self._lock:
            is_known = file in self._sound
        if is_known or file[2] > _CHECKED:
            return
        check_table(path)
        with self._lock:
            if len(self._sound) >= _FOOTERS * 16:
                self._sound.clear()
            self._sound.add(file)

    @property
    def bytes_kept(self) -> int:
        return self._bytes

    def _footer(self, file: _Key) -> _Footer | None:
        """Return the key ranges of a table's row groups. None if the statistics do not limit keys."""
        with self._lock:
            if file in self._footers:
                self._footers.move_to_end(file)
                return self._footers[file]
        _check_footer(file)
        footer = _footer_of(pq.read_metadata(file[0]))
        with self._lock:
            self._footers[file] = footer
            while len(self._footers) > _FOOTERS:
                self._footers.popitem(last=False)
        return footer

    def _keys(self, file: _Key, footer: _Footer, group: int) -> Longs:
        if not footer.by_place:
            return self._columns(file, footer, group, footer.names[:1])[0]
        files, rows = self._columns(file, footer, group, PLACE)
        return place_key(files, rows)

    def _columns(self, file: _Key, footer: _Footer, group: int, names: Sequence[str]) -> list[Longs]:
        arrays: dict[str, Longs] = {}
        with self._lock:
            for name in names:
                if (key := (file, group, name)) in self._read:
                    self._read.move_to_end(key)
                    arrays[name] = self._read[key]
        if absent_names := [name for name in names if name not in arrays]:
            for name in absent_names:
                chunk = footer.metadata.row_group(group).column(footer.names.index(name))
                check_part(Path(file[0]), chunk.data_page_offset, chunk.total_compressed_size)
            with pq.ParquetFile(file[0], metadata=footer.metadata, memory_map=True, page_checksum_verification=True) as parquet:
                table = parquet.read_row_group(group, columns=absent_names, use_threads=False)
            arrays |= {name: longs_of(table.column(name)) for name in absent_names}
            with self._lock:
                for name in absent_names:
                    self._keep_columns((file, group, name), arrays[name])
        return [arrays[name] for name in names]

    def _keep_columns(self, key: tuple[_Key, int, str], column: Longs) -> None:
        if key in self._read:
            return  # another thread was quicker
        self._read[key] = column
        self._bytes += column.nbytes
        while self._bytes > self._most_bytes:
            _, dropped_columns = self._read.popitem(last=False)
            self._bytes -= dropped_columns.nbytes


def check_table(path: Path) -> None:
    """Compare a kept table with its digest. A table without a digest is read completely, with its page checksums.

    Raises:
        DamagedError: the file is missing, incomplete or damaged.
    """
    with reading(path):
        if compare_anew(path):
            return
    with reading(path), pq.ParquetFile(path, page_checksum_verification=True) as parquet:
        for group in range(parquet.metadata.num_row_groups):
            parquet.read_row_group(group, use_threads=False)


def _check_footer(file: _Key) -> None:
    path, _, size, _ = file
    with Path(path).open("rb") as stream:
        stream.seek(max(0, size - _TAIL))
        length = int.from_bytes(stream.read(4), "little")
    start = max(0, size - _TAIL - length)
    check_part(Path(path), start, size - start)


def _as_it_is(path: Path) -> _Key:
    status = path.stat()
    return str(path), status.st_ino, status.st_size, status.st_mtime_ns


def place_key(file: Longs, row: Longs) -> Longs:
    """Return file and row of a record as one number."""
    return (file << POSITION_BITS) | row


def _footer_of(metadata: pq.FileMetaData) -> _Footer | None:
    names = [metadata.schema.column(place).name for place in range(metadata.num_columns)]
    keys = 2 if names[:2] == PLACE else 1
    bounds = np.empty((2, metadata.num_row_groups, keys), np.int64)
    for group in range(metadata.num_row_groups):
        for place in range(keys):
            statistics = metadata.row_group(group).column(place).statistics
            if not metadata.row_group(group).num_rows:
                bounds[:, group, place] = 1, 0  # an empty range
            elif statistics is None or not statistics.has_min_max:
                return None
            else:
                bounds[:, group, place] = statistics.min, statistics.max
    if keys == 1:
        return _Footer(metadata, names, *bounds[:, :, 0])
    # Bounds of a row hold for all files of the row group, so they are too wide at worst.
    return _Footer(metadata, names, *(place_key(end[:, 0], end[:, 1]) for end in bounds))


def _select_present(present_keys: Longs, keys: Longs) -> Longs:
    """Return the indexes in `present_keys` (ascending) of values that are in `keys`."""
    if len(keys) == 1:
        first_index, end_index = np.searchsorted(present_keys, keys[0], "left"), np.searchsorted(present_keys, keys[0], "right")
        return np.arange(first_index, end_index, dtype=np.int64)
    places = np.searchsorted(keys, present_keys)
    places[places == len(keys)] = 0
    return np.flatnonzero(keys[places] == present_keys).astype(np.int64)


def _joined(arrays: Sequence[Longs]) -> Longs:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)
