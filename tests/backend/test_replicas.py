"""Three replicas of a service, each killed in turn while events come in: nothing is lost or double, and nothing waits for the dead one.

HEADWATER_ROUNDS says how often each is killed; `make torture ARGS="--modes replicas"` does so for long.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.backend.api.credentials import READING
from headwater.backend.home.settings import Settings
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.operate.soundness.store import check_home
from tests.backend.captures import capture
from tests.backend.cli.command import headwater
from tests.backend.events import run_event
from tests.backend.replicas import KEY, Producers, Replicas, Shared, shared

pytestmark = [
    pytest.mark.lake,
    pytest.mark.neo4j,
    pytest.mark.timeout(1200),
    # pg8000 leaves its socket open where a server that just starts refuses it, as when a test waits for one.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_ROUNDS = int(os.environ.get("HEADWATER_ROUNDS", "1"))
# Seconds until the others have done what a dead one left. Held where the test is asked for by itself: among other tests it has half a core.
_DELAY = 10.0 if "HEADWATER_ROUNDS" in os.environ else 120.0


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with shared(tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest.fixture(scope="module")
def replicas(parts: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with Replicas(parts, tmp_path_factory.mktemp("homes"), 3) as running:
        yield running


def test_what_one_replica_is_told_all_of_them_know(replicas: Replicas) -> None:
    environment = replicas.parts.settings | {"HEADWATER_HOME": str(replicas.services[0].home.path)}
    shown = headwater("keys", "create", "ann", "--role", "producer", "--role", "viewer", **environment).stdout.strip()
    clients = [replicas.client(number) for number in range(3)]
    for client in clients:
        assert client.get("/api/v1/session", headers={"X-Api-Key": shown}).json()["scopes"] == ["intake", "read"]
    headwater("keys", "revoke", "ann", **environment)
    time.sleep(2.5)
    assert [client.get("/api/v1/session", headers={"X-Api-Key": shown}).status_code for client in clients] == [401, 401, 401]

    ticket = clients[0].post("/api/v1/tickets", json={"scopes": ["read"]}).json()["ticket"]
    assert len(READING) > 1
    opened = httpx.get(f"{replicas.urls[1]}/?ticket={ticket}", trust_env=False)
    cookie = opened.headers["set-cookie"].partition(";")[0]
    told = httpx.get(f"{replicas.urls[2]}/api/v1/session", headers={"Cookie": cookie}, trust_env=False)
    assert "read" in told.json()["scopes"]
    assert "set-cookie" not in httpx.get(f"{replicas.urls[2]}/?ticket={ticket}", trust_env=False).headers  # it works once
    for client in clients:
        assert client.get("/readyz").json()["checks"]["replicas"] == "ok"
        client.close()


def test_an_auditor_sees_what_all_replicas_wrote_at_any_of_them(replicas: Replicas) -> None:
    for number in range(3):
        httpx.get(
            f"{replicas.urls[number]}/api/v1/session", headers={"X-Api-Key": "nobody's", "X-Request-Id": f"asked-{number}"}, trust_env=False
        )
    deadline = time.monotonic() + 60
    for number in range(3):
        with replicas.client(number) as client:
            found: dict[str, str] = {}
            while len(found) < 3:
                assert time.monotonic() < deadline, found
                lines = [json.loads(line) for line in client.get("/api/v1/audit", params={"decision": "refused"}).text.splitlines()]
                found = {line["request"]: line["chain"] for line in lines if str(line["request"]).startswith("asked-")}
            assert len(set(found.values())) == 3
            asked = {"query": "{ auditVerification { intact whole chains { host lines head } } }"}
            verified = client.post("/graphql", json=asked).json()["data"]["auditVerification"]
            assert (verified["intact"], verified["whole"]) == (True, True)
            assert len(verified["chains"]) >= 3
            assert client.get("/readyz").json()["checks"]["audit_copy"] == "ok"


@pytest.mark.slow
def test_each_replica_is_killed_in_turn_and_nothing_is_lost_double_or_late(replicas: Replicas, parts: Shared, tmp_path: Path) -> None:
    delays: list[float] = []
    with Producers(replicas, threads=3) as producers, ThreadPoolExecutor(1) as starting:
        others: list[Future[None]] = []
        for number in [*range(3)] * _ROUNDS:
            producers.wait(100)
            other = (number + 1) % 3
            for started in others if number == 2 else ():  # till then there is one that was never killed, or is back
                started.result()
            manifest = _stage(replicas, number, len(delays))
            replicas.kill(number)
            delays.append(_seconds_until_shown(replicas, other, 1_000_000 + len(delays)))
            with replicas.client(other) as client:  # what the dead one took, another publishes
                assert client.post("/api/v1/captures", json=manifest).status_code == 201
            producers.wait(50)
            others.append(starting.submit(replicas.start, number))
            if number == 2:
                others.pop().result()

    rows = parts.postgres.run("SELECT key, body, kind FROM headwater.entry ORDER BY number")
    events = [(bytes(key), json.loads(bytes(text))) for key, text, kind in rows if kind == "event"]
    assert all(document_key(event) == key for key, event in events)
    kept = [event for _, event in events]
    runs = [event["run"]["runId"] for event in kept]
    assert len(set(runs)) == len(runs)
    assert {run_event(number)["run"]["runId"] for number in producers.acknowledged} <= set(runs)
    numbers = parts.postgres.run("SELECT number FROM headwater.entry ORDER BY number")
    assert [number for (number,) in numbers] == list(range(1, len(rows) + 1))
    assert parts.postgres.run("SELECT count(*) FROM headwater.dead_letter") == [[0]]

    for service in replicas.services:
        service.__exit__()
    given = {name.removeprefix("HEADWATER_").lower(): value for name, value in parts.settings.items()}
    settings = Settings(home=parts.home(tmp_path / "checked"), **given)  # type: ignore[arg-type]
    findings = asyncio.run(check_home(settings, "default"))  # folds the log into a second graph, and compares
    assert all(finding.ok for finding in findings), findings
    (captures,) = parts.postgres.run("SELECT count(*) FROM headwater.entry WHERE kind = 'capture'")[0]
    assert captures == 3 * _ROUNDS
    assert not list((parts.objects.folder / "kept" / "hw" / ".staging").rglob("*.seg.*"))
    assert max(delays) < _DELAY, delays


def _stage(replicas: Replicas, number: int, of: int) -> dict[str, Any]:
    """Send the segments of a capture to one replica; its manifest."""
    manifest, segments = capture(of)
    with replicas.client(number) as client:
        for entry in manifest["segments"]:
            put = client.put(
                f"/api/v1/captures/{manifest['capture']}/segments/{entry['name']}", content=segments[entry["name"]],
                headers={"X-Headwater-Sha256": entry["sha256"], "Content-Type": "application/octet-stream"},
            )  # fmt: skip
            assert put.status_code == 204, put.text
    return manifest


def _seconds_until_shown(replicas: Replicas, number: int, event: int) -> float:
    """How long it takes from sending an event to a replica until the graph has it."""
    began = time.monotonic()
    job = f"marker-{event}"
    with replicas.client(number) as client:
        marker = run_event(event, job={"namespace": "tests", "name": job})
        while client.post("/api/v1/lineage", json=marker).status_code != 201:
            assert time.monotonic() < began + 120
        query = {"query": "query($id: ID!) { node(id: $id) { id } }", "variables": {"id": f"job:tests:{job}"}}
        while True:
            answer = client.post("/graphql", json=query).json()
            if (answer.get("data") or {}).get("node"):
                return time.monotonic() - began
            assert time.monotonic() < began + 120, (answer, client.get("/readyz").json())
            time.sleep(0.1)


def test_a_replica_that_would_keep_something_to_itself_does_not_start(parts: Shared, tmp_path: Path) -> None:
    environment = parts.settings | {"HEADWATER_HOME": str(parts.home(tmp_path / "own"))}
    for name in ("HEADWATER_STORE", "HEADWATER_ASSOCIATIONS", "HEADWATER_API_KEY"):
        refused = headwater("serve", "--port", "0", code=2, **{one: value for one, value in environment.items() if one != name})
        assert name in refused.stderr
        assert KEY not in refused.stderr
