"""Medians and quantiles with 95 % bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

_RESAMPLES = 4000
_SEED = 20130212


@dataclass(frozen=True)
class Interval:
    """An estimate, and the bounds that contain 95 % of its resamples."""

    value: float
    low: float
    high: float


def quantile(samples: Sequence[float], q: float) -> Interval:
    """Return the `q` quantile of the samples (0.5: the median), by the percentile bootstrap. The same samples give the same interval.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("an interval needs samples; there are none")
    values = np.asarray(samples, dtype=float)
    picks = np.random.default_rng(_SEED).integers(0, len(values), size=(_RESAMPLES, len(values)))
    low, high = np.quantile(np.quantile(values[picks], q, axis=1), [0.025, 0.975])
    return Interval(float(np.quantile(values, q)), float(low), float(high))


def resampled(series: Sequence[Sequence[float]], combined: Callable[[Sequence[float]], float]) -> Interval:
    """Return the interval of `combined` over the medians of several series. Each series is resampled separately.

    Raises:
        ValueError: there is no series, or a series without samples.
    """
    if not series or not all(series):
        raise ValueError("an interval needs samples; there are none")
    random = np.random.default_rng(_SEED)
    picked = []
    for samples in series:
        values = np.asarray(samples, dtype=float)
        picked.append(np.median(values[random.integers(0, len(values), size=(_RESAMPLES, len(values)))], axis=1))
    found = [combined(medians) for medians in np.stack(picked, axis=1)]
    low, high = np.quantile(found, [0.025, 0.975])
    return Interval(float(combined([float(np.median(samples)) for samples in series])), float(low), float(high))
