"""Rows of groups, sorted as they would be by all their columns; in memory, in runs, and in runs on the disk."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.records.group_rows import GroupedRows

GROUPS = st.one_of(st.integers(0, 3), st.integers(65_534, 65_537), st.integers(0, 200_000))
PARTS = st.lists(st.lists(st.tuples(GROUPS, st.integers(0, 5)), max_size=12), max_size=6)


def in_parts(parts):
    """Rows of a group, a reference and its double, the references ascending over all parts."""
    ahead, made = 0, []
    for part in parts:
        rows = []
        for group, step in part:
            ahead += step
            rows.append((group, ahead, 2 * ahead))
        made.append(rows)
    return made


def added(rows: GroupedRows, part) -> bool:
    columns = [np.array([row[place] for row in part], np.int64) for place in (1, 2)]
    return rows.add(np.array([row[0] for row in part], np.uint32), columns)


@given(PARTS, st.sampled_from([0, 5, 1_000]), st.sampled_from([1, 3, 1_000]))
def test_rows_are_sorted_by_group_and_then_as_they_come(parts, most_rows: int, at_once: int) -> None:
    made = in_parts(parts)
    with TemporaryDirectory() as folder:
        rows = GroupedRows(Path(folder), most_rows=most_rows, at_once=at_once)
        assert all(added(rows, part) for part in made)
        given_ = [(groups.tolist(), [column.tolist() for column in columns]) for groups, columns in rows.sorted()]
    found = [row for groups, columns in given_ for row in zip(groups, *columns, strict=True)]
    assert found == sorted(row for part in made for row in part)


def test_what_does_not_fit_is_on_the_disk(tmp_path) -> None:
    rows = GroupedRows(tmp_path, most_rows=3, at_once=100)
    assert all(added(rows, [(1, at, at), (0, at, at)]) for at in range(3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]
    assert [groups.tolist() for groups, _ in rows.sorted()] == [[0, 0, 0, 1, 1, 1]]


@pytest.mark.parametrize("parts", [[[(1, 5, 0), (1, 4, 0)]], [[(1, 5, 0)], [(2, 4, 9)]], [[(1, 5, 3), (1, 5, 2)]]])
def test_rows_that_do_not_come_in_order_are_not_taken(tmp_path, parts) -> None:
    rows = GroupedRows(tmp_path, most_rows=100, at_once=100)
    assert not all(added(rows, part) for part in parts)
