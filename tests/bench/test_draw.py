"""Columns as PigMix's generator draws them."""

from collections import Counter

import numpy as np
import pytest

from bench.data.draw import bags, maps, named, numbered, strings, uniform, with_nulls, zipf

ROWS = 60_000


@pytest.fixture
def random():
    return np.random.default_rng(7)


def test_the_second_is_half_as_frequent_as_the_first_in_zipf(random):
    counts = Counter(zipf(random, 1000, ROWS).tolist())
    assert [rank for rank, _ in counts.most_common(3)] == [0, 1, 2]
    assert counts[0] / counts[1] == pytest.approx(2, rel=0.1)
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.2)
    assert max(counts) < 1000


def test_uniform_values_are_as_frequent(random):
    counts = Counter(uniform(random, 2, ROWS).tolist())
    assert set(counts) == {0, 1}
    assert counts[0] / counts[1] == pytest.approx(1, rel=0.05)


def test_a_value_has_one_string(random):
    column = named(random, zipf, size=20, cardinality=50, rows=ROWS).to_pylist()
    assert len(set(column)) == 50
    assert {len(text) for text in column} <= set(range(14, 26))


def test_a_value_has_one_number(random):
    assert len(numbered(random, zipf, cardinality=50, rows=ROWS).unique()) == 50


def test_so_many_are_null(random):
    column = with_nulls(random, strings(random, 5, ROWS), 20)
    assert column.null_count / ROWS == pytest.approx(0.2, abs=0.01)


def test_maps_begin_with_a_and_bags_hold_five_to_nine(random):
    column = bags(random, lambda count: maps(random, 10, count), 200).to_pylist()
    assert {len(bag) for bag in column} == {5, 6, 7, 8, 9}
    entries = [dict(entry) for bag in column for entry in bag]
    assert {len(entry) for entry in entries} == set(range(6, 26))
    assert all(list(entry)[:6] == list("abcdef") for entry in entries)


def test_the_same_seed_draws_the_same():
    one, other = (strings(np.random.default_rng(1), 10, 100) for _ in range(2))
    assert one.equals(other)
