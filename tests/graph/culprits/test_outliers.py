"""Unusual values of a run are found, and healthy runs are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.graph.culprits.outliers import LEAST_RUNS, _t_chance, _t_quantile, find_suspects

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
        assert _t_quantile(0.025, freedom) == pytest.approx(quantile, abs=0.001)
        assert _t_chance(-quantile, freedom) == pytest.approx(0.05, abs=0.0001)
