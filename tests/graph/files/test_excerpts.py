"""Large columns of a few records: reading only their pages gives the same as reading the whole file."""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.duck.memory_tables import Database
from headwater.graph.files import excerpts, thrift
from headwater.graph.files.excerpts import Excerpts
from headwater.graph.files.parquet_file import CutChunk, Leaf, make_parquet_file
from headwater.graph.files.read_files import ReadFile
from headwater.graph.files.reader import Reader
from headwater.graph.files.shapes import Shape
from headwater.graph.records import block_of
from tests.graph.trace.local import local

_TYPES: Mapping[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "text": (pa.string(), st.text(max_size=20)),
    "bytes": (pa.binary(), st.binary(max_size=20)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "int": (pa.int32(), st.integers(-5, 5)),
    "double": (pa.float64(), st.floats()),
    "flag": (pa.bool_(), st.booleans()),
    "decimal": (pa.decimal128(25, 3), st.decimals(-1000, 1000, places=3)),
    "moment": (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
    "day": (pa.date32(), st.dates()),
}


@st.composite
def _typed(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from(["leaf", "leaf", "list", "map", "struct"] if depth else ["leaf"]))
    if kind == "leaf":
        return _TYPES[draw(st.sampled_from(sorted(_TYPES)))]
    below, values = draw(_typed(depth=depth - 1))
    if kind == "list":
        return pa.list_(below), st.lists(st.none() | values, max_size=6)
    if kind == "map":
        return pa.map_(pa.string(), below), st.lists(
            st.tuples(st.text(max_size=3), st.none() | values), max_size=4, unique_by=lambda entry: entry[0]
        )
    other, more = draw(_typed(depth=0))
    return pa.struct([("x", below), ("y", other)]), st.fixed_dictionaries({"x": st.none() | values, "y": st.none() | more})


@st.composite
def _files(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any], list[int]]:
    kind, values = draw(_typed())
    some = draw(st.lists(st.none() | values, min_size=1, max_size=12))
    count = draw(st.integers(1, 400))
    column = pa.array([some[place % len(some)] for place in draw(st.permutations(range(count)))], kind)
    how = {
        "compression": draw(st.sampled_from(["none", "snappy", "gzip", "zstd"])),
        "use_dictionary": draw(st.booleans()),
        "data_page_size": draw(st.sampled_from([1, 100, 1000, 1 << 20])),
        "dictionary_pagesize_limit": draw(st.sampled_from([20, 1 << 20])),
        "write_batch_size": draw(st.sampled_from([1, 7, 1024])),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "write_page_index": draw(st.booleans()),
        "row_group_size": draw(st.sampled_from([50, 1000])),
        "store_schema": False,
    }
    rows = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=5, unique=True))
    return pa.table({"n": pa.array(range(count)), "v": column}), how, sorted(rows)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "_LARGE", 1e-9)
    monkeypatch.setattr(excerpts, "_LARGE_NESTED", 1e-9)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(_files())
def test_an_excerpt_holds_what_the_file_holds(tmp_path: Path, made: tuple[pa.Table, dict[str, Any], list[int]]) -> None:
    table, how, rows = made
    path, target = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    pq.write_table(table, path, **how)
    excerpt = Excerpts().cut_rows(local(path), np.array(rows, np.int64), lambda: target)
    assert excerpt is not None, "the file is written in ways that are known"
    assert (list(excerpt.columns), list(excerpt.rows)) == (["n", "v"], rows)
    with duckdb.connect() as database:
        cut = database.execute("SELECT * FROM read_parquet(?)", [str(target)]).fetchall()
        where = f"file_row_number IN ({', '.join(map(str, rows))}) ORDER BY file_row_number"
        whole = database.execute(f"SELECT n, v FROM read_parquet(?) WHERE {where}", [str(path)]).fetchall()
    assert repr(cut) == repr(whole)  # as texts: NaN is not itself


@pytest.fixture
def database() -> Iterator[Database]:
    with duckdb.connect() as connection:
        opened = Database(connection)
        yield opened
        opened.close()


def _read(path: Path) -> ReadFile:
    return ReadFile(3, local(path), block_of(path), {})


def test_large_columns_stand_among_the_others_as_in_the_file(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "_LARGE", 8 << 10)
    path = tmp_path / "a.parquet"
    long = [f"{place} " * 40 for place in range(1000)]
    pq.write_table(pa.table({"a": range(1000), "A long one": long, "z": range(1000)}), path, data_page_size=2000, use_dictionary=False)
    query, parameters = Reader().make_query(database, Shape("parquet", (), ()), [_read(path)], {3: np.array([7, 999])})
    assert len(parameters) == 2, "an excerpt is read beside the file"
    found = sorted(database.execute(query, parameters).fetchall())
    assert [column[0] for column in database.execute(query, parameters).description or ()][3:] == ["a", "A long one", "z"]
    assert found == [(3, 7, None, 7, long[7], 7), (3, 999, None, 999, long[999], 999)]


