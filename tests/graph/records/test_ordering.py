"""The kept order: rows sorted in memory are those that DuckDB would give."""

import shutil
from collections import defaultdict

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.associations import NONE, pack
from headwater.graph.records import compact
from headwater.graph.records.packed_keys import sorted_rows
from headwater.graph.records.row_order import collided, in_order, ordered
from headwater.graph.records.staging import FOLDER
from tests.graph.jobs import TENANT

REFERENCES = st.one_of(st.just(NONE), st.builds(pack, st.integers(0, 3), st.integers(5, 9)), st.just(pack(2**23 - 1, 2**40 - 1)))
LONGS = st.one_of(st.integers(-2, 2), st.integers(-(2**63), 2**63 - 1), REFERENCES)
ROWS = st.lists(st.tuples(LONGS, LONGS, LONGS), max_size=30)


def columns(rows, width: int):
    return [np.array([row[place] for row in rows], np.int64) for place in range(width)]


@given(ROWS)
def test_rows_are_sorted_by_the_first_column_first(rows) -> None:
    made = ordered(columns(rows, 3), columns(rows, 3))
    assert list(zip(*(column.tolist() for column in made), strict=True)) == sorted(rows)


@given(st.lists(st.tuples(REFERENCES, st.integers(-3, 3), REFERENCES), max_size=30))
def test_references_are_sorted_as_longs(rows) -> None:
    made = ordered(columns(rows, 3), columns(rows, 3))
    assert list(zip(*(column.tolist() for column in made), strict=True)) == sorted(rows)


def test_what_is_narrow_is_sorted_as_one_column_and_hashes_are_not() -> None:
    small = [(pack(1, 7), 3), (NONE, 4), (pack(0, 9), 3)]
    made = sorted_rows(columns(small, 2))
    assert made is not None
    assert list(zip(*(column.tolist() for column in made), strict=True)) == sorted(small)
    assert sorted_rows(columns([(2**62, 0), (-(2**62), 0)], 2)) is None


@given(ROWS)
def test_a_row_stays_whole_where_only_one_column_counts(rows) -> None:
    made = ordered(columns(rows, 3), columns(rows, 1))
    assert made[0].tolist() == sorted(row[0] for row in rows)
    assert sorted(zip(*(column.tolist() for column in made), strict=True)) == sorted(rows)


@given(ROWS)
def test_what_is_in_order_is_known_to_be(rows) -> None:
    assert in_order(columns(rows, 3)) == (rows == sorted(rows))
    assert in_order(columns(sorted(rows), 3))


@given(st.lists(st.tuples(st.integers(-3, 3), LONGS), max_size=30))
def test_hashes_of_two_keys_are_those_that_are_kept(rows) -> None:
    of_key = defaultdict(set)
    for key, checked in rows:
        of_key[key].add(checked)
    expected = [(key, value) for key, found in sorted(of_key.items()) if len(found) > 1 for value in (min(found), max(found))]
    assert list(zip(*(column.tolist() for column in collided(*columns(rows, 2))), strict=True)) == expected


@pytest.mark.parametrize("boundary", [0, 1])
def test_what_does_not_fit_is_kept_in_the_same_way(staged, monkeypatch, tmp_path, boundary) -> None:
    store, manifest = staged
    segments = store.root / TENANT / FOLDER
    shutil.copytree(segments, tmp_path / "again")
    store.publish(TENANT, manifest)
    fitted = pq.read_table(store.table(TENANT, manifest.capture, boundary))
    store.drop(TENANT, manifest.capture)
    monkeypatch.setattr(compact, "_IN_MEMORY", 0)
    shutil.copytree(tmp_path / "again", segments, dirs_exist_ok=True)
    store.publish(TENANT, manifest)
    assert pq.read_table(store.table(TENANT, manifest.capture, boundary)).equals(fitted)
