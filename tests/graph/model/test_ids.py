"""Node ids: readable, reversible, and no id for what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph.model import NodeKind, bare_name, kind_of, node_id, parse_id

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.sampled_from(NodeKind), st.lists(TEXT, min_size=1, max_size=4))
def test_an_id_can_be_read_back(kind: NodeKind, parts: list[str]) -> None:
    identifier = node_id(kind, *parts)
    assert parse_id(identifier) == (kind, tuple(parts))
    assert kind_of(identifier) is kind
    assert identifier.isascii()


def test_an_id_is_readable() -> None:
    assert node_id("dataset", "file", "/data/weather.csv") == "dataset:file:/data/weather.csv"
    assert node_id("dataset", "s3://bucket", "a b") == "dataset:s3%3A//bucket:a%20b"


@pytest.mark.parametrize("text", ["", "dataset", ":x"])
def test_a_text_without_kind_or_part_is_no_id(text: str) -> None:
    with pytest.raises(InvalidQueryError, match="not a node id"):
        parse_id(text)


@pytest.mark.parametrize("text", ["", "dataset", "table:x", "DATASET:x:y"])
def test_only_a_known_kind_can_be_stored(text: str) -> None:
    with pytest.raises(InvalidInputError, match="platform, dataset, version"):
        kind_of(text)


def test_a_bare_node_is_named_by_its_last_part_and_a_file_by_its_path() -> None:
    assert bare_name(node_id("column", "file", "/a:b", "wind gust")) == "wind gust"
    assert bare_name(node_id("partition", "file:/a/b.parquet", "10", "17")) == "file:/a/b.parquet"
