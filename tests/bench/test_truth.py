"""TPC-H at scale factor 0.01: no answer changes, every trace gives its row again, and the plans stay as they were.

`make bench SUITE=tpch ARGS=--truth` does this for all queries; here are those of one kind each that keep the tests short.
"""

from __future__ import annotations

import pytest

from bench.truth.check import Finding
from bench.truth.run import findings

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    # py4j leaves closing its sockets to the garbage collector, whenever that comes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

# A wide aggregate; inner joins; an aggregate over an aggregate over an outer join; a maximum of computed decimals in a subquery; semi-joins
# with and without conditions next to an anti-join; a table that is read twice, once for an average of all.
_QUERIES = (1, 5, 13, 15, 21, 22)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    return {finding.query: finding for finding in findings("tpch", 0.01, tmp_path_factory.mktemp("truth"), queries=_QUERIES, rows=2)}


@pytest.mark.parametrize("query", _QUERIES)
def test_a_query_of_tpch_is_answered_as_without_capture_and_traced_exactly(found, query):
    finding = found[f"q{query}"]
    assert finding.wrong == []
    assert finding.exact, finding
    assert finding.traced == min(2, finding.rows)
    assert finding.records["witness"] <= finding.records["influence"]


@pytest.mark.parametrize("query", _QUERIES)
def test_a_query_of_tpch_keeps_its_plan(found, query):
    assert found[f"q{query}"].plan == []
