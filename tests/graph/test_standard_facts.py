"""Standard facets as facts, whatever a producer states in them."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.graph.model import Node, NodeKind
from headwater.graph.standard_facts import (
    LONGEST,
    Size,
    failure_of,
    input_sizes_of,
    program_of,
    quality_summary_of,
    query_of,
    size_of_version,
    source_place_of,
)


def version(**properties: Any) -> Node:
    return Node("version:file:/data/x:r1", NodeKind.VERSION, "r1", properties)


def test_a_size_is_what_was_counted_else_what_the_producer_states() -> None:
    stated = {"rowCount": 855_599, "size": 1_000, "fileCount": 3}
    at = "2026-01-01T00:00:00.000000Z"
    assert size_of_version(version(outputStatistics=stated, writtenAt=at)) == Size(855_599, 1_000, 3, "run:r1", at)
    assert size_of_version(version(outputStatistics=stated, rows=7)) == Size(7, 1_000, 3, "run:r1")
    assert size_of_version(version()) is None


@pytest.mark.parametrize("value", [-1, True, "many", "-3", "1e9", [], {}, None, 2**60, float("nan"), "9" * 40])
def test_what_is_no_number_of_rows_is_not_shown(value: Any) -> None:
    assert size_of_version(version(outputStatistics={"rowCount": value})) is None


def test_numbers_may_be_texts_and_fractions() -> None:
    assert size_of_version(version(outputStatistics={"rowCount": "12", "size": 3.0})) == Size(12, 3, None, "run:r1")


def test_the_size_of_an_input_is_in_either_facet() -> None:
    read = {"inputFacets": {"inputStatistics": {"rowCount": 5, "size": 50}}}
    measured = {"inputFacets": {"dataQualityMetrics": {"rowCount": 6}}}
    found = input_sizes_of({"input:dataset:a:b": read, "input:dataset:a:c": measured, "input:dataset:a:d": {}, "state": "FAIL"}, "run:1")
    assert found == {"dataset:a:b": Size(5, 50, None, "run:1"), "dataset:a:c": Size(6, None, None, "run:1")}


def test_a_query_a_program_and_an_error_have_their_texts() -> None:
    query = query_of({"sql": {"query": "SELECT 1", "dialect": "postgres"}})
    assert query is not None
    assert (query.query.text, query.dialect, query.query.is_cut) == ("SELECT 1", "postgres", False)
    program = program_of({"sourceCode": {"language": "python", "sourceCode": "print(1)"}})
    assert program is not None
    assert (program.code.text, program.language) == ("print(1)", "python")
    failure = failure_of({"errorMessage": {"message": "no", "programmingLanguage": "JAVA", "stackTrace": "at A\r\nat B"}, "error": "no"})
    assert failure is not None
    assert failure.stack_trace is not None
    assert (failure.message.text, failure.language, failure.stack_trace.text) == ("no", "JAVA", "at A\nat B")


def test_long_texts_are_cut_and_say_so() -> None:
    query = query_of({"sql": {"query": "x" * (LONGEST + 1)}})
    assert query is not None
    assert (len(query.query.text), query.query.is_cut) == (LONGEST, True)


def test_control_characters_and_turned_text_are_replaced() -> None:
    query = query_of({"sql": {"query": "a\x00b\x1b[31m\u202ec\n\td"}})
    assert query is not None
    assert query.query.text == "a\ufffdb\ufffd[31m\ufffdc\n\td"


@pytest.mark.parametrize("stated", [None, "text", 3, [], {"query": 3, "message": [], "sourceCode": {}, "url": 1, "assertions": "x"}])
def test_facets_of_another_form_state_nothing(stated: Any) -> None:
    facets = ("sql", "sourceCode", "sourceCodeLocation", "errorMessage", "dataQualityAssertions", "dataQualityMetrics")
    properties = dict.fromkeys(facets, stated)
    for read in (query_of, program_of, source_place_of, failure_of, quality_summary_of):
        assert read(properties) is None


@pytest.mark.parametrize(
    ("stated", "url"),
    [
        ("https://example.org/a.sql", "https://example.org/a.sql"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("//example.org/x", None),
        ("https:///x", None),
        ("git@example.org:a/b.git", None),
        ("http://[::1", None),
    ],
)
def test_only_an_address_of_the_web_is_a_link(stated: str, url: str | None) -> None:
    place = source_place_of({"sourceCodeLocation": {"type": "git", "url": stated, "path": "a.sql", "version": "1f"}})
    assert place is not None
    assert (place.url, place.stated, place.path, place.version) == (url, stated, "a.sql", "1f")


def test_quality_counts_what_passed_and_what_failed() -> None:
    assertions = [{"assertion": "not_null", "success": True}, {"assertion": "unique", "success": False}, {"assertion": "odd"}, "x"]
    quality = quality_summary_of({"dataQualityAssertions": {"assertions": assertions}, "dataQualityMetrics": {"rowCount": 4}})
    assert quality is not None
    assert (quality.passed, quality.failed, quality.rows, quality.bytes) == (1, 1, 4, None)
