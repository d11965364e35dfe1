import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.intervals import quantile

positive = st.floats(min_value=0.01, max_value=1e4)


def test_a_constant_has_an_interval_of_no_width():
    found = quantile([2.0] * 9, 0.5)
    assert (found.value, found.low, found.high) == (2.0, 2.0, 2.0)


def test_the_median_of_known_values():
    assert quantile([5.0, 1.0, 3.0], 0.5).value == 3.0
    assert quantile([float(n) for n in range(1, 101)], 0.99).value == pytest.approx(99.01)


def test_no_samples_are_an_error():
    with pytest.raises(ValueError, match="none"):
        quantile([], 0.5)


@given(st.lists(positive, min_size=1, max_size=40))
def test_an_interval_holds_its_median_and_stays_within_the_samples(samples):
    found = quantile(samples, 0.5)
    assert math.isclose(found.value, statistics.median(samples))
    assert min(samples) <= found.low <= found.value * (1 + 1e-12)
    assert found.value * (1 - 1e-12) <= found.high <= max(samples)


def test_95_of_100_intervals_hold_the_true_median():
    random = np.random.default_rng(7)
    held = sum(found.low <= 1.0 <= found.high for found in (quantile(list(random.lognormal(0, 0.1, 25)), 0.5) for _ in range(200)))
    assert 180 <= held <= 199
