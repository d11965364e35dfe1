"""A pipeline of Spark, pandas and the shell: a trace goes through all three, and says what a plain computation of the same says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.capture.captured import places, traced
from tests.spark_listener.spark import environment, logged, run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TRIPS = [
    ("b1", 10, 3.5), ("b2", 0, 1.0), ("b1", 20, 4.0), ("broken1", 60, 99.0), ("b3", 30, 0.0), ("b3", 30, 9.25), ("b2", 15, 2.0),
    ("b4", 5, 0.5), ("b2", 6, 2.5),
]  # fmt: skip


def _top() -> Mapping[str, set[int]]:
    """By bike, in their order, the trips that a line of the result is made of."""
    trips: dict[str, set[int]] = {}
    for row, (bike, minutes, km) in enumerate(TRIPS):
        if minutes > 0 and km > 0 and not bike.startswith("broken"):
            trips.setdefault(bike, set()).add(row)
    order = sorted(trips, key=lambda bike: (-sum(TRIPS[row][2] for row in trips[bike]), bike))
    return {bike: trips[bike] for bike in order[:3]}


def test_a_trace_goes_through_spark_pandas_and_the_shell_both_ways(root: Path, tmp_path: Path):
    lines = ["bike,minutes,km", *(f"{bike},{minutes},{km}" for bike, minutes, km in TRIPS)]
    (tmp_path / "trips.csv").write_text("".join(f"{line}\n" for line in lines))
    home, examples = tmp_path / "home", root / "examples" / "mixed"
    env = environment(root, HEADWATER_HOME=str(home))
    for step in (
        ["-m", "headwater", "run", str(examples / "clean_trips.py"), "trips.csv", "clean"],
        [str(examples / "sum_bikes.py"), "clean", "bikes.csv"],
        [str(examples / "top_bikes.py"), "bikes.csv", "top.txt"],
    ):
        done = run(step, tmp_path, env)
        assert done.returncode == 0, done.stderr
    top, expected = tmp_path / "top.txt", _top()
    assert [line.split(",")[0] for line in top.read_text().splitlines()] == list(expected)
    for place, rows in enumerate(expected.values()):
        answer = traced(home, top, [(top, place)])
        assert (places(answer), answer.exact) == ({("trips.csv", row) for row in rows}, True)
        assert [hop.job.rsplit(":", 1)[-1].split(".")[0] for hop in answer.path] == ["top_bikes", "sum_bikes", "clean_trips"]
    for row in range(len(TRIPS)):
        answer = traced(home, tmp_path / "trips.csv", [(tmp_path / "trips.csv", row)], forward=True, to=str(top))
        assert places(answer) == {("top.txt", place) for place, rows in enumerate(expected.values()) if row in rows}
    assert {event["job"]["name"] for event in logged(home)} >= {"sum_bikes.sum", "top_bikes.top"}
