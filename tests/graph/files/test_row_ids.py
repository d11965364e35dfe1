"""The numbers that a table gives its rows: the file in which a row was new. Contradictory files of a table are left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.read_files import ReadFile
from headwater.graph.files.row_ids import TableFile, TableRows, index_numbered_files, read_numbers
from headwater.graph.records import block_of
from tests.graph.trace.local import local


def _file(path: str, first: int | None, rows: int | None = 10, version: int = 1) -> TableFile:
    return TableFile(path, 100, rows, first, version, version, is_rewrite=False)


def _table(*files: TableFile) -> TableRows:
    return TableRows(index_numbered_files(files, {}), "number", "version")


@given(st.lists(st.integers(0, 5), max_size=8), st.lists(st.integers(-3, 40)))
def test_a_row_was_new_in_the_file_whose_range_holds_its_number(sizes: list[int], asked: list[int]) -> None:
    firsts = [sum(sizes[:place]) for place in range(len(sizes))]
    table = _table(*(_file(str(place), first, rows=size) for place, (first, size) in enumerate(zip(firsts, sizes, strict=True))))
    places, listed = table.find_holders(np.array(asked, np.int64))
    found = [None if place < 0 else listed[place].path for place in places.tolist()]
    ranges = list(zip(firsts, sizes, strict=True))
    assert found == [next((str(at) for at, (first, size) in enumerate(ranges) if first <= number < first + size), None) for number in asked]


def test_a_file_of_which_two_things_are_said_is_left_out() -> None:
    a, b = _file("a", 0), _file("b", 10)
    assert set(_table(a, b, a).files) == {"a", "b"}
    for other in (replace(a, first=50), replace(a, version=2, added=1), replace(a, length=7), replace(a, rows=11)):
        assert set(_table(a, b, other).files) == {"b"}, other
    assert set(_table(a, b, _file("c", 5)).files) == set(), "a number that two files have is nobody's"
    assert _table(_file("a", None), a).files["a"].first == 0, "the table began to number its rows"
    assert _table(a, replace(a, rows=None)).files == {"a": a}, "a checkpoint need not say how many they are"


@pytest.fixture
def parquet(tmp_path: Path) -> ReadFile:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": [1, 2, 3, 4], "number": pa.array([None, 40, None, 42]), "version": pa.array([None, 3, 4, None])}), path)
    return ReadFile(0, local(path), block_of(path), {})


def test_what_a_file_does_not_say_of_a_row_it_has_by_its_place(parquet: ReadFile) -> None:
    file = _file("a", 7, rows=4, version=9)
    with duckdb.connect() as connection:
        database = Database(connection)
        found = read_numbers(database, _table(file), file, parquet, rows=np.arange(4, dtype=np.int64))
        assert (found.numbers.tolist(), found.versions.tolist()) == ([7, 40, 9, 42], [9, 3, 4, 9])
        searched = read_numbers(database, _table(file), file, parquet, numbers=np.array([9, 40, 41], np.int64))
        assert (searched.rows.tolist(), searched.numbers.tolist()) == ([1, 2], [40, 9])
        plain = read_numbers(database, TableRows({}, "other", 5), file, parquet, rows=np.array([3], np.int64))
        assert (plain.numbers.tolist(), plain.versions.tolist()) == ([10], [9])
        texts = _texts(Path(parquet.block.path.removeprefix("file:")))
        with pytest.raises(UnsupportedError, match="plainly"):
            read_numbers(database, TableRows({}, "number", "v2"), _file("b", 7, rows=1), texts)


@pytest.mark.parametrize("rows", [None, 3, 5])
def test_a_file_of_other_rows_than_its_table_says_gives_no_numbers(parquet: ReadFile, rows: int | None) -> None:
    file = _file("a", 7, rows=rows, version=9)
    following = _file("z", 12 if rows else 10)  # into which four rows reach that are not counted
    with duckdb.connect() as connection, pytest.raises(UnsupportedError, match="has 4 rows"):
        read_numbers(Database(connection), _table(file, following), file, parquet, rows=np.arange(4, dtype=np.int64))


@pytest.mark.parametrize(("numbers", "versions"), [([-1, 40], [1, 1]), ([3, 40], [1, -2]), ([3, 40], [1, 10])])
def test_numbers_that_no_row_can_have_are_not_gone_by(tmp_path: Path, numbers: list[int], versions: list[int]) -> None:
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table({"number": pa.array(numbers, pa.int64()), "version": pa.array(versions, pa.int64())}), path)
    file, read = _file("c", 7, rows=2, version=9), ReadFile(0, local(path), block_of(path), {})
    with duckdb.connect() as connection, pytest.raises(UnsupportedError, match="none can have"):
        read_numbers(Database(connection), _table(file), file, read, rows=np.arange(2, dtype=np.int64))


def test_a_number_beyond_those_that_the_table_gave_is_nobodys() -> None:
    assert set(index_numbered_files([_file("a", 0), _file("b", 10)], {}, 18)) == {"a"}
    assert set(index_numbered_files([_file("a", 0), _file("b", 10)], {}, 19)) == {"a", "b"}


def _texts(path: Path) -> ReadFile:
    other = path.with_name("b.parquet")
    pq.write_table(pa.table({"number": ["1"]}), other)
    return ReadFile(1, local(other), block_of(other), {})
