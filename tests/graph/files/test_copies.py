"""Copies of data files without some records: every other record stays as it is."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import UnsupportedError
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import FileReader, ReadFile
from headwater.graph.files.shapes import Shape
from headwater.graph.records import block_of
from tests.graph.files.test_lines import TEXTS
from tests.graph.trace.local import local


def _copy(path: Path, shape: Shape, rows: list[int]) -> tuple[int, Path]:
    target = path.with_name("copy")
    file = ReadFile(0, local(path), block_of(path), {})
    return get_format(shape.format).write_copy(FileReader(), shape, file, path, target, rows), target


@given(text=TEXTS, rows=st.sets(st.integers(0, 12)), header=st.booleans(), comment=st.booleans())
def test_a_copy_of_csv_has_every_other_byte(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, rows: set[int], header: bool, comment: bool
):
    path = tmp_path_factory.mktemp("copies") / "a.csv"
    path.write_bytes(text)
    options = {"header": str(header).lower(), **({"comment": "#"} if comment else {})}
    shape = Shape("csv", tuple(options.items()), (("a", "string"), ("b", "string")), ())
    rules = get_format("csv").get_rules(dict(shape.options))  # type: ignore[attr-defined]
    lines = FileReader().find_lines(ReadFile(0, local(path), block_of(path), {}), rules)
    spans = list(zip(lines.begins.tolist(), lines.ends.tolist(), strict=True))
    chosen = sorted(row for row in rows if row < len(spans))
    count, target = _copy(path, shape, chosen)
    kept = [text[begin:end] for row, (begin, end) in enumerate(spans) if row not in chosen]
    copied = target.read_bytes()
    after = FileReader().find_lines(ReadFile(0, local(target), block_of(target), {}), rules)
    assert count == len(kept)
    if not (header and len(spans) == 0):
        assert [copied[begin:end] for begin, end in zip(after.begins.tolist(), after.ends.tolist(), strict=True)] == kept
    gone = sum(end - begin for row, (begin, end) in enumerate(spans) if row in chosen)
    assert len(text) - gone - 2 * len(chosen) <= len(copied) <= len(text) - gone


def test_a_copy_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a":1}\n\n{"a":2}\n{"a":3}')
    count, target = _copy(path, Shape("json", (), (("a", "bigint"),), ()), [1])
    assert (count, target.read_text()) == (2, '{"a":1}\n\n{"a":3}')


def test_a_copy_of_text_leaves_no_part_of_a_line_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\r\nb\r\n\r\nc")
    count, target = _copy(path, Shape("text", (), (("value", "string"),), ()), [1])
    assert (count, target.read_bytes()) == (3, b"a\r\n\r\nc")


@pytest.mark.parametrize("rows", [[0], [2, 3, 4, 5], list(range(10)), [9]])
def test_a_copy_of_parquet_has_the_same_types_codecs_and_metadata(tmp_path: Path, rows: list[int]) -> None:
    table = pa.table({
        "i": pa.array(range(10), pa.int32()),
        "s": pa.array([None if n % 3 == 0 else f"text {n}" for n in range(10)]),
        "d": pa.array([decimal.Decimal(n) / 4 for n in range(10)], pa.decimal128(9, 2)),
        "t": pa.array([dt.datetime(2026, 1, n + 1, tzinfo=dt.UTC) for n in range(10)], pa.timestamp("us", "UTC")),
        "l": pa.array([[n, None] for n in range(10)], pa.list_(pa.int64())),
    }).replace_schema_metadata({"org.apache.spark.version": "4.1.0"})  # fmt: skip
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=4, compression="zstd", store_decimal_as_integer=True, store_schema=False)
    count, target = _copy(path, Shape("parquet", (), (("i", "int"),), ()), rows)
    kept = [n for n in range(10) if n not in rows]
    before, after = pq.ParquetFile(path), pq.ParquetFile(target)
    assert count == len(kept)
    assert after.read().to_pylist() == [table.to_pylist()[n] for n in kept]
    assert after.schema.equals(before.schema)
    assert after.metadata.metadata == before.metadata.metadata
    if kept:
        assert after.metadata.row_group(0).column(0).compression == "ZSTD"


def test_timestamps_of_spark_stay_as_they_are(tmp_path: Path) -> None:
    times = [dt.datetime(2026, 1, n + 1, 1, 2, 3, 456_789, tzinfo=dt.UTC) for n in range(4)]
    times[2] = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)  # beyond nanoseconds
    path = tmp_path / "a.parquet"
    table = pa.table({"t": pa.array([time.replace(tzinfo=None) for time in times], pa.timestamp("us"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=False)
    _, target = _copy(path, Shape("parquet", (), (("t", "timestamp"),), ()), [1])
    read = pq.ParquetFile(target, coerce_int96_timestamp_unit="us").read()["t"].to_pylist()
    assert [time.replace(tzinfo=dt.UTC) for time in read] == [times[0], times[2], times[3]]
    assert pq.ParquetFile(target).schema.column(0).physical_type == "INT96"


@pytest.mark.parametrize(
    ("name", "format_", "options"),
    [("a.csv.gz", "csv", {}), ("a.csv", "csv", {"multiLine": "true"}), ("a.orc", "orc", {}), ("a.json", "json", {})],
)
def test_what_cannot_be_copied_for_certain_is_refused(tmp_path: Path, name: str, format_: str, options: dict[str, str]) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"1\n2\n") if name.endswith("gz") else b'[{"a":1},{"a":2}]\n')
    with pytest.raises(UnsupportedError) as refusal:
        _copy(path, Shape(format_, tuple(options.items()), (("a", "int"),), ()), [0])
    assert name == "a.json" or "yourself" in str(refusal.value.hint)
