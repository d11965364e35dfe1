"""Converts rows for comparison: equal values become equal Python values, and sums of doubles may differ in their last digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

Values = tuple[Any, ...]


class Written(NamedTuple):
    """A row of an answer, with its file and position."""

    file: str  # its URI
    row: int
    values: Values


def written(folder: Path) -> Iterator[Written]:
    """Yield the rows of an answer in Parquet, file by file."""
    for path in sorted(folder.glob("*.parquet")):
        yield from written_in(path)


def written_in(path: Path) -> Iterator[Written]:
    columns = [column.to_pylist() for column in pq.ParquetFile(path).read().columns]
    for row, values in enumerate(zip(*columns, strict=True)):
        yield Written(f"file:{path}", row, comparable(values))


def comparable(values: Sequence[Any]) -> Values:
    """Convert the values of a row for comparison. A double keeps ten digits, because its sum depends on the order of additions."""
    return tuple(_comparable(value) for value in values)


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.10g}") + 0.0
    return value.normalize() if isinstance(value, Decimal) else value
