"""Delta debugging finds 1-minimal sets of records, and says when it was ended before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.culprits.delta_debugging import SearchEndedError, minimize
from headwater.graph.culprits.record_set import RecordSet

ROWS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sets(st.integers(0, 40), min_size=1), min_size=1)


@given(ROWS, st.data())
def test_the_result_fails_and_no_record_of_it_can_be_left_out(rows: dict[str, set[int]], data: st.DataObject) -> None:
    records = RecordSet.of(rows)
    needed = data.draw(st.sets(st.sampled_from(list(records)), min_size=1, max_size=4))

    def fails(part: RecordSet) -> bool:
        return needed <= set(part)

    found = minimize(records, fails)
    assert found.is_minimal
    assert set(found.records) == needed


@given(ROWS, st.integers(2, 5))
def test_a_threshold_is_met_exactly(rows: dict[str, set[int]], least: int) -> None:
    records = RecordSet.of(rows)
    if len(records) >= least:
        assert len(minimize(records, lambda part: len(part) >= least).records) == least


def test_one_record_of_a_million_takes_few_tests() -> None:
    records = RecordSet.of_ranges([("a", 0, 1_000_000)])
    found = minimize(records, lambda part: any(first <= 777_777 < end for _, first, end in part.ranges))
    assert list(found.records) == [("a", 777_777)]
    assert found.tests <= 22


@pytest.mark.parametrize(("needed", "most"), [(2, 36), (3, 55), (8, 145)])
def test_a_few_records_of_many_are_found_in_a_few_tests_for_each(needed: int, most: int) -> None:
    wanted = {("a", row * 9_973 % 10_000) for row in range(1, needed + 1)}
    found = minimize(RecordSet.of_ranges([("a", 0, 10_000)]), lambda part: wanted <= set(part))
    assert (set(found.records), found.is_minimal) == (wanted, True)
    assert found.tests <= most


@given(ROWS)
def test_a_failure_that_needs_no_record_has_the_empty_minimum(rows: dict[str, set[int]]) -> None:
    found = minimize(RecordSet.of(rows), lambda part: True)
    assert (found.records, found.is_minimal, found.tests) == (RecordSet(()), True, 1)


def test_an_ended_search_returns_the_smallest_failing_set_so_far() -> None:
    records = RecordSet.of_ranges([("a", 0, 100)])
    tests: list[int] = []

    def fails(part: RecordSet) -> bool:
        tests.append(len(part))
        if len(tests) > 3:
            raise SearchEndedError
        return ("a", 3) in set(part)

    found = minimize(records, fails)
    assert not found.is_minimal
    assert len(found.records) == 25


@given(ROWS, st.integers(1, 9))
def test_parts_of_a_set_make_up_the_set(rows: dict[str, set[int]], parts: int) -> None:
    records = RecordSet.of(rows)
    split = records.split(parts)
    assert [record for part in split for record in part] == list(records)
    assert max(len(part) for part in split) - min(len(part) for part in split) <= 1
    assert RecordSet.of_ranges(each for part in split for each in part.ranges) == records


@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 3), (2, 9), (9, 9)])
def test_a_set_without_a_slice_has_the_others(start: int, end: int) -> None:
    records = RecordSet.of({"a": range(5), "b": range(7, 11)})
    listed = list(records)
    assert list(records.without_slice(start, end)) == listed[:start] + listed[end:]
