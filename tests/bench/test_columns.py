"""Column lineage of TPC-H is that of sqlglot, which reads the text of the queries; `python -m bench.columns` does so with TPC-DS, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.columns import REASONS, SUITES, compare, reason_of


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # py4j closes its sockets when they are collected
def test_columns_of_tpch_are_made_of_what_sqlglot_says() -> None:
    assert compare(["tpch"]) == {"tpch": (76, [])}


def test_each_difference_that_was_measured_has_a_reason(root: Path) -> None:
    stored = json.loads((root / "bench" / "results" / "columns.json").read_text(encoding="utf-8"))
    assert stored["reasons"] == REASONS
    counts = {suite: (found["columns"], len(found["differences"])) for suite, found in stored["suites"].items()}
    assert counts == {"tpch": (76, 0), "tpcds": (618, 4)}
    assert list(counts) == list(SUITES)
    assert {each["reason"] for found in stored["suites"].values() for each in found["differences"]} <= REASONS.keys()


def test_a_difference_that_no_reason_covers_has_none() -> None:
    sql = "SELECT grouping(a) + t.b AS x FROM t GROUP BY ROLLUP (a, b)"
    assert reason_of(sql, (), ("t.a",)) == "grouping"
    assert reason_of(sql, (), ("t.b",)) is None
    assert reason_of(sql, ("t.c",), ("t.a",)) is None
