"""Triggers of a running service: GraphQL, the address for other programs, the client, and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.client import AsyncClient, Client
from headwater.errors import NotFoundError
from headwater.graph.access.scopes import Scope
from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess
from tests.backend.triggers.receiver import Receiver, receiver

MANUAL = {"when": {"manual": {}}, "do": {"webhook": {"target": "there"}}}
_LIST = "{ triggers { name state owner condition definition history { id outcome depth execution { id state result } } } }"


@pytest.fixture(scope="module")
def there() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, there: Receiver) -> Iterator[ServiceProcess]:
    home = tmp_path_factory.mktemp("service") / "home"
    there.list_in(home)
    with ServiceProcess(home) as running:
        yield running


@pytest.fixture(scope="module")
def keys(service: ServiceProcess) -> dict[str, str]:
    scopes = {
        "viewer": [Scope.READ], "replayer": [Scope.READ, Scope.REPLAY], "engineer": [Scope.READ, Scope.RECORDS, Scope.REPLAY]
    }  # fmt: skip
    with closing(KeyRing(service.home.named_keys)) as ring:
        return {name: ring.create(name, stated, tenant="default")[1] for name, stated in scopes.items()}


def ask(service: ServiceProcess, document: str, key: str | None = None, **variables: Any) -> dict[str, Any]:
    with service.client(key=key is None) as client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        answer: dict[str, Any] = client.post("/graphql", json={"query": document, "variables": variables}, headers=headers).json()
        return answer


def create(service: ServiceProcess, stated: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    return ask(service, "mutation ($d: JSON!) { createTrigger(definition: $d) { name owner definition } }", key, d=stated)


def ended(service: ServiceProcess, name: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until so many executions of a trigger ended."""
    deadline = time.monotonic() + 240
    while True:
        listed = ask(service, _LIST)["data"]["triggers"]
        causes: list[dict[str, Any]] = next(one for one in listed if one["name"] == name)["history"]
        if len(causes) >= count and all(one["execution"] is None or one["execution"]["state"] in ("COMPLETE", "FAILED") for one in causes):
            return causes
        assert time.monotonic() < deadline, causes
        time.sleep(0.05)


def test_a_key_creates_a_trigger_and_owns_it(service: ServiceProcess, keys: dict[str, str], there: Receiver) -> None:
    made = create(service, {"name": "owned", **MANUAL}, keys["replayer"])["data"]["createTrigger"]
    assert made["owner"].startswith("key:replayer:")
    fired = ask(service, 'mutation { fireTrigger(name: "owned", key: "one") { id execution { state } } }', keys["replayer"])
    assert fired["data"]["fireTrigger"]["id"] == "manual one"
    (cause,) = ended(service, "owned")
    assert cause["execution"]["state"] == "COMPLETE"
    lines = [json.loads(line) for line in service.home.audit.read_text().splitlines()]
    what = [(line["what"], line["decision"]) for line in lines if line["what"].startswith("trigger.")]
    assert what[:3] == [("trigger.create", "allowed"), ("trigger.fire_by_hand", "allowed"), ("trigger.fire", "allowed")]


@pytest.mark.parametrize(
    "document",
    [
        'mutation { createTrigger(definition: {name: "x"}) { name } }', 'mutation { fireTrigger(name: "x") { id } }',
        'mutation { pauseTrigger(name: "x") { name } }', 'mutation { resumeTrigger(name: "x") { name } }',
        'mutation { removeTrigger(name: "x") { name } }', '{ testTrigger(name: "x", since: "2026-01-01") { entries } }',
    ],
)  # fmt: skip
def test_what_changes_a_trigger_needs_the_right_to_replay(service: ServiceProcess, keys: dict[str, str], document: str) -> None:
    assert "may read, not replay" in ask(service, document, keys["viewer"])["errors"][0]["message"]


def test_predicates_are_for_those_who_may_see_values(service: ServiceProcess, keys: dict[str, str]) -> None:
    stated = {"name": "predicate", "when": {"data": {"dataset": "dataset:file:/q", "where": "name = 'secret'"}}, "do": MANUAL["do"]}
    assert "not records" in create(service, stated, keys["replayer"])["errors"][0]["message"]
    assert "secret" in json.dumps(create(service, stated, keys["engineer"])["data"])
    assert "secret" not in json.dumps(ask(service, _LIST, keys["viewer"])["data"])
    shown = ask(service, '{ trigger(name: "predicate") { definition } }', keys["viewer"])["data"]["trigger"]["definition"]
    assert shown["when"]["data"] == {"dataset": "dataset:file:/q", "hidden": ["where"]}
    copied = create(service, {**shown, "name": "copied"}, keys["engineer"])["errors"][0]["message"]
    assert "takes no 'hidden'" in copied, "a copy would fire for all rows"
    assert "secret" in json.dumps(ask(service, _LIST, keys["engineer"])["data"])
    resumed = ask(service, 'mutation { resumeTrigger(name: "predicate") { name } }', keys["replayer"])
    assert "not records" in resumed["errors"][0]["message"]
    follows = {"name": "follows", "when": {"trigger": {"name": "predicate"}}, "do": MANUAL["do"]}
    assert create(service, follows, keys["replayer"])["data"]
    for name in ("predicate", "follows"):  # a test evaluates the predicate
        document = f'{{ testTrigger(name: "{name}", since: "2026-01-01") {{ entries }} }}'
        assert "not records" in ask(service, document, keys["replayer"])["errors"][0]["message"]
        assert ask(service, document, keys["engineer"])["data"]


