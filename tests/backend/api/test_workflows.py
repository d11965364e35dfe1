"""Workflows of a running service: their state, runs in the background, and what each caller may see."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.client import AsyncClient, Client, Workflow
from headwater.errors import NotFoundError, UnavailableError
from headwater.graph.access.scopes import ROLES
from tests.backend.service import ServiceProcess
from tests.backend.workflows.laboratory import PROGRAM, Laboratory, channels, task

# Waits for a file that the test makes, at most for some minutes.
_PATIENT = f"""\
import pathlib, time
gate, end = pathlib.Path(__file__).with_suffix(".go"), time.monotonic() + 240
while not gate.exists() and time.monotonic() < end:
    time.sleep(0.02)
{PROGRAM}"""
_NEW = {"channel": "raw", "mode": "new"}
_STATE = '{ workflow(name: "failing") { isRunning problem tasks { name state error } runs { task state error } } }'


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    laboratory = Laboratory(tmp_path_factory.mktemp("workflows"))
    laboratory.register("patient", _PATIENT)
    laboratory.register("copy")
    tasks = {"first": task("patient", [_NEW], "one"), "second": task("copy", [{"channel": "one", "mode": "new"}], "two")}
    laboratory.apply({"workflow": "flow", "channels": channels("raw", "one", "two"), "tasks": tasks})
    failing = {"only": task("copy", [{"channel": "bad", "mode": "new"}], "none")}
    laboratory.apply({"workflow": "failing", "channels": channels("bad", "none"), "tasks": failing})
    return laboratory


@pytest.fixture(scope="module")
def service(lab: Laboratory) -> Iterator[ServiceProcess]:
    with ServiceProcess(lab.home) as running:
        yield running


def _key(service: ServiceProcess, role: str, tenant: str = "default") -> str:
    with closing(KeyRing(service.home.named_keys)) as ring:
        return ring.create(f"{role}-{uuid4().hex}", ROLES[role], tenant=tenant)[1]


def _ask(service: ServiceProcess, document: str, key: str | None = None) -> dict[str, Any]:
    headers = {"X-Api-Key": key} if key else {}
    with service.client(key=key is None, headers=headers) if key else service.client() as client:
        answer: dict[str, Any] = client.post("/graphql", json={"query": document}).json()
        return answer


def _gate(lab: Laboratory) -> Path:
    return lab.scripts / "patient.go"


def _ended(client: Client, name: str = "flow") -> Workflow:
    """Wait until the run has ended."""
    deadline = time.monotonic() + 240
    while (found := client.workflow(name)).is_running:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def test_a_run_goes_on_after_the_answer_and_its_outcome_is_shown(service: ServiceProcess, lab: Laboratory) -> None:
    client = Client(service.url, service.home.key())
    fresh = next(one for one in client.workflows() if one.name == "flow")
    assert (fresh.is_running, [one.state for one in fresh.tasks], fresh.runs) == (False, [None, None], [])
    lab.add("raw", "1.txt", "a", "b")
    _gate(lab).unlink(missing_ok=True)
    try:
        assert client.run_workflow("flow").is_running
        with pytest.raises(UnavailableError, match="runs now"):
            client.run_workflow("flow")
        assert client.workflow("flow").is_running
    finally:
        _gate(lab).touch()
    done = _ended(client)
    assert [(one.name, one.state, one.error) for one in done.tasks] == [("first", "COMPLETE", None), ("second", "COMPLETE", None)]
    (first,) = done.tasks[0].inputs
    assert (first.channel, first.mode, first.cursor, first.unread) == ("raw", "NEW", 1, 0)
    assert [(one.name, one.writer, one.current_blocks, one.last_block) for one in done.channels] == [
        ("raw", None, 1, 1), ("one", "first", 1, 1), ("two", "second", 1, 1),
    ]  # fmt: skip
    assert done.channels[2].dataset == f"dataset:file:{lab.data}/two"
    assert [one.task for one in done.runs] == ["second", "first"]
    assert lab.lines("two") == ["new new a", "new new b"]
    asked = _ask(
        service, '{ workflow(name: "flow") { channels { blocks { number mode run } } runs(first: 1) { id reads { channel blocks } } } }'
    )
    found = asked["data"]["workflow"]
    assert found["runs"][0]["reads"] == [{"channel": "one", "blocks": [1]}]
    assert found["channels"][2]["blocks"] == [{"number": 1, "mode": "DELTA", "run": found["runs"][0]["id"]}]
    lines = [json.loads(line) for line in service.home.audit.read_text().splitlines()]
    asked_for = [(line["on"], line["decision"]) for line in lines if line["what"] == "workflow.run"]
    assert asked_for[:1] == [(["flow"], "allowed")]


def test_what_a_program_printed_is_for_those_who_may_see_values(service: ServiceProcess, lab: Laboratory) -> None:
    client = Client(service.url, service.home.key())
    lab.add("bad", "1.txt", "fail")
    client.run_workflow("failing", task="only")
    failed = _ended(client, "failing")
    assert failed.tasks[0].state == "FAILED"
    assert "the program fails" in str(failed.tasks[0].error)
    engineer, viewer = (_ask(service, _STATE, _key(service, role))["data"]["workflow"] for role in ("engineer", "viewer"))
    assert "the program fails" in engineer["tasks"][0]["error"]
    for shown in (viewer["tasks"][0], viewer["runs"][0]):
        assert shown["error"] == "copy.py ended with exit code 7"


async def test_refusals_say_what_is_there(service: ServiceProcess, lab: Laboratory) -> None:
    client = AsyncClient(service.url, service.home.key())
    for asked in (client.run_workflow("absent"), client.run_workflow("flow", task="absent"), client.workflow("absent")):
        with pytest.raises(NotFoundError, match="absent"):
            await asked
    script = lab.register("copy", PROGRAM)
    script.write_text(f"{PROGRAM}\n")
    run = 'mutation { runWorkflow(name: "flow") { isRunning } }'
    assert "copy" in _ask(service, run)["errors"][0]["message"]
    lab.register("copy", PROGRAM)
    assert not (await client.workflow("flow")).is_running
    assert _ask(service, run, _key(service, "viewer"))["errors"][0]["extensions"]["code"] == "ForbiddenError"


def test_another_tenant_has_no_workflows(service: ServiceProcess) -> None:
    key = _key(service, "engineer", "sales")
    assert _ask(service, '{ workflows { name } workflow(name: "flow") { name } }', key) == {"data": {"workflows": [], "workflow": None}}
    answer = _ask(service, 'mutation { runWorkflow(name: "flow") { name } }', key)
    assert answer["errors"][0]["extensions"]["code"] == "ForbiddenError"
