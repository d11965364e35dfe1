"""Tables in memory: the same rows that the database gives for the same question."""

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.associations import NONE
from headwater.graph.duck import memory_tables

LONGS = st.one_of(st.integers(-2, 3), st.sampled_from([NONE, 2**63 - 1, 1 << 40, (1 << 40) + 1]))
ROWS = st.lists(st.tuples(LONGS, LONGS), max_size=20)
NAMES = ["a", "b"]


def table(rows) -> memory_tables.Columns:
    return {name: np.array([row[place] for row in rows], np.int64) for place, name in enumerate(NAMES)}


def rows_of(columns: memory_tables.Columns) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


@given(ROWS)
def test_each_row_once(rows) -> None:
    assert sorted(rows_of(memory_tables.distinct(table(rows)))) == sorted(set(rows))


@given(st.lists(ROWS, min_size=1, max_size=3))
def test_several_tables_as_one(tables) -> None:
    made = memory_tables.united([table(rows) for rows in tables])
    assert sorted(rows_of(made)) == sorted({row for rows in tables for row in rows})


@given(st.lists(LONGS, max_size=20))
def test_values_ascend(column) -> None:
    assert memory_tables.values(np.array(column, np.int64)).tolist() == sorted(set(column))


@given(st.lists(LONGS, max_size=12), st.lists(LONGS, max_size=12))
def test_pairs_of_equal_values(refs, keys) -> None:
    keys = sorted(keys)
    expected = [(x, y) for x, ref in enumerate(refs) for y, key in enumerate(keys) if ref == key]
    found = memory_tables.matched(np.array(refs, np.int64), np.array(keys, np.int64), most=len(expected))
    assert found is not None
    assert list(zip(*(places.tolist() for places in found), strict=True)) == expected
    assert memory_tables.matched(np.array(refs, np.int64), np.array(keys, np.int64), most=len(expected) - 1) is None


KEYS = st.integers(-3, 9) | st.integers(0, 9) | st.sampled_from([NONE, 1 << 40])


@given(st.lists(KEYS, max_size=12), st.dictionaries(KEYS, st.integers(0, 5)))
def test_values_are_mapped_or_minus_one(column, to) -> None:
    assert memory_tables.mapped(np.array(column, np.int64), to).tolist() == [to.get(value, -1) for value in column]


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        yield memory_tables.Database(connection)


def test_a_statement_finds_a_held_table(database) -> None:
    name = database.hold(table([(1, NONE), (2, 2**63 - 1)]))
    for _ in range(2):
        assert database.execute(f"SELECT * FROM {name} ORDER BY a").fetchall() == [(1, NONE), (2, 2**63 - 1)]


def test_a_statement_finds_one_without_rows(database) -> None:
    name = database.hold(table([]))
    assert database.execute(f"SELECT a + b FROM {name}").fetchall() == []
    assert [str(kind) for _, kind, *_ in database.execute(f"DESCRIBE {name}").fetchall()] == ["BIGINT", "BIGINT"]


def test_only_the_tables_that_a_statement_names_are_put_there(database) -> None:
    first, second = database.hold(table([(1, 2)])), database.hold(table([(3, 4)]))
    database.execute(f"CREATE TEMP TABLE t AS FROM {second}")
    assert [row[0] for row in database.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()] == [second]
    assert database.execute(f"SELECT * FROM {first}, t").fetchall() == [(1, 2, 3, 4)]


def test_a_held_table_is_named_after_a_result_of_which_only_the_first_row_was_read() -> None:
    database = memory_tables.Database(duckdb.connect())
    database.execute("CREATE TEMP TABLE kept AS SELECT * FROM range(5)").fetchone()
    database.execute("SELECT * FROM kept").fetchone()
    name = database.hold(table([(1, 2), (3, 4)]))
    database.execute("SELECT * FROM kept").fetchone()
    assert database.execute(f"SELECT sum(a) + (SELECT count(*) FROM kept) FROM {name}").fetchone() == (9,)
