"""Figures: what a measure makes of the rounds' samples, and when that may be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from bench.intervals import Interval, quantile, ratio, resampled
from bench.suite import Measure, Plan, Sample, Statistic

Samples = Mapping[str, Mapping[str, Sequence[Sample]]]
_TOLERANCE = 0.03
_QUANTILES = {Statistic.P50: 0.50, Statistic.P95: 0.95, Statistic.P99: 0.99}
_OVER_CASES = (Statistic.GEOMEAN, Statistic.WORST)
_COUNTS = (Statistic.SHARE, Statistic.MEDIAN, Statistic.MOST)


@dataclass(frozen=True)
class Figure:
    """A case of the results: the figure, its control and whether it may be used and meets its target (null: there is none).

    A count needs no quiet machine: its control is empty. `detail` names the case that a worst one is.
    """

    name: str
    measure: str
    unit: str
    value: float
    low: float
    high: float
    n: int
    control: Mapping[str, float]
    usable: bool
    target: float | None
    met: bool | None
    detail: str | None = None


def figure(measure: Measure, plan: Plan, samples: Samples) -> Figure | None:
    """A measure, from the samples of all rounds; None where the arm counted nothing of the kind."""
    if measure.statistic in _COUNTS:
        return _count(measure, samples)
    arm, base, control = (_times(samples[name], measure) for name in (measure.arm, plan.baseline, plan.control))
    detail = None
    if measure.statistic is Statistic.GEOMEAN:
        found, against = _mean(arm, base), _mean(control, base)
    elif measure.statistic is Statistic.WORST:
        ratios = {case: ratio(arm[case], base[case]) for case in measure.cases}
        detail = max(ratios, key=lambda case: ratios[case].value)
        found, against = ratios[detail], ratio(control[detail], base[detail])
    elif measure.statistic is Statistic.RATIO:
        found, against = ratio(_summed(arm), _summed(base)), ratio(_summed(control), _summed(base))
    else:
        found = quantile([1000 * seconds for seconds in _summed(arm)], _QUANTILES[measure.statistic])
        against = ratio(_summed(control), _summed(base))
    relative = measure.statistic not in _QUANTILES
    over = f", {measure.statistic.value}" if measure.statistic in _OVER_CASES else ""
    what = f"{measure.arm} ÷ {plan.baseline}{over}" if relative else measure.statistic.value
    rounds = min(len(times) for times in arm.values())
    return _figure(measure, what, "×" if relative else "ms", found, against, n=rounds, detail=detail)


def quiet(control: Interval) -> bool:
    """Whether a control's interval holds 1 and stays within ±3 % of it."""
    return control.low <= 1 <= control.high and control.low >= 1 - _TOLERANCE and control.high <= 1 + _TOLERANCE


def medians(samples: Samples) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """The median of every quantity, by arm and case."""
    return {arm: {case: _medians(rounds) for case, rounds in cases.items()} for arm, cases in samples.items()}


def rounded(value: float) -> float:
    """Four digits that count."""
    return float(f"{value:.4g}")


def _medians(rounds: Sequence[Sample]) -> dict[str, float]:
    names = dict.fromkeys(name for sample in rounds for name in sample)
    return {name: rounded(float(np.median(_values(rounds, name)))) for name in names}


def _count(measure: Measure, samples: Samples) -> Figure | None:
    cases = samples[measure.arm]
    found = {case: _values(cases[case], measure.quantity) for case in measure.cases}
    counted = {case: float(np.median(values)) for case, values in found.items() if values}
    detail = None
    if measure.statistic is Statistic.SHARE:
        assert measure.per is not None  # noqa: S101  # a share says of what
        per = {case: _values(cases[case], measure.per) for case in counted}
        under = sum(float(np.median(values)) for values in per.values() if values)
        value = sum(counted.values()) / under if under else None
        what = f"{measure.quantity} ÷ {measure.per}"
    else:
        over: Callable[[list[float]], float] = max if measure.statistic is Statistic.MOST else lambda all_: float(np.median(all_))
        value = over(list(counted.values())) if counted else None
        detail = max(counted, key=lambda case: counted[case]) if counted and measure.statistic is Statistic.MOST else None
        what = f"{measure.quantity}, {measure.statistic.value}"
    if value is None:
        return None
    return _figure(measure, f"{measure.arm}: {what}", measure.unit, Interval(value, value, value), None, n=len(counted), detail=detail)


def _figure(measure: Measure, what: str, unit: str, found: Interval, control: Interval | None, *, n: int, detail: str | None) -> Figure:
    usable = control is None or quiet(control)
    return Figure(
        name=measure.name,
        measure=what,
        unit=unit,
        value=rounded(found.value),
        low=rounded(found.low),
        high=rounded(found.high),
        n=n,
        control={} if control is None else {name: rounded(value) for name, value in asdict(control).items()},
        usable=usable,
        target=measure.target,
        met=None if measure.target is None else usable and found.value <= measure.target,
        detail=detail,
    )


def _times(cases: Mapping[str, Sequence[Sample]], measure: Measure) -> dict[str, list[float]]:
    return {case: [sample[measure.quantity] for sample in cases[case]] for case in measure.cases}


def _values(rounds: Sequence[Sample], quantity: str) -> list[float]:
    return [sample[quantity] for sample in rounds if quantity in sample]


def _summed(times: Mapping[str, Sequence[float]]) -> list[float]:
    return [sum(seconds) for seconds in zip(*times.values(), strict=True)]


def _mean(over: Mapping[str, Sequence[float]], under: Mapping[str, Sequence[float]]) -> Interval:
    """The geometric mean of the cases' ratios."""
    pairs = [[a / b for a, b in zip(over[case], under[case], strict=True)] for case in over]
    return resampled(pairs, lambda ratios: math.exp(float(np.mean(np.log(ratios)))))