def test_another_program_fires_a_trigger_by_its_address(service: ServiceProcess, keys: dict[str, str], there: Receiver) -> None:
    create(service, {"name": "addressed", **MANUAL})

    def fire(key: str, name: str = "addressed", **headers: str) -> httpx.Response:
        with service.client(key=False) as client:
            return client.post(f"/api/v1/triggers/{name}/fire", headers={"Authorization": f"Bearer {key}", **headers})

    first, again = (fire(keys["replayer"], **{"Idempotency-Key": "monday"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["execution"]["id"] == again.json()["execution"]["id"]
    ended(service, "addressed")
    execution = first.json()["execution"]["id"]
    assert fire(keys["replayer"], **{"Headwater-Execution": execution}).json()["depth"] == 2
    assert len(ended(service, "addressed", 2)) == 2
    assert fire(keys["viewer"]).status_code == 403
    assert fire("nobody").status_code == 401
    assert fire(keys["replayer"], "missing").status_code == 404


def test_an_event_that_arrives_fires(service: ServiceProcess, there: Receiver) -> None:
    create(service, {"name": "data", "when": {"data": {"dataset": "dataset:file:/out/3"}}, "do": MANUAL["do"]})
    with service.client() as client:
        sent = client.post("/api/v1/lineage", content=body(run_event(3)), headers={"Content-Type": "application/json"})
        assert sent.status_code == 201
    (cause,) = ended(service, "data")
    assert cause["id"].startswith("version:file:/out/3:")


def test_the_command_line_asks_a_service(service: ServiceProcess) -> None:
    environment = {**os.environ, "HEADWATER_URL": service.url, "HEADWATER_API_KEY": service.home.key()}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "headwater", "triggers", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)

    made = run("create", "told", "--cron", "0 6 * * *", "--zone", "Europe/Berlin", "--webhook", "there")
    assert "call the webhook there at 0 6 * * * (Europe/Berlin)" in made.stderr
    assert run("pause", "told", "--reason", "holidays").returncode == 0
    listed = json.loads(run("list", "-f", "json").stdout)
    assert [(one["state"], one["reason"]) for one in listed if one["name"] == "told"] == [("PAUSED", "holidays")]
    found = json.loads(run("test", "told", "--since", "2026-03-28", "--until", "2026-03-31", "-f", "json").stdout)
    assert [cause["id"] for cause in found["causes"]] == [
        "2026-03-28T05:00:00.000+00:00", "2026-03-29T04:00:00.000+00:00", "2026-03-30T04:00:00.000+00:00"
    ]  # fmt: skip
    assert run("remove", "told").returncode == 0
    assert run("show", "told").returncode == 3


async def test_both_clients_ask_for_triggers(service: ServiceProcess) -> None:
    client = Client(service.url, service.home.key())
    made = client.create_trigger({"name": "by-client", **MANUAL})
    assert (made.state, made.owner, made.history) == ("ACTIVE", "home", [])
    fired = client.fire_trigger("by-client", key="one")
    again = client.fire_trigger("by-client", key="one")
    assert (fired.id, fired.execution and fired.execution.id) == (again.id, again.execution and again.execution.id)
    ended(service, "by-client")
    (cause,) = client.trigger("by-client").history
    assert (cause.id, cause.outcome, cause.execution and cause.execution.state) == ("manual one", "FIRED", "COMPLETE")
    async with AsyncClient(service.url, service.home.key()) as other:
        assert (await other.pause_trigger("by-client", reason="later")).reason == "later"
        assert (await other.resume_trigger("by-client")).state == "ACTIVE"
        assert "by-client" in [one.name for one in await other.triggers()]
        stated = {"name": "x", "when": {"time": {"every": "1h"}}, "do": MANUAL["do"]}
        assert len(await other.test_trigger(since="2026-01-01", until="2026-01-02", definition=stated)) == 23
        await other.remove_trigger("by-client")
        with pytest.raises(NotFoundError, match="by-client"):
            await other.trigger("by-client")


def test_a_home_without_triggers_lists_none_and_makes_no_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headwater", "triggers", "list", "--home", str(tmp_path / "home")]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "no triggers" in listed.stderr
    assert not (tmp_path / "home" / "triggers.db").exists()
