"""Which columns of a record its writer is asked for: by name without case, of CSV by position."""

from headwater.graph.associations import Sink, Source
from headwater.graph.associations.parts import DatasetName, SinkColumn, SourceColumn
from headwater.graph.trace.links import attributes_of, names_at_writer

_LAKE = DatasetName(namespace="file", name="/t")


def sink(*names: str, format_: str = "parquet") -> Sink:
    columns = tuple(SinkColumn(name=name, type="int", attr=place) for place, name in enumerate(names))
    return Sink(boundary=0, dataset=_LAKE, path="file:/t", format=format_, mode="append", columns=columns)


def source(*names: str, format_: str = "parquet", **options: str) -> Source:
    columns = tuple(SourceColumn(name=name, type="int") for name in names)
    return Source(source=0, dataset=_LAKE, path="file:/t", format=format_, options=options, columns=columns)


def test_a_name_means_every_column_that_differs_in_case_alone() -> None:
    assert attributes_of(sink("a", "b", "A"), frozenset({"a"})) == {0, 2}


def test_a_column_that_was_not_written_needs_nothing_of_the_record() -> None:
    assert attributes_of(sink("a", "b"), frozenset({"a", "z"})) == {0}
    assert attributes_of(sink("a", "b"), frozenset({"z"})) == frozenset()


def test_all_columns_are_asked_for_where_those_written_are_not_known() -> None:
    assert attributes_of(sink(), frozenset({"a"})) is None
    assert attributes_of(sink("a"), None) is None


def test_columns_of_csv_go_by_position() -> None:
    read = source("x", "y", "Y", format_="csv")
    assert names_at_writer(read, sink("a", "b", "c", format_="csv"), frozenset({"x"})) == {"a"}
    assert names_at_writer(read, sink("a", "b", "c", format_="csv"), frozenset({"y"})) == {"b", "c"}


def test_columns_that_may_have_been_found_by_field_ids_are_not_known_by_name() -> None:
    assert names_at_writer(source("x", "y", columnsby="id"), sink("y", "x"), frozenset({"x"})) is None
    assert names_at_writer(source("x", "y"), sink("y", "x"), frozenset({"x"})) == {"x"}
