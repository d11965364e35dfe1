"""GraphQL lists the programs that replays may run. And documents that are named by their hash."""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import ROLES
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.registry import Program
from tests.backend.service import ServiceProcess

_ASKED = {"query": "{ registrations { id job name script sha256 byOperator isUnchanged registeredAt } }"}


def _as(service: ServiceProcess, role: str, tenant: str = "default") -> httpx.Client:
    with closing(KeyRing(service.home.named_keys)) as ring:
        return service.client(key=False, headers={"X-Api-Key": ring.create(f"{role}-{uuid4().hex}", ROLES[role], tenant=tenant)[1]})


def test_registered_programs_are_told_without_what_may_be_secret(service: ServiceProcess, tmp_path: Path) -> None:
    script = tmp_path / "secret-folder" / "job.py"
    script.parent.mkdir()
    script.write_text("print()")
    program = Program(
        namespace="local", job="reported", argv=["job.py", "--password", "4711-secret"], script=str(script), operator=True,
        script_sha256=script_sha256(str(script)) or "", working_directory=str(tmp_path), environment={"TOKEN": "4711-secret"},
    )  # fmt: skip
    with closing(service.home.registry) as registry:
        registry.register(program)
    with _as(service, "engineer") as engineer:

        def own(answer: httpx.Response) -> dict[str, Any]:
            return next(one for one in answer.json()["data"]["registrations"] if one["id"] == program.id)

        answer = engineer.post("/graphql", json=_ASKED)
        told = own(answer)
        assert told["registeredAt"]
        assert told | {"registeredAt": ""} == {
            "id": program.id, "job": "job:local:reported", "name": "reported", "script": "job.py", "sha256": program.script_sha256,
            "byOperator": True, "isUnchanged": True, "registeredAt": "",
        }  # fmt: skip
        assert "secret" not in answer.text
        script.write_text("print(1)")
        assert not own(engineer.post("/graphql", json=_ASKED))["isUnchanged"]
    with _as(service, "viewer") as viewer, _as(service, "engineer", "sales") as other:
        assert viewer.post("/graphql", json=_ASKED).json()["errors"][0]["extensions"]["code"] == "ForbiddenError"
        assert other.post("/graphql", json=_ASKED).json() == {"data": {"registrations": []}}


def test_a_document_is_named_by_its_hash_over_http(service: ServiceProcess) -> None:
    document = "query ($first: Int!) { tags(first: $first) { totalCount } }"
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": sha256(document.encode()).hexdigest()}}
    named: dict[str, Any] = {"extensions": extensions, "variables": {"first": 1}}
    with _as(service, "viewer") as viewer, _as(service, "viewer", "sales") as other:
        (error,) = viewer.post("/graphql", json=named).json()["errors"]
        assert (error["message"], error["extensions"]["code"]) == ("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        answered = viewer.post("/graphql", json={"query": document, **named}).json()["data"]
        assert answered["tags"]["totalCount"] >= 0, "other tests of this service may have given tags"
        assert viewer.post("/graphql", json=named).json()["data"] == answered
        assert "errors" in other.post("/graphql", json=named).json()
        deep = "{ " + "... on Query { " * 300 + "service { version }" + " }" * 300 + " }"
        digest = sha256(deep.encode()).hexdigest()
        harm = {"query": deep, "extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}}
        assert "errors" in viewer.post("/graphql", json=harm).json()
        del harm["query"]
        assert "nests" in viewer.post("/graphql", json=harm).json()["errors"][0]["message"], "held to the bounds of any other"
