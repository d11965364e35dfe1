"""The columns of a record for the question to its writer: by name without case, in CSV by position."""

from dataclasses import replace

import pytest

from headwater.graph.associations import Sink, Source
from headwater.graph.associations.parts import DatasetName, SinkColumn, SourceColumn
from headwater.graph.trace.links import find_attributes, translate_to_writer

_LAKE = DatasetName(namespace="file", name="/t")


def sink(*names: str, format_: str = "parquet", **options: str) -> Sink:
    columns = tuple(SinkColumn(name=name, type="int", attr=place) for place, name in enumerate(names))
    return Sink(boundary=0, dataset=_LAKE, path="file:/t", format=format_, mode="append", columns=columns, options=options)


def source(*names: str, format_: str = "parquet", **options: str) -> Source:
    columns = tuple(SourceColumn(name=name, type="int") for name in names)
    return Source(source=0, dataset=_LAKE, path="file:/t", format=format_, options=options, columns=columns)


def test_a_name_means_every_column_that_differs_in_case_alone() -> None:
    assert find_attributes(sink("a", "b", "A"), frozenset({"a"})) == {0, 2}


def test_a_column_that_was_not_written_needs_nothing_of_the_record() -> None:
    assert find_attributes(sink("a", "b"), frozenset({"a", "z"})) == {0}
    assert find_attributes(sink("a", "b"), frozenset({"z"})) == frozenset()


def test_all_columns_are_asked_for_where_those_written_are_not_known() -> None:
    assert find_attributes(sink(), frozenset({"a"})) is None
    assert find_attributes(sink("a"), None) is None


def test_columns_of_csv_go_by_position() -> None:
    read = source("x", "y", "Y", format_="csv")
    assert translate_to_writer(read, sink("a", "b", "c", format_="csv"), frozenset({"x"})) == {"a"}
    assert translate_to_writer(read, sink("a", "b", "c", format_="csv"), frozenset({"y"})) == {"b", "c"}


def test_columns_that_may_have_been_found_by_field_ids_are_not_known_by_name() -> None:
    assert translate_to_writer(source("x", "y", columnsby="id"), sink("y", "x"), frozenset({"x"})) is None
    assert translate_to_writer(source("x", "y"), sink("y", "x"), frozenset({"x"})) == {"x"}


@pytest.mark.parametrize("written", ["csv", "text", "json"])
def test_a_line_read_as_text_is_of_all_columns_that_were_written(written: str) -> None:
    read = source("value", format_="text")
    assert translate_to_writer(read, sink("a", "b", format_=written), frozenset({"value"})) == {"a", "b"}
    assert translate_to_writer(source("x", "y", format_="csv"), sink("a", format_="text"), frozenset({"y"})) == {"a"}


def test_what_stands_in_folders_keeps_its_name_in_every_format() -> None:
    written = replace(sink("a", "b", "day", format_="text"), partition_columns=("day",))
    read = replace(source("value", "day", format_="text"), partition_columns=("day",))
    assert translate_to_writer(read, written, frozenset({"value"})) == {"a", "b"}
    assert translate_to_writer(read, written, frozenset({"day"})) == {"day"}


@pytest.mark.parametrize(
    ("wrote", "reads"),
    [({"sep": ";"}, {}), ({}, {"delimiter": "|"}), ({"quote": "'"}, {}), ({"escapequotes": "false"}, {}), ({"quote": ""}, {"quote": ""})],
)
def test_cells_that_are_cut_otherwise_than_they_were_written_may_be_of_any_column(wrote: dict[str, str], reads: dict[str, str]) -> None:
    read, written = source("x", "y", format_="csv", **reads), sink("a", "b", format_="csv", **wrote)
    assert translate_to_writer(read, written, frozenset({"x"})) == {"a", "b"}


def test_a_column_of_lines_that_do_not_fit_is_of_all_columns_and_takes_no_place() -> None:
    read = source("x", "_corrupt_record", "y", format_="csv")
    assert translate_to_writer(read, sink("a", "b", format_="csv"), frozenset({"_corrupt_record"})) == {"a", "b"}
    assert translate_to_writer(read, sink("a", "b", format_="csv"), frozenset({"y"})) == {"b"}
    named = source("x", "bad", format_="csv", columnnameofcorruptrecord="bad")
    assert translate_to_writer(named, sink("a", "b", format_="csv"), frozenset({"bad"})) == {"a", "b"}


def of_table(columns: dict[str, int | None]) -> tuple[Source, Sink]:
    """A table of Iceberg, as it is read and as it is written."""
    read = tuple(SourceColumn(name=name, type="int", id=field) for name, field in columns.items())
    written = tuple(SinkColumn(name=name, type="int", attr=place, id=field) for place, (name, field) in enumerate(columns.items()))
    return (
        Source(source=0, dataset=_LAKE, path="file:/t", format="iceberg", options={}, columns=read),
        Sink(boundary=0, dataset=_LAKE, path="file:/t", format="iceberg", mode="append", columns=written, options={}),
    )


def test_columns_of_iceberg_go_by_the_ids_of_their_fields() -> None:
    read, written = of_table({"new": 1, "b": 2})[0], of_table({"old": 1, "b": 2})[1]
    assert translate_to_writer(read, written, frozenset({"new"})) == {"old"}
    assert translate_to_writer(read, of_table({"c": 3})[1], frozenset({"new"})) == frozenset()  # the column is younger than the file
    assert translate_to_writer(read, of_table({"old": 1, "b": None})[1], frozenset({"new"})) is None
    assert translate_to_writer(of_table({"new": None})[0], written, frozenset({"new"})) is None


@pytest.mark.parametrize("number", [None, 2**31 - 108])
def test_the_number_of_a_row_that_a_rewrite_writes_is_no_column_of_another(number: int | None) -> None:
    read, written = of_table({"a": 1, "b": 2})[0], of_table({"a": 1, "b": 2, "_row_id": number})[1]
    assert translate_to_writer(read, written, frozenset({"a"})) == {"a"}
    assert translate_to_writer(read, written, frozenset({"a", "_row_id"})) == {"a", "_row_id"}
    assert translate_to_writer(of_table({"_row_id": 2**31 - 108})[0], written, frozenset({"_row_id"})) == {"_row_id"}
    assert translate_to_writer(read, of_table({"a": 1})[1], frozenset({"_row_id"})) == frozenset()  # the table gave it by the place
    assert translate_to_writer(read, written, frozenset({"_partition"})) is None  # its source columns are unknown
    assert translate_to_writer(of_table({"_row_id": 7})[0], of_table({"x": 7})[1], frozenset({"_row_id"})) == {"x"}  # a table's own
