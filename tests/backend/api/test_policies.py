"""Policies of a running service: both clients, the commands on a home that is missing, and callers with some namespaces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.client import AsyncClient, Client, PolicyDeviation
from headwater.errors import HeadwaterError, NotFoundError
from headwater.graph.access.rights import Namespaces, Rights
from headwater.graph.access.scopes import ROLES
from tests.backend.cli.command import headwater
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_RAW, _PUBLIC = "dataset:lake:raw/people", "dataset:lake:public/people"
_TEXT = "policy: lake\nrules:\n- name: no-leak\n  must_not_flow: {from: {tag: 'pii*'}, to: 'public/*'}\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with ServiceProcess(tmp_path_factory.mktemp("policies") / "home") as running:
        ends = [[{"namespace": "lake", "name": name}] for name in ("raw/people", "public/people")]
        with running.client() as sender:
            assert sender.post("/api/v1/lineage", json=run_event(1, inputs=ends[0], outputs=ends[1])).status_code == 201
        running.settled()
        yield running


def _described(client: Client, running: ServiceProcess, **stated: object) -> None:
    client.describe(_RAW, **stated)  # type: ignore[arg-type]
    running.settled()


def test_both_clients_check_apply_accept_and_end_a_policy(service: ServiceProcess) -> None:
    client, waiting = Client(service.url, service.home.key()), AsyncClient(service.url, service.home.key())
    _described(client, service, tags=["pii"])
    checked = client.check_policy(_TEXT)
    assert [(each.source, each.target, each.state) for each in checked.deviations] == [(_RAW, _PUBLIC, None)]
    assert client.policies() == []
    policy, report = asyncio.run(waiting.apply_policy(_TEXT))
    assert (policy.name, policy.version, len(report.deviations)) == ("lake", 1, 1)
    assert asyncio.run(waiting.policies()) == client.policies() == [policy]
    (filed,) = client.deviations(policy="lake")
    assert (filed.state, filed.severity, filed.path[0]) == ("OPEN", "ERROR", _RAW)
    accepted = asyncio.run(waiting.accept_deviation(filed.id, reason="agreed", days=1))
    assert isinstance(accepted, PolicyDeviation)
    assert (accepted.state, accepted.reason) == ("ACCEPTED", "agreed")
    assert client.deviations() == []
    assert [each.id for each in asyncio.run(waiting.deviations(states=["ACCEPTED"]))] == [filed.id]
    assert client.draft_policy("draft")["policy"] == "draft"
    client.remove_policy("lake")
    with pytest.raises(NotFoundError):
        client.remove_policy("lake")
    lines = [json.loads(line)["what"] for line in service.home.audit.read_text().splitlines()]
    assert {"policy.apply", "policy.accept", "policy.remove"} <= set(lines)


def test_a_steward_of_some_namespaces_removes_no_tag_that_a_policy_names(service: ServiceProcess) -> None:
    owner = Client(service.url, service.home.key())
    _described(owner, service, tags=["pii", "pii-name", "other"])
    owner.apply_policy(_TEXT)
    scopes = frozenset(ROLES["steward"])
    with closing(KeyRing(service.home.named_keys)) as ring:
        within = dict.fromkeys(scopes, Namespaces.of(["lake"]))
        of_lake = Client(service.url, ring.create("some", Rights(scopes, within), tenant="default")[1])
        steward = Client(service.url, ring.create("all", Rights(scopes, {}), tenant="default")[1])
    for tag in ("pii", "PII", "pii-name"):
        with pytest.raises(HeadwaterError, match="A policy selects by the tag"):
            of_lake.describe(_RAW, remove={"tags": [tag]})
    of_lake.describe(_RAW, remove={"tags": ["other"]})
    steward.describe(_RAW, remove={"tags": ["pii-name"]})
    service.settled()
    assert list(owner.description(_RAW).tags) == ["pii"]  # type: ignore[union-attr]
    owner.remove_policy("lake")
    of_lake.describe(_RAW, remove={"tags": ["pii"]})


def test_both_clients_and_the_command_list_data_that_must_go(service: ServiceProcess) -> None:
    client, waiting = Client(service.url, service.home.key()), AsyncClient(service.url, service.home.key())
    _described(client, service, retention="P1Y")
    found = client.retention(within_days=0)
    (due,) = found.expiring
    assert (due.dataset, due.source, due.days, due.overdue, due.born_known) == (_PUBLIC, _RAW, 365.0, True, False)
    assert (due.path[0], due.path[-1], found.unknown) == (_RAW, _PUBLIC, [_RAW])
    assert asyncio.run(waiting.retention(_PUBLIC)).expiring == [due]
    assert client.retention(_RAW).expiring == []
    with pytest.raises(NotFoundError):
        client.retention("nothing")
    listed = headwater("retention", "--format", "json", "--home", str(service.home.path), code=1)
    assert [row["state"] for row in json.loads(listed.stdout)] == ["overdue"]
    _described(client, service, legal_hold="case 9")
    held = headwater("retention", "public/people", "--home", str(service.home.path))
    assert "case 9" in held.stdout
    client.describe(_RAW, remove={"legal_hold": [], "retention": []})
    service.settled()
    with closing(KeyRing(service.home.named_keys)) as ring:
        scopes = frozenset(ROLES["viewer"])
        within = dict.fromkeys(scopes, Namespaces.of(["lake"]))
        of_lake = Client(service.url, ring.create("of-lake", Rights(scopes, within), tenant="default")[1])
    with pytest.raises(HeadwaterError, match="not open to keys restricted"):
        of_lake.retention()


@pytest.mark.parametrize("command", [["check", "FILE"], ["test", "FILE"], ["report"], ["list"], ["infer"], ["remove", "lake"]])
def test_a_command_on_a_missing_home_names_it_and_makes_none(command: list[str], tmp_path: Path) -> None:
    file, home = tmp_path / "policy.yaml", tmp_path / "missing"
    file.write_text(_TEXT)
    arguments = [str(file) if each == "FILE" else each for each in command]
    refused = headwater("policy", *arguments, "--home", str(home), code=3)
    assert f"There is no home {home}" in refused.stderr
    assert not home.exists()


def test_both_clients_check_and_apply_a_contract(service: ServiceProcess) -> None:
    client, waiting = Client(service.url, service.home.key()), AsyncClient(service.url, service.home.key())
    contract = {
        "apiVersion": "v3.1.0", "kind": "DataContract", "id": "people", "version": "1", "status": "active",
        "schema": [{"name": "people", "tags": ["contracted"]}], "slaProperties": [{"property": "latency", "value": 1, "unit": "d"}],
    }  # fmt: skip
    report = client.check_contract(contract, {"people": _PUBLIC})
    assert [(each.outcome, each.dataset) for each in report.clauses] == [("BROKEN", _PUBLIC)]
    assert asyncio.run(waiting.check_contract(contract, {"people": _PUBLIC})).clauses == report.clauses
    assert asyncio.run(waiting.apply_contract(contract, {"people": _PUBLIC})) == 1
    service.settled()
    assert client.execute("query ($i: ID!) { node(id: $i) { descriptions { tags } } }", i=_PUBLIC)["node"]["descriptions"]["tags"] == [
        "contracted"
    ]
