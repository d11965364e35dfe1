"""Node ids: readable, reversible, and no id for what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph.model import NodeKind, bare_name, kind_of, node_id, parse_id, run_key, run_uuid

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


@pytest.mark.parametrize("form", ["{}", "urn:uuid:{}", "URN:UUID:{}", "{{{}}}"])
@pytest.mark.parametrize("dashes", [True, False])
def test_a_run_is_one_run_however_its_id_is_written(form: str, dashes: bool) -> None:
    run = "0190a6f2-0000-7000-8000-00000000000b"
    written = form.format(run if dashes else run.replace("-", ""))
    assert run_key(written) == run_key(written.upper()) == run


@pytest.mark.parametrize(
    "text", ["", "x", "0190a6f2-0000-7000-8000-00000000000", "0190a6f200007000-8000-00000000000b", "{0190a6f2-0000-7000-8000-00000000000b",
             "0x90a6f2000070008000000000000000", "0190a6f2_0000_7000_8000_00000000000b", "٠190a6f2-0000-7000-8000-00000000000b"],
)  # fmt: skip
def test_what_is_no_uuid_stays_as_it_is(text: str) -> None:
    assert run_uuid(text) is None
    assert run_key(text) == text.lower()
