"""Rows of three columns in shuffled groups of a thousand: `id`, the group `k` and a number `v`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.data.cache import kept

GROUP = 1000  # rows
_FILES = 4


def numbers(rows: int) -> Path:
    """Return a folder of Parquet files with this number of rows, from the cache if possible."""

    def make(folder: Path) -> None:
        random = np.random.default_rng(11)
        groups = max(1, rows // GROUP)
        for number, ids in enumerate(np.array_split(np.arange(rows), _FILES)):
            columns = {"id": ids, "k": random.integers(0, groups, len(ids)), "v": random.random(len(ids))}
            pq.write_table(pa.table(columns), folder / f"part-{number}.parquet")

    return kept(f"numbers-{rows}", make)
