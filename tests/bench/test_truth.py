"""TPC-H at scale factor 0.01: no answer changes, every trace gives its row again, and the plans stay as they were."""

from __future__ import annotations

import pytest

from bench.truth.check import Finding
from bench.truth.run import findings

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    # py4j leaves closing its sockets to the garbage collector, whenever that comes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

# Queries with an operator that records are not followed through yet.
_REFUSED = frozenset({"q4", "q11", "q15", "q16", "q18", "q20", "q21", "q22"})


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    return {finding.query: finding for finding in findings("tpch", 0.01, tmp_path_factory.mktemp("truth"), rows=2)}


@pytest.mark.parametrize("query", [f"q{number}" for number in range(1, 23)])
def test_a_query_of_tpch_is_answered_as_without_capture_and_traced_exactly(found, query):
    finding = found[query]
    assert not finding.wrong, finding
    assert (finding.status == "refused") == (query in _REFUSED), finding
    if finding.status == "refused":
        assert finding.refused
    else:
        assert finding.exact, finding
        assert finding.traced == min(2, finding.rows)


@pytest.mark.parametrize("query", [f"q{number}" for number in range(1, 23)])
def test_a_query_of_tpch_keeps_its_plan(found, query):
    assert found[query].plan == []
