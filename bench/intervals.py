"""Medians and quantiles with 95 % bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_RESAMPLES = 4000
_SEED = 20130212


@dataclass(frozen=True)
class Interval:
    """An estimate, and the bounds between which 95 % of its resamples lie."""

    value: float
    low: float
    high: float


def quantile(samples: Sequence[float], q: float) -> Interval:
    """The `q` quantile of the samples (0.5: the median), by the percentile bootstrap. The same samples give the same interval.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("an interval needs samples; there are none")
    values = np.asarray(samples, dtype=float)
    picks = np.random.default_rng(_SEED).integers(0, len(values), size=(_RESAMPLES, len(values)))
    low, high = np.quantile(np.quantile(values[picks], q, axis=1), [0.025, 0.975])
    return Interval(float(np.quantile(values, q)), float(low), float(high))


def ratio(over: Sequence[float], under: Sequence[float]) -> Interval:
    """The median of the ratios of pairs: `over[i]` and `under[i]` come from the same round.

    Raises:
        ValueError: the two do not pair up.
    """
    return quantile([a / b for a, b in zip(over, under, strict=True)], 0.5)
