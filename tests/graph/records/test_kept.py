"""Rows of kept tables found by their keys are those that a look at every row finds."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.associations import NONE
from headwater.graph.records.key_lookup import KeptTables, place_key

ENOUGH = 1000
KEYS = st.one_of(st.integers(0, 12), st.sampled_from([NONE, -(2**62), 2**62, 2**63 - 1]))


def written(path: Path, names: list[str], rows: list[tuple[int, ...]], group: int = 3) -> Path:
    arrays = [pa.array([row[place] for row in rows], pa.int64()) for place in range(len(names))]
    pq.write_table(pa.table(arrays, names=names), path, row_group_size=group)
    return path


def rows_of(found) -> list[tuple[int, ...]]:
    assert found is not None
    keys, columns = found
    return list(zip(keys.tolist(), *(column.tolist() for column in columns.values()), strict=True))


@settings(deadline=None)
@given(st.lists(st.tuples(KEYS, st.integers(0, 5)), max_size=30), st.sets(KEYS, max_size=6))
def test_rows_of_keys_are_found(tmp_path_factory, rows, keys) -> None:
    path = written(tmp_path_factory.mktemp("kept") / "b0.parquet", ["key", "r0"], sorted(rows))
    found = KeptTables().find(path, np.array(sorted(keys), np.int64), ["r0"], most=ENOUGH)
    assert rows_of(found) == [row for row in sorted(rows) if row[0] in keys]


@settings(deadline=None)
@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30), st.sets(st.tuples(st.integers(0, 4), st.integers(0, 9))))
def test_rows_of_a_sink_are_found_by_file_and_row(tmp_path_factory, places, asked) -> None:
    rows = [(*place, number) for number, place in enumerate(sorted(places))]
    path = written(tmp_path_factory.mktemp("kept") / "b0.parquet", ["file", "row", "r0"], rows)
    keys = np.array([int(place_key(np.int64(file), np.int64(row))) for file, row in sorted(asked)], np.int64)
    found = KeptTables().find(path, keys, ["file", "row", "r0"], most=ENOUGH)
    assert [row[1:] for row in rows_of(found)] == [row for row in rows if row[:2] in asked]


def test_a_table_written_again_is_read_again(tmp_path) -> None:
    tables, keys = KeptTables(), np.array([1], np.int64)
    path = written(tmp_path / "b0.parquet", ["key", "r0"], [(1, 10)])
    assert rows_of(tables.find(path, keys, ["r0"], most=ENOUGH)) == [(1, 10)]
    then = path.stat()
    written(tmp_path / "new.parquet", ["key", "r0"], [(1, 20)]).replace(path)
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert rows_of(tables.find(path, keys, ["r0"], most=ENOUGH)) == [(1, 20)]


def test_more_rows_than_are_wanted_are_left_to_a_scan(tmp_path) -> None:
    path = written(tmp_path / "b0.parquet", ["key", "r0"], [(1, number) for number in range(10)])
    assert KeptTables().find(path, np.array([1], np.int64), ["r0"], most=9) is None
    assert KeptTables().find(path, np.array([2], np.int64), ["r0"], most=9) is not None


@pytest.mark.parametrize("most_bytes", [0, 24, 10_000])
def test_what_is_kept_in_memory_is_bounded_and_changes_nothing(tmp_path, most_bytes) -> None:
    path = written(tmp_path / "b0.parquet", ["key", "r0"], [(number, -number) for number in range(12)])
    tables = KeptTables(most_bytes=most_bytes)
    for _ in range(2):
        for key in range(12):
            assert rows_of(tables.find(path, np.array([key], np.int64), ["r0"], most=ENOUGH)) == [(key, -key)]
        assert tables.bytes_kept <= most_bytes


def test_without_statistics_it_is_left_to_a_scan(tmp_path) -> None:
    path = tmp_path / "b0.parquet"
    pq.write_table(pa.table({"key": [1, 2]}), path, write_statistics=False)
    assert KeptTables().find(path, np.array([1], np.int64), [], most=ENOUGH) is None
