"""The parts of a query's cost add up to the whole."""

from bench.query_cost import split_time, table
from bench.suite import IN_PART, PROCESSOR


def sample(whole: float, tasks: float, python: float) -> dict[str, float]:
    return {PROCESSOR: whole, f"{IN_PART}tasks": tasks, f"{IN_PART}Python": python}


def test_time_in_no_known_part_is_other_time():
    assert split_time([sample(0.5, 0.3, 0.1), sample(0.7, 0.3, 0.2)]) == {"Python": 150.0, "tasks": 300.0, "other": 150.0}


def test_a_line_of_the_table_adds_up():
    plain, lazy = split_time([sample(0.5, 0.3, 0.1)]), split_time([sample(0.56, 0.31, 0.12)])
    assert table({"q6": {"plain": plain, "lazy": lazy}}).splitlines()[2] == "| q6 | 500 | lazy | +20.0 | +10.0 | +30.0 | +60.0 |"