def test_a_second_record_is_cut_from_pages_that_are_known(tmp_path: Path) -> None:
    path, target, known = tmp_path / "a.parquet", tmp_path / "cut.parquet", Excerpts()
    pq.write_table(pa.table({"v": [[place] * (place % 5) for place in range(5000)]}), path, data_page_size=100, write_batch_size=3)
    for row in (10, 4999, 0, 2500):
        assert known.cut_rows(local(path), np.array([row]), lambda: target)
        assert pq.read_table(target).to_pylist() == [{"v": [row] * (row % 5)}]


def test_a_file_that_was_written_anew_is_looked_at_anew(tmp_path: Path) -> None:
    path, target, known = tmp_path / "a.parquet", tmp_path / "cut.parquet", Excerpts()
    for count in (10, 2000):
        pq.write_table(pa.table({"v": [[count]] * count}), path, data_page_size=10, write_batch_size=1)
        assert known.cut_rows(local(path), np.array([count - 1]), lambda: target)
        assert pq.read_table(target).to_pylist() == [{"v": [count]}]


def test_what_the_file_was_is_not_cut_out_of_what_it_is(tmp_path: Path) -> None:
    path, target, known = tmp_path / "a.parquet", tmp_path / "cut.parquet", Excerpts()
    pq.write_table(pa.table({"v": ["old"] * 100}), path)
    then = local(path)
    assert known.cut_rows(then, np.array([5]), lambda: target)
    pq.write_table(pa.table({"v": ["new"] * 1000}), path)
    assert known.cut_rows(then, np.array([5]), lambda: target) is None


@pytest.mark.parametrize("damage", ["truncated", "no parquet", "two columns of one name", "a row beyond"])
def test_what_cannot_be_cut_is_left_to_reading_the_file(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.parquet"
    names = ["v", "V"] if damage == "two columns of one name" else ["v", "w"]
    pq.write_table(pa.Table.from_arrays([pa.array(range(9)), pa.array(range(9))], names=names), path)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:50])
    if damage == "no parquet":
        path.write_bytes(b"a,b\n1,2\n")
    assert Excerpts().cut_rows(local(path), np.array([99 if damage == "a row beyond" else 1]), lambda: tmp_path / "cut.parquet") is None


def test_pages_that_lead_back_to_themselves_are_not_followed(tmp_path: Path) -> None:
    path, leaf = tmp_path / "a.parquet", Leaf("v", 1, 0, 0, 0)
    back = thrift.write_struct([(1, thrift.INT, 1), (2, thrift.INT, 0), (3, thrift.INT, -7)])
    assert len(back) == 7
    schema = [thrift.write_struct([(1, thrift.INT, 1), (3, thrift.INT, 0), (4, thrift.BINARY, b"v")])]
    path.write_bytes(make_parquet_file(schema, 1, [([CutChunk(leaf, [b"v"], [[back]], 1)], 1)], 1))
    assert Excerpts().cut_rows(local(path), np.array([0]), lambda: tmp_path / "cut.parquet") is None


def test_without_a_folder_for_them_the_file_is_read(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": [str(place) for place in range(10)]}), path)
    query, parameters = Reader().make_query(database, Shape("parquet", (), ()), [_read(path)], {3: np.array([7])})
    assert database.execute(query, parameters).fetchall() == [(3, 7, None, "7")]


def test_what_is_long_to_say_and_short_to_read_is_left_to_reading_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({f"column {number}": ["x"] * 10 for number in range(900)}), path, row_group_size=1, use_dictionary=False)
    assert Excerpts().cut_rows(local(path), np.array([1]), lambda: tmp_path / "cut.parquet") is None


def test_of_many_rows_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": range(2000)}), path)
    assert Excerpts().cut_rows(local(path), np.arange(1500), lambda: tmp_path / "cut.parquet") is None


def test_a_column_that_is_large_in_one_row_group_is_cut_from_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "_LARGE", 1000)
    path, target, known = tmp_path / "a.parquet", tmp_path / "cut.parquet", Excerpts()
    table = pa.table({"v": ["short"] * 100 + ["long " * 100] * 100, "w": range(200)})
    pq.write_table(table, path, row_group_size=100, use_dictionary=False)
    assert known.cut_rows(local(path), np.array([5]), lambda: target) is None
    assert known.cut_rows(local(path), np.array([5, 150]), lambda: target)
    assert pq.read_table(target).to_pylist() == [{"v": "short"}, {"v": "long " * 100}]


def test_excerpts_are_gone_with_the_database(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": ["x"] * 10}), path)
    with duckdb.connect() as connection:
        database = Database(connection)
        _, parameters = Reader().make_query(database, Shape("parquet", (), ()), [_read(path)], {3: np.array([7])})
        cut = Path(str(parameters[1]))
        assert cut.stat().st_mode & 0o077 == 0 or cut.parent.stat().st_mode & 0o077 == 0, "nobody else may read it"
        database.close()
        assert not cut.parent.exists()


def test_where_nothing_is_large_no_folder_is_made(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "_LARGE", 8 << 20)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": ["x"] * 10}), path)
    Reader().make_query(database, Shape("parquet", (), ()), [_read(path)], {3: np.array([7])})
    assert list(tmp_path.iterdir()) == [path]
