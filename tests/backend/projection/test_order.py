"""Late, double and shuffled events leave the same graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.backend.projection.events import dataset, graph_of, run_event

DATASETS = st.builds(
    dataset,
    st.sampled_from(["/a", "/b"]),
    columns=st.lists(st.sampled_from(["x", "y"]), unique=True),
    facets=st.dictionaries(
        st.sampled_from(["ownership", "columnLineage"]),
        st.sampled_from(
            [{"owners": []}, {"_deleted": True}, {"fields": {"x": {"inputFields": [{"namespace": "file", "name": "/a", "field": "y"}]}}}]
        ),
    ),
)
EVENTS = st.builds(
    run_event,
    st.sampled_from(["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", None]),
    st.integers(0, 3),
    run=st.sampled_from(["0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000002"]),
    job=st.sampled_from(["one", "two"]),
    facets=st.dictionaries(
        st.sampled_from(["errorMessage", "parent", "state"]),
        st.sampled_from([{"message": "m"}, {"run": {"runId": "r"}, "job": {"namespace": "n", "name": "p"}}, {"_deleted": True}]),
    ),
    inputs=st.lists(DATASETS, max_size=2),
    outputs=st.lists(DATASETS, max_size=2),
)


@given(st.lists(EVENTS, min_size=1, max_size=4), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_late_double_and_shuffled_events_leave_the_same_graph(
    tmp_path: Path, events: list[dict[str, Any]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(events + data.draw(st.lists(st.sampled_from(events), max_size=2))))
    async with graph_of(tmp_path, *events) as one, graph_of(tmp_path, *shuffled) as other:
        assert await one.fingerprint() == await other.fingerprint()
