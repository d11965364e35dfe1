"""Formats by their names: what is not known has numbers and no values."""

import pytest

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.files.formats import get_format
from headwater.graph.files.formats.base import Format
from headwater.graph.files.read_files import ReadFile
from headwater.graph.files.reader import Reader
from headwater.graph.files.shapes import Shape
from headwater.graph.records import block_of
from tests.graph.trace.local import local

KNOWN = ("avro", "csv", "json", "local", "orc", "parquet", "text")


@pytest.mark.parametrize("name", KNOWN)
def test_each_known_format_has_a_module_of_its_own(name: str) -> None:
    found = get_format(name)
    assert found.name == name
    assert type(found) is not Format
    assert get_format(name) is found


def test_records_of_an_unknown_format_have_numbers_and_no_values(tmp_path) -> None:
    path = tmp_path / "a.tape"
    path.write_bytes(b"x")
    file, shape = ReadFile(0, local(path), block_of(path), {}), Shape("tape", (), (("a", "string"),))
    tape = get_format("tape")
    assert tape.unreadable_reason == "records of the format tape are not readable here"
    assert tape.describe_numbering({}) == get_format("tape").describe_numbering({"x": "y"}) != get_format("parquet").describe_numbering({})
    assert tape.find_line_numbers(Reader(), file, shape) is None
    with pytest.raises(UnsupportedError, match="format tape are not readable here"):
        tape.make_query(Reader(), None, shape, [file])  # type: ignore[arg-type]  # it is refused before anything is asked
    with pytest.raises(UnsupportedError, match="tape"):
        tape.find_first_of_split(Reader(), file, shape, 10)


def test_the_name_of_a_format_never_becomes_a_module() -> None:
    for name in ("base", "lined", "..session", "os", "csv:Csv", ""):
        assert type(get_format(name)) is Format


def _ends(source: str, sink: str, **options: str) -> tuple[Source, Sink]:
    dataset = {"namespace": "file", "name": "/d"}
    columns = [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]
    read = [{**column, "attr": number} for number, column in enumerate(columns)]
    return (
        Source.from_json({"source": 0, "dataset": dataset, "path": "file:/d", "format": source, "options": options, "columns": columns,
                          "files": [], "partitionColumns": []}, "$"),
        Sink.from_json({"boundary": 0, "dataset": dataset, "path": "file:/d", "format": sink, "mode": "overwrite", "options": {},
                        "columns": read, "files": [], "partitionColumns": []}, "$"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "sink", "names"),
    [
        ("parquet", "parquet", {"a"}),
        ("csv", "csv", {"a"}),
        ("text", "csv", {"a", "b"}),
        ("json", "json", {"a", "b"}),
        ("tape", "tape", None),
        ("parquet", "tape", None),
    ],
)
def test_columns_are_followed_to_their_writer_as_far_as_the_format_tells(source: str, sink: str, names: set[str] | None) -> None:
    read, wrote = _ends(source, sink)
    assert get_format(source).translate_to_writer(read, wrote, {"a"}) == names
