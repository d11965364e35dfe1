"""Unusual values of a run are found, and healthy runs are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.graph.culprits.outliers import LEAST_RUNS, _distance_chance, _find_distant, _t_chance, find_outliers, find_suspects

_METRICS = 6


def _series(chance: np.random.Generator, kind: str, count: int) -> np.ndarray:
    times = np.arange(count)
    if kind == "even":
        return np.full(count, 36.0)
    if kind == "growing":
        return 1_000 + 50 * times + chance.normal(0, 20, count)
    if kind == "counts":
        return chance.poisson(200, count).astype(float)
    return np.exp(chance.normal(10, 0.1, count))


def _suspects(metrics: dict[str, np.ndarray]) -> list[str]:
    history = {name: list(values[:-1]) for name, values in metrics.items()}
    return [suspect.metric for suspect in find_suspects(history, {name: float(values[-1]) for name, values in metrics.items()})]


@pytest.mark.parametrize(("rounds", "most"), [(200, 6), pytest.param(5_000, 100, marks=pytest.mark.torture)])
def test_at_most_one_healthy_run_in_fifty_has_a_suspect(rounds: int, most: int) -> None:
    chance, reported = np.random.default_rng(1), 0
    for number in range(rounds):
        kind = ("even", "growing", "counts", "normal")[number % 4]
        count = int(chance.integers(LEAST_RUNS + 1, 40))
        reported += bool(_suspects({f"m{metric}": _series(chance, kind, count) for metric in range(_METRICS)}))
    assert reported <= most


@pytest.mark.parametrize("kind", ["even", "growing", "counts", "normal"])
@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_a_changed_metric_is_the_first_suspect(kind: str, factor: float) -> None:
    chance, found = np.random.default_rng(2), 0
    for _ in range(40):
        metrics = {f"m{metric}": _series(chance, kind, 25) for metric in range(_METRICS)}
        metrics["m2"][-1] *= factor
        found += _suspects(metrics)[:1] == ["m2"]
    assert found >= 38


def test_an_earlier_outlier_does_not_hide_a_later_one() -> None:
    values = np.exp(np.random.default_rng(3).normal(10, 0.05, 30))
    values[[10, 20]] *= 20
    values[-1] *= 3
    assert _suspects({"rows": values}) == ["rows"]


def test_nothing_is_said_with_too_few_runs() -> None:
    assert not find_suspects({"rows": [1.0] * (LEAST_RUNS - 1)}, {"rows": 500.0})
    assert not find_suspects({}, {"rows": 500.0})


def test_small_changes_of_an_even_metric_are_no_suspects() -> None:
    assert not find_suspects({"rows": [1_000.0] * 20}, {"rows": 1_050.0})


@pytest.mark.parametrize("value", [0.0, 1e15])
def test_values_at_the_ends_are_judged(value: float) -> None:
    [suspect] = find_suspects({"rows": [1_000.0, 1_010.0, 990.0, 1_005.0] * 4}, {"rows": value})
    assert suspect.expected == pytest.approx(1_000, rel=0.02)


def test_the_distribution_of_student_is_that_of_the_tables() -> None:
    for freedom, quantile in ((1, 12.706), (2, 4.303), (9, 2.262), (10, 2.228), (30, 2.042)):
        assert _t_chance(-quantile, freedom) == pytest.approx(0.05, abs=0.0002)


def test_the_critical_values_of_grubbs_are_those_of_the_tables() -> None:
    for count, distance in ((10, 2.290), (20, 2.709), (30, 2.908)):
        assert _distance_chance(distance, count) == pytest.approx(0.05, abs=0.001)


@pytest.mark.parametrize("kind", ["normal", "counts", "even", "skewed"])
def test_outliers_among_siblings_are_found(kind: str) -> None:
    chance, found, healthy = np.random.default_rng(4), 0, 0
    for _ in range(200):
        count = int(chance.integers(LEAST_RUNS + 4, 60))
        values = {
            "normal": chance.normal(1_000, 50, count), "counts": chance.poisson(300, count).astype(float), "even": np.full(count, 64.0),
            "skewed": np.exp(chance.normal(8, 0.3, count)),
        }[kind]  # fmt: skip
        healthy += bool(find_outliers(list(values)))
        values[3] *= 8
        found += [outlier.place for outlier in find_outliers(list(values))] == [3]
    assert healthy <= 4
    assert found >= 190


def test_the_rosner_example_has_three_outliers() -> None:
    """The example of the NIST handbook for the generalised ESD test (Rosner, 1983), shifted so that no value is negative."""
    values = [
        -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91,
        1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93,
        3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
    ]  # fmt: skip
    kept, chances = _find_distant(np.array(values), 0.05)
    assert [values[place] for place in np.flatnonzero(~kept)] == [5.34, 5.42, 6.01]
    assert all(0 < chance <= 0.2 for chance in chances.values())
