"""Records read back as Spark read them: text cut and typed, partitions, rows of Parquet."""

from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.errors import UnsupportedError
from headwater.graph.files.formats.csv import Csv
from headwater.graph.files.formats.json import JsonLines
from headwater.graph.files.read_files import ReadFile
from headwater.graph.files.reader import Reader
from headwater.graph.files.shapes import Shape, find_partition_values
from headwater.graph.files.text_values import convert_text, make_certainty_check
from headwater.graph.records import block_of
from tests.graph.trace.local import local


def cut(lines: list[str], names: list[str], **options: str) -> list[tuple[str | None, ...]]:
    table = Csv("csv").cut_cells([line.encode() for line in lines], names, options)
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
    table = JsonLines("json").cut_cells([b'{"a": 1, "b": "x"}', b"{"], ["a", "b"], {})
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
    table = Reader().make_table(database, shape, [ReadFile(4, local(path), block_of(path), {})])
    assert rows(database, table) == [(4, 0, 2, 1, 2.5, True, "x"), (4, 1, 3, None, None, None, None)]


def test_chosen_rows_of_parquet_are_those_at_their_positions(database, tmp_path) -> None:
    files, shape = [], Shape("parquet", (), (("v", "bigint"),), (("k", "string"),))
    for number, folder in enumerate(["k=b", "k=__HIVE_DEFAULT_PARTITION__"]):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "p.parquet"
        pq.write_table(pa.table({"v": [number * 10 + n for n in range(5)]}), path, row_group_size=2)
        files.append(ReadFile(number, local(path), block_of(path), find_partition_values(str(path), shape, {})))
    database.execute("CREATE TEMP TABLE wanted AS SELECT * FROM (VALUES (0, 3), (1, 0), (1, 4)) t(file, row)")
    table = Reader().make_table(database, shape, files, "wanted")
    assert rows(database, table) == [(0, 3, None, 3, "b"), (1, 0, None, 10, None), (1, 4, None, 14, None)]


def test_text_has_its_line_as_value(database, tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x y\n\nz\n")
    table = Reader().make_table(database, Shape.from_names([str(path)]), [ReadFile(0, local(path), block_of(path), {})])
    assert [row[3] for row in rows(database, table)] == ["x y", "", "z"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("decimal(10,2)", "1,234.5", 1234.5), ("decimal(10,2)", "one", None), ("double", "nan", None), ("double", "NaN", "nan"),
        ("double", "inf", None), ("double", "-Inf", "-inf"), ("double", " 3d", 3.0), ("double", "1_0", None), ("date", "2024/05/01", None),
        ("date", "2024-5", "2024-05-01"),
        ("date", "epoch", None), ("int", "1_0", None), ("boolean", "TRUE", True),
    ],
)  # fmt: skip
def test_text_has_the_value_that_spark_reads(database, kind: str, text: str, value: Any) -> None:
    found = database.execute(f"SELECT {convert_text('t', kind)} FROM (SELECT ? AS t)", [text]).fetchone()[0]
    assert found == value or str(found) == str(value) or float(found) == value


@pytest.mark.parametrize(
    ("kind", "sure", "unsure"),
    [
        ("double", ["1.5", "-2e10", "nan", "Inf", "oops", ""], ["3d", "1e300", "0x1p3", " 1"]),
        ("float", ["1.5"], ["1e30"]),
        ("date", ["2024-05-01", "none"], ["2024-5-1", "2024", "1500-01-01"]),
        ("timestamp", ["2024-05-01T10:00:00Z", "2024-05-01 10:00:00+01:00"], ["2024-05-01 10:00:00", "2024-05-01"]),
        ("decimal(9,2)", ["1,0", "x"], ["٣"]),
    ],
)
def test_what_is_not_certain_of_a_text_is_said(database, kind: str, sure: list[str], unsure: list[str]) -> None:
    asked = [
        (text, database.execute(f"SELECT {make_certainty_check('t', kind, {})} FROM (SELECT ? AS t)", [text]).fetchone()[0])
        for text in sure + unsure
    ]
    assert asked == [(text, True) for text in sure] + [(text, False) for text in unsure]


def test_a_time_without_zone_is_certain_where_the_session_s_zone_is_utc(database) -> None:
    asked = f"SELECT {make_certainty_check('t', 'timestamp', {'timezone': 'Etc/UTC'})} FROM (SELECT '2024-05-01 10:00:00' AS t)"
    assert database.execute(asked).fetchone() == (True,)


def test_cells_are_certain_where_quotes_stand_around_them_alone() -> None:
    assert Csv("csv").is_certain([b'a,"b,c",', b'"",d'], {})
    assert not Csv("csv").is_certain([b'a,5" pipe'], {})
    assert not Csv("csv").is_certain([b'a,"b ""c"""'], {})
    assert Csv("csv").is_certain([b'a,"b ""c"""'], {"escape": '"'})


def test_what_is_not_written_is_null_and_empty_quotes_are_the_empty_value() -> None:
    assert cut([',"",NA'], ["x", "y", "z"], nullvalue="NA") == [(None, "", None)]
    assert cut([',"",a'], ["x", "y", "z"], emptyvalue="E") == [(None, "E", "a")]


def test_the_column_for_bad_records_is_no_column_of_a_line() -> None:
    assert cut(["1,2", "1"], ["bad", "x", "y"], columnnameofcorruptrecord="bad") == [(None, "1", "2"), ("1", "1", None)]


def test_a_separator_may_be_written_as_two_characters() -> None:
    assert cut(["1\t2"], ["x", "y"], sep="\\t") == [("1", "2")]


def test_columns_of_text_whose_names_differ_in_case_alone_have_their_own_values(database, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,9\n2,8\n")
    shape, file = Shape("csv", (), (("a", "int"), ("A", "int"))), ReadFile(0, local(path), block_of(path), {})
    assert rows(database, Reader().make_table(database, shape, [file])) == [(0, 0, 1, 1, 9), (0, 1, 2, 2, 8)]
    with pytest.raises(UnsupportedError, match="differs from it in case alone"):
        Reader().make_query(database, shape, [file], columns=["A"])
