"""A run's ledger says what is missing and why, and survives what any producer may have written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.ledger import Ledger, Problem, ledger_of

_CAPTURE = {"capture": "c", "mode": "active", "status": "complete", "problems": [], "cost": {"rows": 12, "bytes": 90}}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["status", "problems", "cost", "rows", "x"]), inner),
)


def test_what_arrived_tells_the_rest() -> None:
    announced = {"capture": "c", "status": "complete"}
    assert ledger_of({"state": "COMPLETE", "headwater_capture": announced, "capture": _CAPTURE}) == Ledger(
        "complete", "active", [], 12, 90, None
    )
    again = {**_CAPTURE, "recaptured": {"started": "2026-01-01T10:00:00Z", "ended": "2026-01-01T10:01:00Z"}}
    assert ledger_of({"capture": again}).recaptured == "2026-01-01T10:01:00Z"


def test_what_was_announced_and_is_not_here_is_missing() -> None:
    found = ledger_of({"state": "COMPLETE", "headwater_capture": {"capture": "c", "status": "complete"}})
    assert (found.status, [problem.operator for problem in found.problems]) == ("partial", ["delivery"])


@pytest.mark.parametrize("state", ["FAIL", "ABORT"])
def test_a_run_that_failed_wrote_nothing(state: str) -> None:
    found = ledger_of({"state": state, "capture": _CAPTURE})
    assert (found.status, len(found.problems)) == ("failed", 1)


def test_problems_of_the_program_and_of_the_service_are_told() -> None:
    left = {"operator": "/hours", "reason": "1 column without a name is not listed", "kind": "missing"}
    found = ledger_of({"capture": {**_CAPTURE, "problems": [{"operator": "Generate", "kind": "refused"}]}, "leftOut": [left]})
    assert found.problems == [Problem("Generate", "no reason was given", "refused"), Problem(**left)]
    assert ledger_of({}) == Ledger("unknown", None, [], None, None, None)


@given(_JSON, _JSON, _JSON)
def test_any_properties_make_a_ledger(announced: Any, arrived: Any, left: Any) -> None:
    found = ledger_of({"headwater_capture": announced, "capture": arrived, "leftOut": left, "state": left})
    assert found.status in ("complete", "partial", "refused", "failed", "unknown")
    assert all(isinstance(problem.reason, str) and isinstance(problem.kind, str) for problem in found.problems)


def test_records_that_were_set_aside_are_a_problem_of_the_run() -> None:
    stated = {"count": 1, "limit": 1000, "earlier": 2, "records": []}
    [problem] = ledger_of({"state": "COMPLETE", "capture": _CAPTURE, "headwater_setAside": stated}).problems
    assert problem.operator == "skipFailing"
    assert problem.reason.startswith("1 of at most 1,000 failing records was set aside, and its results lack it; earlier jobs")
    assert ledger_of({"capture": _CAPTURE, "headwater_setAside": {"count": "many"}}).problems == []
