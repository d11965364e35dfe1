import pytest

from bench import run
from bench.truth.layouts import LAYOUTS


def test_every_layout_of_tables_can_be_measured():
    assert set(run.TABLES) == set(LAYOUTS) - {"parquet"}


def test_a_suite_of_one_format_refuses_another():
    assert run.load("tpch", 0.1, "orc").plan.name == "tpch-orc-sf0.1"
    with pytest.raises(ValueError, match="one format"):
        run.load("grep", None, "orc")
