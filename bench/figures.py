"""Computes figures from the samples of all rounds, their usability, and their verdict about the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np

from bench.intervals import Interval, quantile, resampled
from bench.suite import IN_PART, PROCESSOR, SECONDS, UNCOMPILED, Measure, Plan, Sample, Statistic

Samples = Mapping[str, Mapping[str, Sequence[Sample]]]
_TOLERANCE, _REACH = 0.03, 0.01
_NARROW = 0.02
_FEWEST = 5  # minimum of rounds for a meaningful interval
_MOST_ROUNDS = 9_999
_QUANTILES = {Statistic.P50: 0.50, Statistic.P95: 0.95, Statistic.P99: 0.99}
_RATIOS = (Statistic.RATIO, Statistic.GEOMEAN, Statistic.WORST)
_COUNTS = (Statistic.SHARE, Statistic.MEDIAN, Statistic.MOST)
_QUANTITIES = {SECONDS: "wall", PROCESSOR: "processor", UNCOMPILED: "processor without compilation"}


class Verdict(StrEnum):
    """The verdict of a figure about its target. It is open if the interval contains the target, or if the machine was busy."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"


@dataclass(frozen=True)
class Figure:
    """A figure of the results, with its 95 % interval, its control, its usability, and its verdict.

    `n` is the number of rounds. A count needs no quiet machine, so its control is empty. `rounds_needed` estimates the rounds that would
    settle an open verdict (null: more rounds would not help). `detail` names the case of a worst value.
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
    verdict: Verdict | None
    rounds_needed: int | None = None
    detail: str | None = None


def figure(measure: Measure, plan: Plan, samples: Samples) -> Figure | None:
    """Compute a measure from the samples of all rounds. Returns None if an arm does not measure it."""
    if measure.statistic in _COUNTS:
        return _count(measure, samples)
    three = [samples[name] for name in (measure.arm, plan.baseline, plan.control)]
    if not any(measure.quantity in sample for cases in three for case in measure.cases for sample in cases[case]):
        return None
    arm, base, control = (_times(cases, measure) for cases in three)
    rounds = min(len(times) for times in arm.values())
    what = _QUANTITIES.get(measure.quantity, measure.quantity)
    if measure.statistic is Statistic.DIFFERENCE:
        less = [a - b for a, b in zip(_summed(arm), _summed(base), strict=True)]
        against = quantile([a - b for a, b in zip(_summed(control), _summed(base), strict=True)], 0.5)
        quiet_ = rounds >= _FEWEST and abs(against.value) <= _TOLERANCE * float(np.median(_summed(base)))
        return _figure(measure, f"{what}, {measure.arm} − {plan.baseline}", "s", quantile(less, 0.5), against, usable=quiet_, n=rounds)
    if measure.statistic in _QUANTILES:
        found = quantile([1000 * seconds for seconds in _summed(arm)], _QUANTILES[measure.statistic])
        against = resampled([*_pairs({"": _summed(control)}, {"": _summed(base)}).values()], _geometric_mean)
        usable = quiet(against, rounds)
        return _figure(measure, measure.statistic.value, "ms", found, against, usable=usable, n=rounds)
    detail = None
    if measure.statistic is Statistic.RATIO:
        arm, base, control = ({"": _summed(times)} for times in (arm, base, control))
    combined = max if measure.statistic is Statistic.WORST else _geometric_mean
    ratios, controls = _pairs(arm, base), _pairs(control, base)
    against = resampled([*controls.values()], _geometric_mean)
    if measure.statistic is Statistic.WORST:
        detail = max(ratios, key=lambda case: float(np.median(ratios[case])))
        against = quantile(controls[detail], 0.5)
    over = "" if measure.statistic is Statistic.RATIO else f", {measure.statistic.value}"
    found = resampled([*ratios.values()], combined)
    usable = quiet(against, rounds)
    return _figure(measure, f"{what}, {measure.arm} ÷ {plan.baseline}{over}", "×", found, against, usable=usable, n=rounds, detail=detail)


def quiet(control: Interval, rounds: int) -> bool:
    """Whether a control shows a quiet machine: within 3 % of 1, its interval reaching to 1 % of it, in five rounds or more."""
    near = control.low <= 1 + _REACH and control.high >= 1 - _REACH
    return rounds >= _FEWEST and near and abs(control.value - 1) <= _TOLERANCE


def verdict(found: Interval, target: float, rounds: int, *, usable: bool) -> tuple[Verdict, int | None]:
    """Return the verdict of an interval about a target.

    If it is open for lack of rounds, also return the number of rounds that would settle it.
    """
    if usable and found.high <= target:
        return Verdict.MET, None
    if usable and found.low > target:
        return Verdict.MISSED, None
    apart = abs(found.value - target)
    reach = found.high - found.value if found.value <= target else found.value - found.low
    if rounds < _FEWEST:
        return Verdict.OPEN, _FEWEST
    if not usable:
        return Verdict.OPEN, None
    # The width of an interval shrinks with the square root of the number of rounds.
    return Verdict.OPEN, _MOST_ROUNDS if not apart else min(_MOST_ROUNDS, max(rounds + 1, math.ceil(rounds * (reach / apart) ** 2)))


def is_narrow(baseline: Sequence[Sample], arm: Sequence[Sample]) -> bool:
    """Return whether the interval of a case's ratio of processor time ends within 2 % of the figure."""
    found = quantile([a[PROCESSOR] / b[PROCESSOR] for a, b in zip(arm, baseline, strict=True)], 0.5)
    return max(found.high - found.value, found.value - found.low) <= _NARROW * found.value


def medians(samples: Samples) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    return {arm: {case: _medians(rounds) for case, rounds in cases.items()} for arm, cases in samples.items()}


def rounded(value: float) -> float:
    """Round a value to four significant digits."""
    return float(f"{value:.4g}")


def _medians(rounds: Sequence[Sample]) -> dict[str, float]:
    names = dict.fromkeys(name for sample in rounds for name in sample if not name.startswith(IN_PART))
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
    of = Interval(value, value, value)
    return _figure(measure, f"{measure.arm}: {what}", measure.unit, of, None, usable=True, n=len(counted), detail=detail)


def _figure(
    measure: Measure, what: str, unit: str, found: Interval, control: Interval | None, *, usable: bool, n: int, detail: str | None = None
) -> Figure:
    judged: tuple[Verdict | None, int | None] = (None, None)
    if measure.target is not None:
        judged = verdict(found, measure.target, n if control else _FEWEST, usable=usable)
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
        verdict=judged[0],
        rounds_needed=judged[1],
        detail=detail,
    )


def _times(cases: Mapping[str, Sequence[Sample]], measure: Measure) -> dict[str, list[float]]:
    return {case: [sample[measure.quantity] for sample in cases[case]] for case in measure.cases}


def _values(rounds: Sequence[Sample], quantity: str) -> list[float]:
    return [sample[quantity] for sample in rounds if quantity in sample]


def _summed(times: Mapping[str, Sequence[float]]) -> list[float]:
    return [sum(seconds) for seconds in zip(*times.values(), strict=True)]


def _pairs(over: Mapping[str, Sequence[float]], under: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the ratio of each pair, by case: `over[case][i]` and `under[case][i]` come from the same round."""
    return {case: [a / b for a, b in zip(over[case], under[case], strict=True)] for case in over}


def _geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(float(np.mean(np.log(ratios))))
