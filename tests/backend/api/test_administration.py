"""The administrator of a tenant sees and changes its keys and its audit log, and no other tenant's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.cli import admin_client
from headwater.errors import UnsupportedError
from headwater.graph.access.scopes import ROLES
from headwater.transport import GraphQLClient
from tests.backend.cli.command import headwater
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_KEYS = "{ admin { keys(all: true) { id name tenant scopes state used expires } tenants { name keys grants } people { issuer } } }"
_CREATE = (
    "mutation ($n: String!, $r: [String!]!, $s: [String!], $t: String, $d: Float)"
    " { createKey(name: $n, roles: $r, scopes: $s, tenant: $t, days: $d) { secret key { id tenant scopes state expires } } }"
)
_ROTATE = "mutation ($i: ID!, $h: Float!) { rotateKey(id: $i, overlapHours: $h) { secret key { id } } }"
_REVOKE = "mutation ($i: ID!) { revokeKey(id: $i) { id state } }"
_AUDIT = (
    "query ($b: String, $d: String, $s: String, $u: String, $l: Int!, $x: Decision) { audit(by: $b, dataset: $d, since: $s, until: $u,"
    " last: $l, decision: $x) { entries { at who tenant operation subjects decision reason } searchedBackTo damaged } }"
)
_VERIFY = "{ auditVerification { intact whole since lines head breaks { file line } } }"


def _ask(client: httpx.Client, query: str, **variables: Any) -> dict[str, Any]:
    body: dict[str, Any] = client.post("/graphql", json={"query": query, "variables": variables}).json()
    assert "errors" not in body, body
    data: dict[str, Any] = body["data"]
    return data


def _refused(client: httpx.Client, query: str, **variables: Any) -> str:
    error = client.post("/graphql", json={"query": query, "variables": variables}).json()["errors"][0]
    return f"{error['extensions']['code']}: {error['message']}"


@pytest.fixture
def admin(service: ServiceProcess) -> Iterator[httpx.Client]:
    """The administrator of the tenant `sales`."""
    ring = KeyRing(service.home.named_keys)
    key, text = ring.create("boss", ROLES["admin"], tenant="sales")
    with service.client(key=False, headers={"X-Api-Key": text}) as client:
        yield client
    ring.revoke(key.id)
    ring.close()


def test_a_key_is_made_exchanged_and_revoked_and_each_is_in_the_audit_log(
    service: ServiceProcess, client: httpx.Client, admin: httpx.Client
) -> None:
    made = _ask(admin, _CREATE, n="loader", r=["producer"], s=["read"], d=90)["createKey"]
    assert (made["key"]["tenant"], made["key"]["scopes"], made["key"]["state"]) == ("sales", ["intake", "read"], "VALID")
    with service.client(key=False, headers={"X-Api-Key": made["secret"]}) as holder:
        assert holder.post("/api/v1/lineage", json=run_event(1)).status_code == 201
        exchanged = _ask(admin, _ROTATE, i=made["key"]["id"], h=0)["rotateKey"]
        assert holder.post("/api/v1/lineage", json=run_event(1)).status_code == 401
    with service.client(key=False, headers={"X-Api-Key": exchanged["secret"]}) as holder:
        assert holder.post("/api/v1/lineage", json=run_event(1)).status_code == 201
        kept = _ask(admin, _KEYS)["admin"]["keys"]
        states = {(key["id"], key["state"]) for key in kept if key["name"] == "loader"}
        assert states == {(made["key"]["id"], "EXPIRED"), (exchanged["key"]["id"], "VALID")}
        assert [key["used"] is not None for key in kept if key["id"] == exchanged["key"]["id"]] == [True]
        assert _ask(admin, _REVOKE, i=exchanged["key"]["id"])["revokeKey"]["state"] == "REVOKED"
        assert holder.post("/api/v1/lineage", json=run_event(1)).status_code == 401
    lines = service.home.audit.read_text()
    for operation in ("key.create", "key.rotate", "key.revoke"):
        assert f'"what":"{operation}"' in lines.replace(": ", ":")
    assert made["secret"] not in lines + service.log.read_text()
    assert "loader" in str(_ask(client, _AUDIT, d="loader", l=10)["audit"]["entries"])


def test_who_administers_a_tenant_sees_and_touches_no_other(service: ServiceProcess, client: httpx.Client, admin: httpx.Client) -> None:
    theirs = _ask(client, _CREATE, n="theirs", r=["viewer"], t="plant")["createKey"]
    told = _ask(admin, _KEYS)["admin"]
    assert {key["tenant"] for key in told["keys"]} == {"sales"}
    assert [tenant["name"] for tenant in told["tenants"]] == ["sales"]
    assert {"sales", "plant", "default"} <= {tenant["name"] for tenant in _ask(client, _KEYS)["admin"]["tenants"]}
    unknown = _refused(admin, _REVOKE, i="00000000").replace("00000000", "ID")
    for query, more in ((_REVOKE, {}), (_ROTATE, {"h": 1})):
        assert _refused(admin, query, i=theirs["key"]["id"], **more).replace(theirs["key"]["id"], "ID") == unknown
    assert "ForbiddenError" in _refused(admin, _CREATE, n="spy", r=["viewer"], t="plant")
    ours = _ask(admin, _CREATE, n="theirs", r=["viewer"])["createKey"]  # a name that another tenant has
    assert ours["key"]["tenant"] == "sales"
    assert "ForbiddenError" in _refused(admin, _CREATE, n="watch", r=["operator"])
    ring = KeyRing(service.home.named_keys)
    assert ring.valid(theirs["key"]["id"]) is not None
    ring.close()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"n": "a b"}, "name"), ({"r": ["king"]}, "roles"), ({"s": ["all"]}, "scopes"), ({"r": []}, "may"), ({"d": -1}, "days"),
        ({"d": 1e9}, "days"), ({"d": 0}, "expires"), ({"n": "x\n"}, "name"),
    ],
)  # fmt: skip
def test_what_can_be_no_key_is_refused_by_the_name_of_what_is_wrong(client: httpx.Client, given: dict[str, Any], field: str) -> None:
    body = {"query": _CREATE, "variables": {"n": "new", "r": ["viewer"], **given}}
    error = client.post("/graphql", json=body).json()["errors"][0]
    assert (error["extensions"]["code"], error["extensions"]["field"]) in {("InvalidInputError", field), ("InvalidQueryError", field)}


@pytest.mark.parametrize("role", sorted(set(ROLES) - {"admin"}))
def test_no_other_role_administers(service: ServiceProcess, role: str) -> None:
    ring = KeyRing(service.home.named_keys)
    key, text = ring.create(f"try-{role}", ROLES[role], tenant="default")
    with service.client(key=False, headers={"X-Api-Key": text}) as client:
        for query, variables in (
            (_KEYS, {}), (_CREATE, {"n": "mine", "r": ["admin"]}), (_ROTATE, {"i": key.id, "h": 1}), (_REVOKE, {"i": key.id}),
            *(() if role == "auditor" else ((_AUDIT, {"l": 1}), (_VERIFY, {}))),
        ):  # fmt: skip
            answer = client.post("/graphql", json={"query": query, "variables": variables})
            assert "ForbiddenError" in answer.text or answer.json().get("error") == "Forbidden", answer.text
    ring.revoke(key.id)
    ring.close()


def test_a_session_administers_with_the_token_of_its_page_alone(client: httpx.Client, stranger: httpx.Client) -> None:
    url = client.post("/api/v1/tickets", json={"scopes": ["read", "audit", "admin"]}).raise_for_status().json()["url"]
    assert stranger.get(url).status_code == 303
    session = stranger.get("/api/v1/session").json()
    assert {"admin", "audit"} <= set(session["scopes"])
    assert "ForbiddenError" in _refused(stranger, _KEYS)
    assert "ForbiddenError" in _refused(stranger, _CREATE, n="forged", r=["admin"])
    assert _ask(stranger, _AUDIT, l=1)["audit"]["entries"]
    stranger.headers["X-Headwater-Token"] = session["token"]
    assert _ask(stranger, _CREATE, n="by-page", r=["viewer"])["createKey"]["key"]["tenant"] == "default"


def test_a_link_that_was_not_made_for_it_administers_nothing(client: httpx.Client, stranger: httpx.Client) -> None:
    url = client.post("/api/v1/tickets", json={"scopes": ["read", "declare", "replay"]}).raise_for_status().json()["url"]
    assert stranger.get(url).status_code == 303
    stranger.headers["X-Headwater-Token"] = stranger.get("/api/v1/session").json()["token"]
    for query, variables in ((_KEYS, {}), (_CREATE, {"n": "x", "r": ["admin"]}), (_AUDIT, {"l": 1}), (_VERIFY, {})):
        assert "ForbiddenError" in _refused(stranger, query, **variables)


def test_the_audit_log_is_searched_by_person_dataset_time_and_decision(client: httpx.Client, admin: httpx.Client) -> None:
    assert "ForbiddenError" in _refused(admin, 'mutation { startReplay(dataset: "secret-plan", where: "true") { id } }')
    deadline = time.monotonic() + 60  # refusals are written without waiting
    while not (entries := _ask(client, _AUDIT, b="key:boss", x="REFUSED", l=5)["audit"]["entries"]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert entries[0]["operation"] == "graphql.replay"
    at = entries[0]["at"]
    assert _ask(client, _AUDIT, b="key:boss", x="REFUSED", u=at, s=at, l=5)["audit"]["entries"] == entries[:1]
    own = _ask(admin, _AUDIT, l=1000)["audit"]["entries"]
    assert {entry["tenant"] for entry in own} == {"sales"}
    assert [entry["at"] for entry in own] == sorted((entry["at"] for entry in own), reverse=True)
    assert "InvalidQueryError" in _refused(client, _AUDIT, s="yesterday", l=1)
    assert "InvalidQueryError" in _refused(client, _AUDIT, b="x" * 2000, l=1)


def test_whether_the_log_is_whole_is_told_and_its_length_to_its_owner_alone(client: httpx.Client, admin: httpx.Client) -> None:
    told = _ask(client, _VERIFY)["auditVerification"]
    assert (told["intact"], told["whole"], told["breaks"]) == (True, True, [])
    assert told["lines"] > 1
    assert len(told["head"]) == 64
    less = _ask(admin, _VERIFY)["auditVerification"]
    assert (less["intact"], less["lines"], less["head"]) == (True, None, None)


def test_the_command_administers_a_service_as_it_does_a_home(service: ServiceProcess, admin: httpx.Client) -> None:
    boss = {"HEADWATER_URL": service.url, "HEADWATER_API_KEY": admin.headers["X-Api-Key"]}
    first = headwater("admin", "keys", "create", "loads", "--role", "producer", "--may", "read:s3://*", "--expires", "2d", **boss)
    assert "of the tenant sales may intake, read:s3://*" in first.stderr
    second = headwater("admin", "keys", "rotate", "loads", "--overlap", "1h", **boss).stdout.strip()
    assert second != first.stdout.strip()
    for text, works in ((first.stdout.strip(), True), (second, True)):
        with service.client(key=False, headers={"X-Api-Key": text}) as holder:
            assert (holder.post("/api/v1/lineage", json=run_event(2)).status_code == 201) is works
    assert "Revoked 2 keys" in headwater("admin", "keys", "revoke", "loads", **boss).stderr
    with service.client(key=False, headers={"X-Api-Key": second}) as holder:
        assert holder.post("/api/v1/lineage", json=run_event(2)).status_code == 401
    headwater("admin", "keys", "revoke", "loads", code=3, **boss)

    here = ("--home", str(service.home.path))
    told = {key["id"]: key for key in json.loads(headwater("admin", "keys", "list", "--format", "json", **boss).stdout)}
    kept = {key["id"]: key for key in json.loads(headwater("admin", "keys", "list", "--format", "json", *here).stdout)}
    assert told.items() <= kept.items()
    assert {key["tenant"] for key in told.values()} == {"sales"}
    assert [key["state"] for key in told.values() if key["name"] == "loads"] == ["revoked", "revoked"]
    assert headwater("keys", "list", *here).stdout == headwater("admin", "keys", "list", *here).stdout, "the word of before"

    asked = ("admin", "tenants", "--format", "json")
    tenants = [json.loads(headwater(*asked, **boss).stdout), json.loads(headwater(*asked, *here).stdout)]
    assert [one["tenant"] for one in tenants[0]] == ["sales"]
    assert {"default", "sales"} <= {one["tenant"] for one in tenants[1]}
    assert tenants[0][0] in tenants[1]
    assert "no people.toml" in headwater("admin", "people", **boss).stderr
    lines = json.loads(headwater("admin", "audit", "-n", "500", "--format", "json", **boss).stdout)
    assert [line["what"] for line in lines if line.get("on", [""])[0] == "loads"] == ["key.create"]
    assert {line["tenant"] for line in lines} == {"sales"}
    assert "where they are kept" in headwater("admin", "audit", "--verify", code=5, **boss).stderr
    viewer = {**boss, "HEADWATER_API_KEY": second}
    assert "error" in headwater("admin", "keys", "list", code=1, **viewer).stderr


def test_a_name_is_revoked_only_where_all_keys_are_told(
    service: ServiceProcess, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = [_ask(admin, _CREATE, n=name, r=["viewer"])["createKey"]["key"]["id"] for name in ("leaked", "later", "latest")]
    monkeypatch.setattr(admin_client, "_MOST", 2)
    there = admin_client.ServiceKeys(GraphQLClient(service.url, admin.headers["X-Api-Key"]))
    with pytest.raises(UnsupportedError, match="there may be older ones called 'leaked'"):
        there.revoke("leaked", tenant=None)
    assert there.revoke(keys[2], tenant=None) == 1
    assert len(there.listed()) == 2
    assert "These are the latest 2" in capsys.readouterr().err
    monkeypatch.undo()
    assert there.revoke("leaked", tenant=None) == there.revoke("later", tenant=None) == 1


def test_roles_and_grants_are_listed_on_a_home(tmp_path: Path) -> None:
    here = ("--home", str(tmp_path / "home"))
    roles = {one["role"]: one["may"] for one in json.loads(headwater("admin", "roles", "--format", "json").stdout)}
    assert roles == {name: sorted(scopes) for name, scopes in ROLES.items()}
    headwater("admin", "keys", "create", "ann", "--role", "analyst", *here)
    (tmp_path / "home" / "people.toml").write_text(
        'issuer = "https://login.example.com"\nclient = "headwater"\n[[grant]]\nclaim = ["realm", "roles"]\nvalue = "data"\n'
        'roles = ["viewer"]\n'
    )
    people = headwater("admin", "people", "--format", "json", *here)
    assert json.loads(people.stdout) == [{"claim": "realm.roles", "value": "data", "tenant": "default", "may": ["read"]}]
    assert "People sign in at https://login.example.com" in people.stderr
    (tmp_path / "home" / "people.toml").write_text("issuer = 7")
    assert "Nobody can sign in" in headwater("admin", "people", *here).stderr
    assert json.loads(headwater("admin", "tenants", "--format", "json", *here).stdout) == [{"tenant": "default", "keys": 1, "grants": 0}]
