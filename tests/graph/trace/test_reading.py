"""Records read back as Spark read them: text cut and typed, partitions, rows of Parquet."""

from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.graph.records import block_of
from headwater.graph.trace.delimited import texts
from headwater.graph.trace.reader import Reader, ReadFile
from headwater.graph.trace.shapes import Shape, partition_values


def cut(lines: list[str], names: list[str], **options: str) -> list[tuple[str | None, ...]]:
    table = texts("csv", [line.encode() for line in lines], names, options)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_plain_csv_is_cut_at_its_separator() -> None:
    assert cut(["a,b", "1,"], ["x", "y"]) == [("a", "b"), ("1", None)]
    assert cut(["a;b"], ["x", "y"], sep=";") == [("a", "b")]


def test_the_null_value_is_null_quoted_or_not() -> None:
    assert cut(["NA,'NA'".replace("'", '"')], ["x", "y"], nullvalue="NA") == [(None, None)]


def test_quotes_hold_separators() -> None:
    assert cut(['"a,b",c'], ["x", "y"]) == [("a,b", "c")]


def test_an_escaped_quote_is_a_quote() -> None:
    assert cut(['"a\\"b",c'], ["x", "y"]) == [('a"b', "c")]
    assert cut(['"a""b",c'], ["x", "y"], escape='"') == [('a"b', "c")]


def test_missing_columns_are_null_and_those_beyond_the_schema_are_left_out() -> None:
    assert cut(["a", "b,c,d"], ["x", "y"]) == [("a", None), ("b", "c")]


def test_every_line_is_one_record_even_with_an_open_quote() -> None:
    assert len(cut(['"a,1', "b,2"], ["x", "y"])) == 2


def test_json_records_are_objects_and_malformed_ones_are_nulls() -> None:
    table = texts("json", [b'{"a": 1, "b": "x"}', b"{"], ["a", "b"], {})
    assert table.to_pylist() == [{"a": "1", "b": "x"}, {"a": None, "b": None}]


@pytest.fixture
def database():
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


def rows(database, table: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = database.execute(f"SELECT * FROM {table} ORDER BY __file, __row").fetchall()
    return found


def test_csv_is_typed_by_the_schema_and_what_does_not_fit_is_null(database, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("i,d,b,s\n1,2.5,TRUE,x\n1.5,x,maybe,\n")
    shape = Shape("csv", (("header", "true"),), (("i", "int"), ("d", "double"), ("b", "boolean"), ("s", "string")))
    table = Reader().table(database, shape, [ReadFile(4, path, block_of(path), {})])
    assert rows(database, table) == [(4, 0, 2, 1, 2.5, True, "x"), (4, 1, 3, None, None, None, None)]


def test_chosen_rows_of_parquet_are_those_at_their_positions(database, tmp_path) -> None:
    files, shape = [], Shape("parquet", (), (("v", "bigint"),), (("k", "string"),))
    for number, folder in enumerate(["k=b", "k=__HIVE_DEFAULT_PARTITION__"]):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "p.parquet"
        pq.write_table(pa.table({"v": [number * 10 + n for n in range(5)]}), path, row_group_size=2)
        files.append(ReadFile(number, path, block_of(path), partition_values(str(path), shape, {})))
    database.execute("CREATE TEMP TABLE wanted AS SELECT * FROM (VALUES (0, 3), (1, 0), (1, 4)) t(file, row)")
    table = Reader().table(database, shape, files, "wanted")
    assert rows(database, table) == [(0, 3, None, 3, "b"), (1, 0, None, 10, None), (1, 4, None, 14, None)]


def test_text_has_its_line_as_value(database, tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x y\n\nz\n")
    table = Reader().table(database, Shape.of_path(path), [ReadFile(0, path, block_of(path), {})])
    assert [row[3] for row in rows(database, table)] == ["x y", "", "z"]
