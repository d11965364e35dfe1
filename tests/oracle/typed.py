"""A table with a column of every type that can be the key of recomputed groups."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [
        ("k", pa.int64()), ("i", pa.int32()), ("s", pa.string()), ("d", pa.date32()), ("m", pa.decimal128(12, 2)), ("b", pa.bool_()),
        ("x", pa.float64()),
    ]
)  # fmt: skip


def rows(number: int) -> list[dict[str, Any]]:
    """Forty rows from a number on."""
    return [
        {
            "k": n % 9 or None, "i": [None, 1, 2][n % 3], "s": ["a", "ab", "b", "cc", None, "A"][n % 6],
            "d": date(2020, 1, 1) + timedelta(days=n % 5), "m": Decimal(n % 13) / 2, "b": n % 2 == 0, "x": float(n % 4),
        }
        for n in range(number, number + 40)
    ]  # fmt: skip


def written(folder: Path) -> Path:
    """A table of three files, each of several row groups."""
    folder.mkdir(parents=True)
    for part in range(3):
        pq.write_table(pa.Table.from_pylist(rows(17 * part), SCHEMA), folder / f"part-{part}.parquet", row_group_size=16)
    return folder
