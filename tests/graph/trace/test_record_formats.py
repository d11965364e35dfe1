"""Values of records in XML and binary files, and of text in encodings: shown as they stand there, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import ReadFile
from headwater.graph.files.reader import Reader
from headwater.graph.files.shapes import Shape
from headwater.graph.records import block_of
from tests.graph.trace.local import local

XML = (("id", "bigint"), ("_kind", "string"), ("tag", "array<string>"), ("_VALUE", "string"))


def rows_of(path: Path, shape: Shape, columns: list[str] | None = None) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        database = Database(connection)
        file = ReadFile(0, local(path), block_of(path), {})
        select, parameters = Reader().make_query(database, shape, [file], None, columns)
        return [row[2:] for row in database.execute(f"SELECT * EXCLUDE (__line) FROM ({select}) ORDER BY __row", parameters).fetchall()]


def xml(tmp_path: Path, text: str, **options: str) -> list[tuple[Any, ...]]:
    path = tmp_path / "a.xml"
    path.write_text(text)
    return rows_of(path, Shape("xml", tuple({"rowtag": "row", **options}.items()), XML))


def test_elements_of_xml_are_shown_by_their_columns(tmp_path) -> None:
    text = '<rows><row kind="a"><id>1</id><tag>x</tag><tag> y </tag></row><other/><row><id/><tag><b>2</b></tag></row><row>own</row></rows>'
    assert xml(tmp_path, text) == [("1", "a", '["x", "y"]', None), ("", None, '{"b": "2"}', None), (None, None, None, "own")]
    assert xml(tmp_path, text, attributeprefix="@")[0][1] is None


@pytest.mark.parametrize(
    "text",
    [
        "<rows><row><row/></row></rows>",
        "<rows><!-- <row/> --><row/></rows>",
        "<rows><row/><x><![CDATA[<row>]]></x></rows>",
        "<rows><row/>",
        "<row/><row/>",
        '<rows xmlns:n="u"><row><n:id>1</n:id></row></rows>',
        '<?xml version="1.0" encoding="ISO-8859-1"?><rows><row/></rows>',
        "<row>" + "<a>" * 200 + "</a>" * 200 + "</row>",
        '<!DOCTYPE r [<!ENTITY a "' + "x" * 100000 + '">' + "".join(
            f'<!ENTITY {b} "{f"&{a};" * 100}">' for a, b in ("ab", "bc", "cd", "de")) + "]><rows><row>&e;</row></rows>",
    ],
    ids=range(9),
)  # fmt: skip
def test_xml_that_spark_may_have_cut_otherwise_is_refused(tmp_path, text) -> None:
    with pytest.raises(UnsupportedError):
        xml(tmp_path, text)


def test_nothing_is_computed_from_xml(tmp_path) -> None:
    (tmp_path / "a.xml").write_text("<rows><row/></rows>")
    with pytest.raises(UnsupportedError, match="nothing is computed"):
        rows_of(tmp_path / "a.xml", Shape("xml", (("rowtag", "row"),), XML), ["id"])


BINARY = Shape("binaryFile", (), (("path", "string"), ("modificationTime", "timestamp"), ("length", "bigint"), ("content", "binary")))


def test_a_binary_file_is_one_record(tmp_path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"\x00\xff")
    ((uri, modified, length, content),) = rows_of(path, BINARY)
    assert (uri, length, content) == (f"file:{path}", 2, b"\x00\xff")
    assert int(modified.timestamp() * 1000 - block_of(path).modified) % 3_600_000 == 0  # as an instant in UTC, without a zone
    assert rows_of(path, BINARY, ["length"])[0][2] == 2
    with pytest.raises(UnsupportedError, match="content"):
        rows_of(path, BINARY, ["content"])


def test_a_large_binary_file_is_not_shown_but_counted(tmp_path) -> None:
    path = tmp_path / "a.bin"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(UnsupportedError, match="not shown"):
        rows_of(path, BINARY)
    assert rows_of(path, BINARY, ["length"])[0][2] == 1 << 30
    assert get_format("binaryFile").unreadable_reason is None


@pytest.mark.parametrize(("kind", "content"), [("text", b"\xc3\xa9\n"), ("json", b'{"value": "\xc3\xa9"}\n')])
def test_nothing_is_computed_from_text_in_another_encoding(tmp_path, kind, content) -> None:
    (tmp_path / "a").write_bytes(content)
    columns = (("value", "string"),)
    assert rows_of(tmp_path / "a", Shape(kind, (), columns), ["value"]) == [("é",)]
    with pytest.raises(UnsupportedError, match="not certain"):
        rows_of(tmp_path / "a", Shape(kind, (("encoding", "ISO-8859-1"),), columns), ["value"])


def test_half_of_a_surrogate_pair_is_shown_and_never_certain(tmp_path) -> None:
    (tmp_path / "a").write_text('{"value": "\\ud800"}\n')
    assert rows_of(tmp_path / "a", Shape("json", (), (("value", "string"),))) == [("?",)]
    with pytest.raises(UnsupportedError, match="not certain"):
        rows_of(tmp_path / "a", Shape("json", (), (("value", "string"),)), ["value"])


def test_json_that_was_written_to_be_pretty_has_no_records(tmp_path) -> None:
    (tmp_path / "a").write_text('{\n  "value" : "x"\n}\n')
    with pytest.raises(UnsupportedError, match="pretty"):
        rows_of(tmp_path / "a", Shape("json", (("pretty", "true"),), (("value", "string"),)))
