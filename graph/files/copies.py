"""Copies of local data files without some of their records. An erasure puts a copy in the place of its file.

A copy must have every other record as it was, byte by byte or value by value. A file for which this is not certain is refused. The formats
use these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.files.lines import Lines
from headwater.graph.files.marks import MarkedLines

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

HINT = "Take the records out of the source yourself. Files of Parquet, and plain files of CSV, JSON lines and text can be written again."
_BYTES = 1 << 24
_LINE_ENDS = b"\r\n"
_INT96 = "INT96"


def copy_lines(lines: Lines | MarkedLines, name: str, target: Path, rows: Sequence[int]) -> int:
    """Write a copy of a text file without the lines of some records, and return the number of its records.

    Raises:
        UnsupportedError: a line has several records.
    """
    begins, ends, data = lines.begins, lines.ends, lines.data
    if len(begins) and (np.diff(begins) <= 0).any():
        raise UnsupportedError(f"A line of {name} has several records, so they cannot be taken out of the file.", hint=HINT)
    place = 0
    with target.open("wb") as copy:
        for row in sorted(rows):
            begin, end = int(begins[row]), int(ends[row])
            if data[end : end + 2] == _LINE_ENDS:
                end += 2
            elif data[end : end + 1] and data[end : end + 1] in _LINE_ENDS:
                end += 1
            _write_part(copy, data, place, begin)
            place = end
        _write_part(copy, data, place, len(data))
    return len(begins) - len(rows)


def _write_part(copy: BinaryIO, data: mmap | bytes, begin: int, end: int) -> None:
    copy.writelines(data[start : min(start + _BYTES, end)] for start in range(begin, end, _BYTES))


def copy_parquet(source: Path, target: Path, rows: Sequence[int]) -> int:
    """Write a copy of a Parquet file without some records, and return the number of its records.

    Types, codecs, row groups and metadata stay the same.

    Raises:
        UnsupportedError: the other records cannot be written as they are. The copy may be there in part.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    left_out = np.array(sorted(rows), np.int64)
    try:
        with pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as file:
            _write_parquet(file, target, left_out)
            with pq.ParquetFile(target) as copy:
                if not copy.schema.equals(file.schema):
                    raise UnsupportedError(f"The types of {source} cannot be written again as they are.", hint=HINT)
                if copy.metadata.num_rows != file.metadata.num_rows - len(left_out):
                    raise UnsupportedError(f"The copy of {source} has {copy.metadata.num_rows} records.", hint=HINT)
                return int(copy.metadata.num_rows)
    except pa.ArrowException as error:
        raise UnsupportedError(f"{source} cannot be written again: {error}.", hint=HINT) from error


def _write_parquet(file: pq.ParquetFile, target: Path, left_out: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    import pyarrow.parquet as pq

    columns = [file.schema.column(number) for number in range(len(file.schema))]
    decimals = [column for column in columns if column.logical_type.type == "DECIMAL"]
    groups = file.metadata.num_row_groups
    codecs = {column.path: _codec(file, number) for number, column in enumerate(columns)} if groups else {}
    first = 0
    with pq.ParquetWriter(
        target, file.schema_arrow, compression=codecs or "snappy", store_schema=False, version="2.6",
        use_deprecated_int96_timestamps=any(column.physical_type == _INT96 for column in columns),
        store_decimal_as_integer=any(column.physical_type in ("INT32", "INT64") for column in decimals),
    ) as writer:  # fmt: skip
        for number in range(groups):
            table: pa.Table = file.read_row_group(number)
            own = left_out[(left_out >= first) & (left_out < first + table.num_rows)] - first
            first += table.num_rows
            if len(own):
                kept = np.ones(table.num_rows, bool)
                kept[own] = False
                table = table.filter(kept)
            if table.num_rows:
                writer.write_table(table, row_group_size=table.num_rows)


def _codec(file: pq.ParquetFile, column: int) -> str:
    return str(file.metadata.row_group(0).column(column).compression).lower().replace("uncompressed", "none")
