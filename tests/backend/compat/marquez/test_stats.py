"""The last day and week on Marquez's page: events by hour or day, and the numbers of jobs, datasets and sources."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import Scope
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess


@pytest.fixture
def counted(service: ServiceProcess) -> Iterator[httpx.Client]:
    """A tenant with three runs: one 20 hours ago, one now, one a month ago."""
    ring = KeyRing(service.home.named_keys)
    tenant = f"counted-{uuid4().hex[:8]}"
    key = ring.create(tenant, {Scope.READ, Scope.INTAKE}, tenant=tenant)[1]
    ring.close()
    now = datetime.now(UTC)
    sent = []
    for number, (ago, kind) in enumerate([(timedelta(hours=20), "FAIL"), (timedelta(), "START"), (timedelta(days=30), "COMPLETE")]):
        event = run_event(number, eventType=kind, eventTime=(now - ago).isoformat())
        event["job"] = {"namespace": "stats", "name": f"job-{number}"}
        event["inputs"], event["outputs"] = [], [{"namespace": f"file{number}", "name": f"/out/{number}"}]
        sent.append(event)
    with service.client(key=False, headers={"X-Api-Key": key}) as client:
        assert client.post("/api/v1/lineage", json=sent).status_code == 201
        service.settled()
        yield client


def _stats(client: httpx.Client, what: str, **asked: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/stats/{what}", params=asked)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def test_events_are_counted_by_hour_and_by_day(counted: httpx.Client) -> None:
    hours = _stats(counted, "lineage-events", period="DAY")
    assert len(hours) == 24
    assert [sum(hour[kind] for hour in hours) for kind in ("fail", "start", "complete", "abort")] == [1, 1, 0, 0]
    assert all(a["endInterval"] == b["startInterval"] for a, b in pairwise(hours))
    failed = next(hour for hour in hours if hour["fail"])
    at = datetime.now(UTC) - timedelta(hours=20)
    assert datetime.fromisoformat(failed["startInterval"]) <= at < datetime.fromisoformat(failed["endInterval"])
    days = _stats(counted, "lineage-events", period="WEEK", timezone="Asia/Kolkata")
    assert len(days) == 7
    assert days[-1]["startInterval"].endswith("T18:30:00Z"), "midnight there"
    assert sum(day["fail"] + day["start"] + day["complete"] for day in days) == 2


@pytest.mark.parametrize("what", ["jobs", "datasets", "sources"])
def test_what_there_is_grows(counted: httpx.Client, what: str) -> None:
    counts = [hour["count"] for hour in _stats(counted, what, period="day")]
    assert (counts[0], counts[-1]) == (1, 3)
    assert counts == sorted(counts)
    assert [day["count"] for day in _stats(counted, what, period="WEEK")][-1] == 3


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"period": "YEAR"}, "period"), ({}, None), ({"period": "WEEK", "timezone": "../../etc/passwd"}, "timezone"),
        ({"period": "WEEK", "timezone": "America"}, "timezone"), ({"period": "WEEK", "timezone": "/etc/localtime"}, "timezone"),
    ],
    ids=["year", "none", "path", "folder", "file"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(service: ServiceProcess, asked: dict[str, str], field: str | None) -> None:
    with service.client() as client:
        answer = client.get("/api/v1/stats/jobs", params=asked)
    assert answer.status_code in (400, 422), answer.text
    assert field is None or answer.json()["field"] == field
