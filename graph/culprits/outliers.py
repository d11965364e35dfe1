"""Find values of a run that its earlier runs do not explain.

Values of one metric over time form a line: a table may grow a little with each run. The prediction for the next run is the regression line
through the logarithms of the earlier values, and the test asks how likely a value as far from it is. Earlier outliers are removed from the
line first, by the generalised ESD test. If the earlier values are not normal, the value must lie outside of all of them, and far from
their median.

Values of siblings, like the tasks of a stage, have no order. The generalised ESD test finds the outliers among their logarithms. If the
others are not normal, the distance from the median decides.

The chance of a false report is limited for the run as a whole, however many metrics it has (Holm's method for runs, Bonferroni's for
siblings).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
LEAST_RUNS = 8  # earlier values that a comparison needs
_ERROR_RATE = 0.005  # the chance that a healthy run has a suspect
_CLEANING_RATE = 0.001  # the error rate of the test that removes earlier outliers
_MOST_REMOVED = 0.2  # of the earlier values
_NORMAL = 4.6  # the Jarque-Bera statistic that 10 % of large normal samples exceed
_FAR = 8.0  # median absolute deviations (scaled): beyond this, a value is far from earlier ones that are not normal
_LEAST_CHANGE = 0.1  # relative: smaller differences from the prediction are not reported, however unlikely
_LEAST_SCALE = math.log(1.05)  # siblings that are almost all equal count as 5 % apart
_EVEN = 1e-12  # a smaller standard deviation is that of equal values
_MAD_SCALE = 1.4826  # makes the median absolute deviation of normal values their standard deviation


@dataclass(frozen=True, slots=True)
class Suspect:
    """A metric whose value is unlikely. `expected` is the prediction from `compared` other values, which lie between `low` and `high`.

    `chance` is the p-value of the test, or None if the other values are not normal, and their median decided.
    """

    metric: str
    value: float
    expected: float
    low: float
    high: float
    chance: float | None
    compared: int

    @property
    def ratio(self) -> float:
        return self.value / self.expected if self.expected else math.inf


def find_suspects(history: Mapping[str, Sequence[float]], present: Mapping[str, float], error_rate: float = _ERROR_RATE) -> list[Suspect]:
    """Return the unlikely values of a run, the least likely first. `history` has the earlier values of each metric, the oldest first."""
    tested = [
        _test(metric, np.asarray(history[metric], dtype=np.float64), value)
        for metric, value in present.items()
        if len(history.get(metric, ())) >= LEAST_RUNS and value >= 0 and min(history[metric]) >= 0
    ]
    found: list[Suspect] = []
    for number, (chance, suspect) in enumerate(sorted(tested, key=lambda each: (each[0], each[1].metric))):
        if chance > error_rate / (len(tested) - number):
            break
        if abs(suspect.value - suspect.expected) > _LEAST_CHANGE * max(suspect.value, suspect.expected):
            found.append(suspect)
    return found


@dataclass(frozen=True, slots=True)
class Outlier:
    """A value that is unlikely among its siblings: its place, and the median and the range of the others. `chance`: see `Suspect`."""

    place: int
    value: float
    expected: float
    low: float
    high: float
    chance: float | None


def find_outliers(values: Sequence[float], error_rate: float = _ERROR_RATE) -> list[Outlier]:
    """Return the outliers among values without an order, the farthest first. Negative values are not tested."""
    given = np.asarray(values, dtype=np.float64)
    if len(given) < LEAST_RUNS or given.min() < 0:
        return []
    logs = np.log1p(given)
    kept, chances = _find_distant(logs, error_rate)
    if kept.all():
        return []
    if _jarque_bera(logs[kept] - logs[kept].mean()) <= _NORMAL:
        return _outliers(given, kept, chances)
    middle = float(np.median(logs))
    distance = np.abs(logs - middle)
    kept = distance <= _FAR * max(_MAD_SCALE * float(np.median(distance)), _LEAST_SCALE)
    return _outliers(given, kept, {}) if (~kept).sum() <= _MOST_REMOVED * len(given) else []


def _outliers(values: Values, kept: npt.NDArray[np.bool_], chances: Mapping[int, float]) -> list[Outlier]:
    others = values[kept]
    middle, low, high = float(np.median(others)), float(others.min()), float(others.max())
    found = [Outlier(place, float(values[place]), middle, low, high, chances.get(place)) for place in np.flatnonzero(~kept).tolist()]
    return sorted(found, key=lambda each: (-abs(math.log1p(each.value) - math.log1p(middle)), each.place))


def _find_distant(values: Values, error_rate: float) -> tuple[npt.NDArray[np.bool_], dict[int, float]]:
    """Mark the values that are no outliers by the generalised ESD test, and return the p-values of the others by their places."""
    kept = np.ones(len(values), dtype=np.bool_)
    removed: list[tuple[int, float]] = []
    outliers = 0
    for count in range(1, int(len(values) * _MOST_REMOVED) + 1):
        rest = values[kept]
        deviation = float(rest.std(ddof=1))
        if deviation < _EVEN:
            break
        distances = np.where(kept, np.abs(values - rest.mean()), -1.0)
        place = int(np.argmax(distances))
        size = len(values) - count + 1
        chance = _distance_chance(float(distances[place]) / deviation, size)
        removed.append((place, chance))
        kept[place] = False
        if chance <= error_rate:
            outliers = count
    result = np.ones(len(values), dtype=np.bool_)
    result[[place for place, _ in removed[:outliers]]] = False
    return result, dict(removed[:outliers])


def _distance_chance(distance: float, count: int) -> float:
    """Return the chance that the farthest of `count` normal values is at least this many standard deviations from their mean."""
    left = (count - 1) ** 2 - count * distance**2
    if left <= 0:
        return 0.0
    return min(1.0, count * _t_chance(distance * math.sqrt(count * (count - 2) / left), count - 2))


def _test(metric: str, earlier: Values, value: float) -> tuple[float, Suspect]:
    """Return the chance of a value, and what would be reported about it."""
    logs, target = np.log1p(earlier), math.log1p(value)
    kept = _remove_outliers(logs)
    times, line = np.flatnonzero(kept).astype(np.float64), logs[kept]
    predicted, error = _predict(times, line, float(len(logs)))
    residuals = line - _fit(times, line)
    is_normal = error > 0 and _jarque_bera(residuals) <= _NORMAL
    if is_normal:
        chance = _t_chance((target - predicted) / error, len(line) - 2)
    else:
        chance = _rank_chance(line, target)
        predicted = float(np.median(line))
    low, high = float(earlier[kept].min()), float(earlier[kept].max())
    return chance, Suspect(metric, value, math.expm1(predicted), low, high, chance if is_normal else None, len(earlier))


def _fit(times: Values, values: Values) -> Values:
    """Return the regression line at the times of the values."""
    centred = times - times.mean()
    slope = float((centred * values).sum() / max(float((centred**2).sum()), 1e-12))
    line: Values = values.mean() + slope * centred
    return line


def _predict(times: Values, values: Values, at: float) -> tuple[float, float]:
    """Return the value of the regression line at a time, and the standard error of the prediction."""
    centred = times - times.mean()
    spread = max(float((centred**2).sum()), 1e-12)
    slope = float((centred * values).sum() / spread)
    residuals = values - values.mean() - slope * centred
    deviation = math.sqrt(float((residuals**2).sum()) / (len(values) - 2))
    distance = at - float(times.mean())
    return float(values.mean()) + slope * distance, deviation * math.sqrt(1 + 1 / len(values) + distance**2 / spread)


def _remove_outliers(values: Values) -> npt.NDArray[np.bool_]:
    """Mark the values that are no outliers, by the generalised ESD test on their distances from the line through their medians."""
    times = np.arange(len(values), dtype=np.float64)
    half = len(values) // 2
    slope = (float(np.median(values[-half:])) - float(np.median(values[:half]))) / max(len(values) - half, 1)
    residuals = values - slope * times
    return _find_distant(residuals, _CLEANING_RATE)[0]


def _jarque_bera(residuals: Values) -> float:
    deviation = float(residuals.std())
    if deviation < _EVEN:
        return math.inf
    scaled = residuals / deviation
    return len(residuals) / 6 * (float((scaled**3).mean()) ** 2 + (float((scaled**4).mean()) - 3) ** 2 / 4)


def _rank_chance(values: Values, target: float) -> float:
    """Return 0 for a value outside of all earlier values and far from their median, else 1."""
    middle = float(np.median(values))
    scale = _MAD_SCALE * float(np.median(np.abs(values - middle)))
    is_outside = target < float(values.min()) or target > float(values.max())
    return 0.0 if is_outside and abs(target - middle) > _FAR * scale else 1.0


def _t_chance(value: float, freedom: int) -> float:
    """Return the chance that Student's t is at least as far from 0 (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(abs(value), math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    term, total = 1.0, 0.0
    if freedom % 2:
        for number in range(1, freedom - 1, 2):
            term = cosine if number == 1 else term * cosine**2 * (number - 1) / number
            total += term
        inside = 2 / math.pi * (angle + sine * total)
    else:
        for number in range(0, freedom - 1, 2):
            term = 1.0 if number == 0 else term * cosine**2 * (number - 1) / number
            total += term
        inside = sine * total
    return max(0.0, 1 - inside)
