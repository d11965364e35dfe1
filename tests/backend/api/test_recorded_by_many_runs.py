"""Recordings of many runs of a program are read a few runs at a time, and refused if they are too large."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headwater.backend.compat.cdap import operations
from headwater.backend.compat.cdap.request import CdapRequest, Window
from headwater.backend.ingest.intake.recorded_operations import event_of, read_recording
from headwater.backend.projection.event import event_stamp, project_event
from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind, node_id
from headwater.graph.stores.sqlite.store import SqliteStore

_RUNS = 25
_JOB = node_id(NodeKind.JOB, "jobs", "parse")


def _recorded(number: int) -> dict[str, Any]:
    recording = read_recording({
        "time": f"2026-02-01T00:{number:02d}:00Z",
        "operations": [
            {"name": f"read {number}", "inputs": {"endPoint": {"namespace": "n", "name": "in"}}, "outputs": {"fields": ["a"]}},
            {
                "name": "write", "inputs": {"fields": [{"origin": f"read {number}", "name": "a"}]},
                "outputs": {"endPoint": {"namespace": "n", "name": "out"}},
            },
        ],
    })  # fmt: skip
    run = str(UUID(int=number))
    return event_of(recording, namespace="jobs", application="parse", program="parse", kind="spark", run=run)


async def test_runs_are_read_a_few_at_a_time_and_too_many_operations_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(str(tmp_path / "graph.db"))
    await store.open()
    try:
        events = [_recorded(number) for number in range(_RUNS)]
        await store.apply("t", [project_event(event, event_stamp(event, str(number))) for number, event in enumerate(events)])
        asked: list[int] = []
        latest = store.latest

        async def counted(*given: Any, first: int, **more: Any) -> Any:
            asked.append(first)
            return await latest(*given, first=first, **more)

        monkeypatch.setattr(store, "latest", counted)
        ask = CdapRequest(store, "t", "n", "out", Window(0, 1 << 36))
        found = await operations.recorded_by(ask, _JOB, "a", incoming=True)
        assert len(found) == _RUNS
        assert asked == [10, 10, 10]
        monkeypatch.setattr(operations, "_MOST_OPERATIONS", 2 * _RUNS - 1)
        with pytest.raises(InvalidQueryError, match="recorded more than 49 operations"):
            await operations.recorded_by(ask, _JOB, "a", incoming=True)
    finally:
        await store.close()
