"""Named keys at a running service: the rights of each, the tenant whose data it sees, and the columns that are masked for it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.api.access import RULES
from headwater.backend.rerun.replay.model import FAULT, Invocation, Replay, ReplayState, Step
from headwater.backend.rerun.replay.runner import ReplayFailedError, run_steps
from headwater.client import AsyncClient, Client, Record, Rows
from headwater.errors import InvalidQueryError, KeyRequiredError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import ROLES, Scope
from headwater.graph.associations.writer import segment
from headwater.graph.model import node_id
from tests.backend.captures import capture
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

SECRET = "canary-4711"
_ROWS = (
    "query ($d: ID!, $w: String, $o: RowOrder) { rows(dataset: $d, where: $w, order: $o) { columns { name } rows { values } total note } }"
)
_TRACE = (
    "query ($d: String!, $w: String, $r: [RowRef!], $f: Boolean!) { trace(dataset: $d, where: $w, rows: $r, forward: $f)"
    " { exact records { dataset file row values } selected { row values } total } }"
)
_IMPACT = "query ($d: String!, $w: String) { impact(records: {dataset: $d, where: $w}) { total } }"
_REPLAY = "mutation ($d: String!, $w: String) { startReplay(dataset: $d, where: $w) { id } }"
_PLACES = "query ($d: String!, $r: [RowRef!]) { trace(dataset: $d, rows: $r) { exact records { file row } total } }"


class _Lake:
    """A capture of a tenant: a job copies names and salaries of people. Its input may be known in another namespace."""

    def __init__(self, folder: Path, number: int, namespace: str = "file") -> None:
        self.read, self.written = folder / "people" / "in.parquet", folder / "pay" / "out.parquet"
        table = pa.table({"name": ["ann", "bob"], "salary": [SECRET, f"{SECRET}-2"], "city": ["Ulm", "Ulm"]})
        for path in (self.read, self.written):
            path.parent.mkdir(parents=True)
            pq.write_table(table, path)
        self.manifest, _ = capture(number, segments=1)
        columns = [{"name": name, "type": "string"} for name in table.column_names]
        source, sink = self.manifest["sources"][0], self.manifest["sink"]
        source |= {"dataset": {"namespace": namespace, "name": str(self.read.parent)}, "path": f"file:{self.read.parent}", "options": {}}
        source |= {"columns": columns, "files": [{"ordinal": 0, "ordinals": 1, **_block(self.read)}]}
        sink |= {"dataset": {"namespace": "file", "name": str(self.written.parent)}, "path": f"file:{self.written.parent}"}
        attributed = [{**column, "attr": place} for place, column in enumerate(columns, start=1)]
        sink["columns"] = attributed
        self.manifest["operators"][0]["columns"] = [1, 2, 3]
        self.manifest["operators"][1]["columns"] = attributed
        stated = self.manifest["segments"][0]
        footer = {key: stated[key] for key in ("boundary", "stage", "stage_attempt", "partition", "attempt")}
        footer |= {"capture": self.manifest["capture"], "columns": 1, "files": [_block(self.written)], "runs": [[0, 2]]}
        self.data = segment([[0, 1]], footer)
        stated |= {"rows": 2, "bytes": len(self.data), "sha256": sha256(self.data).hexdigest()}
        self.source, self.sink = node_id("dataset", namespace, str(self.read.parent)), f"dataset:file:{self.written.parent}"
        self.first = [{"file": f"file:{self.written}", "row": 0}]

    def send(self, client: httpx.Client) -> None:
        """As a program would."""
        name = self.manifest["segments"][0]["name"]
        headers = {"X-Headwater-Sha256": sha256(self.data).hexdigest()}
        sent = client.put(f"/api/v1/captures/{self.manifest['capture']}/segments/{name}", content=self.data, headers=headers)
        assert sent.status_code == 204, sent.text
        answer = client.post("/api/v1/captures", json=self.manifest)
        assert answer.status_code == 201, answer.text


def _block(path: Path) -> dict[str, Any]:
    status = path.stat()
    return {"path": f"file:{path}", "length": status.st_size, "modified": status.st_mtime_ns // 1_000_000}


class _Company:
    """One service with two tenants, a lake each, and a key of each role."""

    def __init__(self, service: ServiceProcess, ours: _Lake, theirs: _Lake, shared: _Lake) -> None:
        self.service, self.ours, self.theirs, self.shared = service, ours, theirs, shared
        self.ring = KeyRing(service.home.named_keys)

    def client(self, *scopes: Scope, tenant: str = "default", within: Sequence[str] = ()) -> httpx.Client:
        """A client with a key for the scopes, within namespaces if some are given."""
        name = f"k{len(self.ring.listed())}"
        restricted = dict.fromkeys(scopes, Namespaces.of(within)) if within else {}
        _, text = self.ring.create(name, Rights(frozenset(scopes), restricted), tenant=tenant)
        return self.service.client(key=False, headers={"Authorization": f"Bearer {text}"})


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Company]:
    folder = tmp_path_factory.mktemp("company")
    ours, theirs = _Lake(folder / "ours", 9001), _Lake(folder / "theirs", 9002)
    shared = _Lake(folder / "shared", 9003, "hive://canaryhr")
    roots = {"HEADWATER_DATA_ROOTS": json.dumps([str(folder / "ours")])}
    roots["HEADWATER_TENANT_ROOTS"] = json.dumps({"sales": [str(folder / "theirs")], "shared": [str(folder / "shared")]})
    with ServiceProcess(folder / "home", **roots) as service:
        company = _Company(service, ours, theirs, shared)
        with (
            service.client() as owner,
            company.client(Scope.INTAKE, tenant="sales") as sender,
            company.client(Scope.INTAKE, tenant="shared") as third,
        ):
            ours.send(owner)
            shared.send(third)
            theirs.send(sender)
        service.settled()
        with company.client(Scope.READ, tenant="sales") as reader:
            _until(lambda: "errors" not in reader.post("/graphql", json=_asked(_PLACES, d=theirs.sink, r=theirs.first)).json())
        yield company


def _until(holds: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _asked(query: str, **variables: Any) -> dict[str, Any]:
    return {"query": query, "variables": variables}


def _refusal(response: httpx.Response) -> str | None:
    """The code of what was refused; None where it was not."""
    body = response.json() if "json" in response.headers.get("content-type", "") and response.content else {}
    if isinstance(body, dict) and body.get("errors"):
        return str(body["errors"][0]["extensions"]["code"])
    return f"{body['error']}Error" if isinstance(body, dict) and "error" in body else None


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_role_reaches_the_endpoints_of_its_scopes_and_no_others(company: _Company, role: str) -> None:
    """The table of endpoints against the table of roles: each endpoint that has a rule is asked by each role."""
    refused = allowed = 0
    with company.client(*ROLES[role]) as client:
        for (method, path), rule in RULES.items():
            answer = client.request(method, re.sub(r"\{\w+\}", "x", path), json=None if method == "GET" else {})
            if rule.scope is None or rule.scope in ROLES[role]:
                assert answer.status_code not in (401, 403), (path, answer.text)
                allowed += 1
            else:
                assert (answer.status_code, _refusal(answer)) == (403, "ForbiddenError"), (path, answer.text)
                refused += 1
    assert refused
    assert allowed


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_role_changes_what_it_may_change_alone(company: _Company, role: str) -> None:
    scopes = ROLES[role]
    if Scope.READ not in scopes:
        return
    with company.client(*scopes) as client:
        declared = client.post("/graphql", json={"query": "mutation { declare(declaration: {}) }"})
        replayed = client.post("/graphql", json={"query": 'mutation { startReplay(dataset: "nothing", where: "true") { id } }'})
    assert (_refusal(declared) == "ForbiddenError") is (Scope.DECLARE not in scopes)
    assert (_refusal(replayed) == "ForbiddenError") is (Scope.REPLAY not in scopes)


def test_who_may_read_the_graph_alone_learns_places_and_no_values(company: _Company) -> None:
    ours = company.ours
    with company.client(Scope.READ) as viewer:
        found = viewer.post("/graphql", json=_asked(_PLACES, d=ours.sink, r=ours.first)).json()["data"]["trace"]
        assert found == {"exact": True, "records": [{"file": f"file:{ours.read}", "row": 0}], "total": 1}
        tried = [
            _asked(_ROWS, d=ours.sink),
            _asked(_TRACE, d=ours.sink, r=ours.first, f=False),
            _asked(_PLACES.replace("$r: [RowRef!]", "$w: String").replace("rows: $r", "where: $w"), d=ours.sink, w="name = 'ann'"),
            _asked(
                "query ($d: String!, $r: [RowRef!]) { trace(dataset: $d, rows: $r) { selected { values } } }", d=ours.sink, r=ours.first
            ),
            _asked("query ($d: String!, $r: [RowRef!]) { trace(dataset: $d, rows: $r) { records { line } } }", d=ours.sink, r=ours.first),
        ]
        for body in tried:
            answer = viewer.post("/graphql", json=body)
            assert _refusal(answer) == "ForbiddenError", answer.text
            assert SECRET not in answer.text
        assert viewer.get("/api/v1/impact", params={"records": ours.source, "where": "true"}).status_code == 403
        assert viewer.get("/api/v1/prov", params={"target": ours.sink}).status_code == 403
    with company.client(Scope.READ, Scope.EXPORT) as exporter:
        assert exporter.get("/api/v1/prov", params={"target": ours.sink}).status_code == 200
        assert exporter.get("/api/v1/prov", params={"target": ours.sink, "where": "name = 'ann'"}).status_code == 403


_WHOLE = (
    "query ($d: String!, $w: String, $r: [RowRef!], $f: Boolean!) { trace(dataset: $d, where: $w, rows: $r, forward: $f) { exact total"
    " records { dataset file row values } selected { file row values } path { job run output inputs operations }"
    " incomplete { what reason effect } graph { nodes { id name } edges { src dst } } } }"
)


def test_records_of_permitted_namespaces_are_told_whole(company: _Company) -> None:
    ours = company.ours
    with company.client(Scope.READ, Scope.RECORDS, within=["file", "local*", "tests*"]) as analyst, company.service.client() as owner:
        asked = _asked(_WHOLE, d=ours.sink, w="name = 'ann'", f=False)
        one, other = (client.post("/graphql", json=asked).json()["data"]["trace"] for client in (analyst, owner))
        assert one["records"] == other["records"]
        assert (one["exact"], one["total"], len(one["path"])) == (True, 1, 1)
        page = analyst.post("/graphql", json=_asked(_ROWS, d=ours.sink, w="salary <> ''", o=None)).json()["data"]["rows"]
        assert page["total"] == 2
        forward = analyst.post("/graphql", json=_asked(_WHOLE, d=ours.source, w="name = 'ann'", f=True)).json()["data"]["trace"]
        assert [record["dataset"] for record in forward["records"]] == [ours.sink]


def test_records_of_hidden_namespaces_leave_no_file_row_or_value(company: _Company) -> None:
    shared = company.shared
    with company.client(Scope.READ, Scope.RECORDS, tenant="shared", within=["file", "local*", "tests*"]) as analyst:
        answer = analyst.post("/graphql", json=_asked(_WHOLE, d=shared.sink, r=shared.first, f=False))
        trace = answer.json()["data"]["trace"]
        assert (trace["records"], trace["exact"], trace["total"]) == ([], False, 0)
        assert trace["selected"][0]["values"]["name"] == "ann"
        assert [item["reason"] for item in trace["incomplete"]] == ["Records lie in places that this key may not see."]
        assert "canaryhr" not in answer.text
        assert str(shared.read) not in answer.text
        for query, variables in ((_ROWS, {"d": shared.source}), (_WHOLE, {"d": shared.source, "w": "true", "f": True})):
            hidden = analyst.post("/graphql", json=_asked(query, **variables))
            missing = analyst.post("/graphql", json=_asked(query, **{**variables, "d": shared.source.replace("canaryhr", "absenthr")}))
            assert _refusal(hidden) == "NotFoundError"
            assert hidden.text.replace("canaryhr", "absenthr") == missing.text
        for name in (str(shared.read.parent), "people", f"{shared.sink}@2020-01-01"):
            assert _refusal(analyst.post("/graphql", json=_asked(_WHOLE, d=name, w="true", f=False))) == "NotFoundError"


def test_a_name_in_a_permitted_namespace_does_not_open_files_of_another(company: _Company) -> None:
    """The dataset is the key's, its files are not: who could state names could else read whatever lies below the data roots."""
    shared = company.shared
    with company.client(Scope.READ, Scope.RECORDS, tenant="shared", within=["hive://canaryhr"]) as analyst:
        for query, more in ((_ROWS, {}), (_ROWS, {"w": "name = 'ann'"}), (_WHOLE, {"w": "false", "f": True})):
            answer = analyst.post("/graphql", json=_asked(query, d=shared.source, **more))
            assert _refusal(answer) == "ForbiddenError", answer.text
            assert SECRET not in answer.text
            assert str(shared.read) not in answer.text


def test_a_key_may_open_the_page_for_what_it_may_itself_and_no_longer_than_it_is_valid(company: _Company) -> None:
    key, text = company.ring.create("guest", ROLES["viewer"], tenant="default")
    with company.service.client(key=False, headers={"X-Api-Key": text}) as holder:
        url = holder.post("/api/v1/tickets", json={"scopes": ["read", "declare", "replay"]}).raise_for_status().json()["url"]
    with company.service.client(key=False) as browser:
        assert browser.get(url).status_code == 303
        assert browser.get("/api/v1/session").json()["scopes"] == ["read"]
        assert browser.post("/api/v1/tickets", json={}).status_code == 403
        company.ring.revoke(key.id)
        assert browser.get("/api/v1/session").status_code == 401


def test_a_tenant_sees_its_own_and_cannot_tell_that_there_is_more(company: _Company) -> None:
    """Whatever is asked about the other tenant's data is answered as if it were about nothing at all."""
    both = [Scope.READ, Scope.RECORDS, Scope.UNMASKED, Scope.EXPORT]
    with company.client(*both) as us, company.client(*both, tenant="sales") as them:
        for client, own, other in ((us, company.ours, company.theirs), (them, company.theirs, company.ours)):
            assert client.post("/graphql", json=_asked(_ROWS, d=own.sink)).json()["data"]["rows"]["total"] == 2
            traced = client.post("/graphql", json=_asked(_TRACE, d=own.sink, w="name = 'bob'", f=False)).json()["data"]["trace"]
            assert [record["values"]["salary"] for record in traced["records"]] == [f"{SECRET}-2"]
            assert (
                client.post("/graphql", json={"query": '{ search(text: "") { nodes { name } } }'}).text.count(other.manifest["capture"])
                == 0
            )
            for dataset in (other.sink, other.source):
                asked = (
                    ("POST", "/graphql", _asked(_ROWS, d="@"), {}),
                    ("POST", "/graphql", _asked(_TRACE, d="@", w="true", f=False), {}),
                    ("POST", "/graphql", _asked(_TRACE, d="@", r=other.first, f=False), {}),
                    ("POST", "/graphql", _asked("query ($d: ID!) { node(id: $d) { name } }", d="@"), {}),
                    ("POST", "/graphql", _asked("query ($d: ID!) { lineage(focus: [$d]) { nodes { id } } }", d="@"), {}),
                    ("GET", "/api/v1/impact", None, {"focus": "@"}),
                    ("GET", "/api/v1/impact", None, {"records": "@", "where": "true"}),
                    ("GET", "/api/v1/prov", None, {"target": "@"}),
                    ("GET", "/api/v1/descriptions", None, {"node": "@"}),
                )
                for method, path, body, parameters in asked:
                    answers = []
                    for name in (dataset, f"{dataset[:-1]}#"):
                        filled = json.loads(json.dumps([body, parameters]).replace('"@"', json.dumps(name)))
                        answer = client.request(method, path, json=filled[0], params=filled[1])
                        answers.append((answer.status_code, answer.text.replace(name, "@").replace(name.split(":", 2)[2], "@")))
                    assert answers[0] == answers[1], (path, body, parameters)
                    assert SECRET not in answers[0][1]


def test_a_tenant_reads_no_file_of_the_others_by_naming_it(company: _Company) -> None:
    event = {"producer": "https://example.org/p", "eventTime": "2013-02-12T03:00:00Z"}
    event["schemaURL"] = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent"
    with company.client(Scope.READ, Scope.RECORDS, Scope.INTAKE, tenant="sales") as them:
        for path in (company.ours.read, company.ours.written.parent, company.service.home.path / "key", Path("/etc/passwd")):
            assert them.post("/api/v1/lineage", json=event | {"dataset": {"namespace": "file", "name": str(path)}}).status_code == 201
            _until(
                lambda named=path: them.post(
                    "/graphql", json=_asked("query ($d: ID!) { node(id: $d) { id } }", d=f"dataset:file:{named}")
                ).json()["data"]["node"]
            )
            page = them.post("/graphql", json=_asked(_ROWS, d=f"dataset:file:{path}")).json()["data"]["rows"]
            assert (page["rows"], page["total"]) == ([], 0)
            assert "not readable here" in page["note"]


def test_a_tenant_runs_no_program_of_the_home(company: _Company) -> None:
    with company.client(*ROLES["engineer"], tenant="sales") as them:
        answer = them.post("/graphql", json={"query": 'mutation { startReplay(dataset: "x", where: "true") { id } }'})
        assert _refusal(answer) == "ForbiddenError"


@pytest.fixture
def masked(company: _Company) -> Iterator[_Company]:
    company.service.home.masks.write_text('[[mask]]\ncolumns = ["SAL*"]\ndatasets = ["*/people", "*/pay"]\n')
    yield company
    company.service.home.masks.unlink()


def test_a_masked_column_leaves_by_no_way(masked: _Company) -> None:
    ours = masked.ours
    with masked.client(*ROLES["engineer"]) as client:
        page = client.post("/graphql", json=_asked(_ROWS, d=ours.sink, w="name = 'ann'", o={"column": "name"})).json()["data"]["rows"]
        assert [row["values"] for row in page["rows"]] == [["ann", "(masked)", "Ulm"]]
        for forward, dataset in ((False, ours.sink), (True, ours.source)):
            answer = client.post("/graphql", json=_asked(_TRACE, d=dataset, w="name = 'bob'", f=forward))
            found = answer.json()["data"]["trace"]
            assert [record["values"]["salary"] for record in (*found["records"], *found["selected"])] == ["(masked)", "(masked)"]
            assert SECRET not in answer.text
        predicates = [
            f"salary = '{SECRET}'", "SALARY LIKE 'c%'", '"salary" IS NOT NULL', "t.salary > 'a'", "t IS NOT NULL",
            "CAST(t AS VARCHAR) LIKE '%c%'",
            "length(salary) = 11", "name = 'ann' AND starts_with(salary, 'c')", 'U&"s\\0061lary" > \'a\'',
            "struct_extract(t, 'salary') > 'a'",
            "CASE WHEN salary > 'c' THEN true ELSE false END", "CAST(salary AS INTEGER) > 1", "name = 'ann' /* */ OR salary > 'd'",
        ]  # fmt: skip
        for where in predicates:
            for method, path, body, parameters in (
                ("POST", "/graphql", _asked(_ROWS, d=ours.sink, w=where), {}),
                ("POST", "/graphql", _asked(_TRACE, d=ours.sink, w=where, f=False), {}),
                ("POST", "/graphql", _asked(_TRACE, d=ours.source, w=where, f=True), {}),
                ("POST", "/graphql", _asked(_IMPACT, d=ours.source, w=where), {}),
                ("GET", "/api/v1/impact", None, {"records": ours.source, "where": where}),
                ("GET", "/api/v1/prov", None, {"target": ours.sink, "where": where}),
                ("POST", "/graphql", _asked(_REPLAY, d=ours.source, w=where), {}),
            ):  # fmt: skip
                answer = client.request(method, path, json=body, params=parameters)
                refused = _refusal(answer) in ("InvalidQueryError", "ForbiddenError")
                assert refused, (where, path, answer.text)
                assert SECRET not in answer.text.replace(f"salary = '{SECRET}'", ""), where
        for column in ("salary", "SALARY", "nothing"):
            answer = client.post("/graphql", json=_asked(_ROWS, d=ours.sink, o={"column": column}))
            assert _refusal(answer) == "InvalidQueryError", answer.text
    with masked.client(*ROLES["investigator"]) as client:
        page = client.post("/graphql", json=_asked(_ROWS, d=ours.sink, w=f"salary = '{SECRET}'")).json()["data"]["rows"]
        assert [row["values"] for row in page["rows"]] == [["ann", SECRET, "Ulm"]]


def test_a_column_is_masked_by_a_tag_that_reaches_it(company: _Company) -> None:
    """The tag is on the source's column; the job's event says that its values flow on."""
    ours = company.ours
    event = run_event(77)
    field = {"namespace": "file", "name": str(ours.read.parent), "field": "salary"}
    facet = {"_producer": "https://example.org/p", "_schemaURL": "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json"}
    facet["fields"] = {"salary": {"inputFields": [{**field, "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]}]}}
    event["inputs"] = [{"namespace": "file", "name": str(ours.read.parent)}]
    event["outputs"] = [{"namespace": "file", "name": str(ours.written.parent), "facets": {"columnLineage": facet}}]
    column = f"column:file:{ours.read.parent}:salary"
    with company.service.client() as owner:
        assert owner.post("/api/v1/lineage", json=event).status_code == 201
        company.service.settled()
        declared = owner.post("/api/v1/declarations", json={"descriptions": [{"id": column, "aspect": "tag", "value": "pii"}]})
        assert declared.status_code == 201, declared.text
        company.service.settled()
    company.service.home.masks.write_text('[[mask]]\ntag = "PII"\n')
    try:
        with company.client(*ROLES["analyst"]) as client:
            for dataset in (ours.source, ours.sink):
                page = client.post("/graphql", json=_asked(_ROWS, d=dataset)).json()["data"]["rows"]
                assert [row["values"] for row in page["rows"]] == [["ann", "(masked)", "Ulm"], ["bob", "(masked)", "Ulm"]]
                assert _refusal(client.post("/graphql", json=_asked(_ROWS, d=dataset, w="salary > 'a'"))) == "InvalidQueryError"
    finally:
        company.service.home.masks.unlink()


def _named(company: _Company, *paths: str) -> None:
    """Let an event name datasets by these paths."""
    event = run_event(len(company.ring.listed()) + 20_000)
    event["inputs"], event["outputs"] = [{"namespace": "file", "name": path} for path in paths], []
    with company.service.client() as owner:
        assert owner.post("/api/v1/lineage", json=event).status_code == 201
        company.service.settled()


def test_a_masked_file_stays_masked_whatever_an_event_calls_it(masked: _Company) -> None:
    folder = masked.ours.read.parent
    link = folder.parent / "linked"
    link.symlink_to(folder)
    paths = [f"{folder.parent}", f"{folder.parent}//./people/in.parquet", f"{link}/in.parquet"]
    escaped = f"{folder.parent}/%70eople/in.parquet"  # names no file: nothing in a path is an escape
    with masked.client(*ROLES["analyst"], Scope.INTAKE) as client:
        _named(masked, *paths, escaped)
        none = client.post("/graphql", json=_asked(_ROWS, d=node_id("dataset", "file", escaped)))
        assert none.json()["data"]["rows"]["rows"] == [], none.text
        for path in paths:
            dataset = node_id("dataset", "file", path)
            answer = client.post("/graphql", json=_asked(_ROWS, d=dataset, w="name = 'ann'"))
            rows = answer.json()["data"]["rows"]["rows"]
            assert rows, (path, answer.text)
            assert {tuple(row["values"]) for row in rows} == {("ann", "(masked)", "Ulm")}, path
            for where in ("salary > 'a'", "name = 'ann' AND starts_with(salary, 'c')"):
                for body in (_asked(_ROWS, d=dataset, w=where), _asked(_TRACE, d=dataset, w=where, f=False)):
                    answer = client.post("/graphql", json=body)
                    assert _refusal(answer) == "InvalidQueryError", (path, answer.text)
            place = [{"file": f"file:{masked.ours.read}", "row": 0}]
            answer = client.post("/graphql", json=_asked(_TRACE, d=dataset, r=place, f=False))
            assert SECRET not in answer.text, path


def test_a_tag_masks_a_column_whatever_an_event_calls_its_file(company: _Company) -> None:
    paid = company.ours.read.parent.parent / "tagged" / "paid.parquet"
    paid.parent.mkdir()
    pq.write_table(pa.table({"name": ["ann"], "salary": [SECRET]}), paid)
    _named(company, str(paid), str(paid.parent))
    with company.service.client() as owner:
        column = node_id("column", "file", str(paid), "salary")
        event = run_event(4712)
        fields = {"fields": [{"name": "name"}, {"name": "salary"}]}
        facet = {"_producer": "https://example.org/p", "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json"}
        event["inputs"], event["outputs"] = [{"namespace": "file", "name": str(paid), "facets": {"schema": facet | fields}}], []
        assert owner.post("/api/v1/lineage", json=event).status_code == 201
        company.service.settled()
        declared = owner.post("/api/v1/declarations", json={"descriptions": [{"id": column, "aspect": "tag", "value": "pay"}]})
        assert declared.status_code == 201, declared.text
        company.service.settled()
    company.service.home.masks.write_text('[[mask]]\ntag = "pay"\n')
    try:
        with company.client(*ROLES["analyst"]) as client:
            for path in (paid, paid.parent):
                page = client.post("/graphql", json=_asked(_ROWS, d=node_id("dataset", "file", str(path)))).json()["data"]["rows"]
                assert [row["values"] for row in page["rows"]] == [["ann", "(masked)"]], path
    finally:
        company.service.home.masks.unlink()
        paid.unlink()


def test_where_a_masked_file_is_shown_as_text_all_of_it_is_masked(company: _Company) -> None:
    folder = company.ours.read.parent.parent / "texts"
    folder.mkdir()
    files = {"pay.csv": f"name,salary\nann,{SECRET}\n", "pay.json": json.dumps({"name": "ann", "salary": SECRET}) + "\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    _named(company, *(str(folder / name) for name in files))
    company.service.home.masks.write_text('[[mask]]\ncolumns = ["salary"]\ndatasets = ["*/texts/*"]\n')
    try:
        with company.client(*ROLES["analyst"]) as client:
            for name in files:
                dataset = f"dataset:file:{folder / name}"
                page = client.post("/graphql", json=_asked(_ROWS, d=dataset)).json()["data"]["rows"]
                assert {value for row in page["rows"] for value in row["values"]} == {"(masked)"}, name
                for where in ("value LIKE '%9%'", "length(value) > 3"):
                    assert _refusal(client.post("/graphql", json=_asked(_ROWS, d=dataset, w=where))) == "InvalidQueryError"
                ordered = client.post("/graphql", json=_asked(_ROWS, d=dataset, o={"column": "value"}))
                assert _refusal(ordered) == "InvalidQueryError"
                places = [{"file": f"file:{folder / name}", "row": 0}]
                traced = client.post("/graphql", json=_asked(_TRACE, d=dataset, r=places, f=False)).json()["data"]["trace"]
                assert [record["values"] for record in traced["selected"]] == [{"value": "(masked)"}], name
        with company.client(*ROLES["investigator"]) as client:
            page = client.post("/graphql", json=_asked(_ROWS, d=f"dataset:file:{folder / 'pay.csv'}")).json()["data"]["rows"]
            assert page["rows"][1]["values"] == [f"ann,{SECRET}"]
    finally:
        company.service.home.masks.unlink()
        for name in files:
            (folder / name).unlink()


def test_a_tag_that_masks_is_taken_back_by_those_alone_who_may_see_what_it_masks(company: _Company) -> None:
    column = f"column:file:{company.ours.read.parent}:city"

    def declared(tag: str, *, removed: bool) -> dict[str, Any]:
        return {"descriptions": [{"id": column, "aspect": "tag", "value": tag, "removed": removed}]}

    mutation = "mutation ($d: JSON!) { declare(declaration: $d) }"
    company.service.home.masks.write_text('[[mask]]\ntag = "Home"\n')
    _named(company, str(company.ours.read.parent))
    try:
        with company.service.client() as owner, company.client(*ROLES["steward"]) as steward:
            event = run_event(4713)
            fields = {"fields": [{"name": "city"}]}
            facet = {"_producer": "https://example.org/p", "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json"}
            event["inputs"] = [{"namespace": "file", "name": str(company.ours.read.parent), "facets": {"schema": facet | fields}}]
            event["outputs"] = []
            assert owner.post("/api/v1/lineage", json=event).status_code == 201
            company.service.settled()
            assert steward.post("/api/v1/declarations", json=declared("home", removed=False)).status_code == 201
            assert steward.post("/api/v1/declarations", json=declared("other", removed=True)).status_code == 201
            for tag in ("home", "HOME"):
                body = declared(tag, removed=True)
                assert _refusal(steward.post("/api/v1/declarations", json=body)) == "ForbiddenError"
                assert _refusal(steward.post("/graphql", json=_asked(mutation, d=body))) == "ForbiddenError"
            company.service.settled()
            page = steward.post("/graphql", json=_asked(_ROWS, d=company.ours.source)).json()["data"]["rows"]
            assert {row["values"][2] for row in page["rows"]} == {"(masked)"}
            company.service.home.masks.write_text("[[mask]]\ncolumn = 1\n")
            refused = steward.post("/api/v1/declarations", json=declared("home", removed=True))
            assert _refusal(refused) == "ForbiddenError", "which tags mask is not known then"
            assert owner.post("/api/v1/declarations", json=declared("home", removed=True)).status_code == 201
            company.service.settled()
    finally:
        company.service.home.masks.unlink()


def test_what_a_replayed_program_said_is_told_to_those_who_may_see_values(company: _Company, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(f"print('ann earns {SECRET}')\nraise SystemExit(3)\n")
    invocation = Invocation(
        run="r", namespace="tests", job="job", argv=["job.py"], working_directory=str(tmp_path), script=str(script),
        script_sha256=sha256(script.read_bytes()).hexdigest(),
    )  # fmt: skip
    replay = Replay(
        id="f" * 32, tenant="default", output="dataset:file:/x", started_at="2026-01-31T10:00:00.000+00:00", process=os.getpid(),
        shadow=str(tmp_path / "shadow"), exclude={}, steps=[Step(job="job:tests:job", invocation=invocation)],
    )  # fmt: skip
    folder = company.service.home.replays / replay.id
    with pytest.raises(ReplayFailedError) as failed:
        run_steps(replay, folder, lambda _: None)
    replay.state, replay.error = ReplayState.FAILED, str(failed.value)
    (folder / "replay.json").write_text(replay.model_dump_json())
    asked = [_asked("query ($i: ID!) { replay(id: $i) { state error } }", i=replay.id), {"query": "{ replays { state error } }"}]

    def told(*scopes: Scope) -> str:
        with company.client(*scopes) as client:
            answers = [client.post("/graphql", json=body).json()["data"] for body in asked]
        assert answers[0]["replay"]["state"] == "FAILED"
        assert answers[1]["replays"] == [answers[0]["replay"]]
        return str(answers[0]["replay"]["error"])

    try:
        assert told(Scope.READ) == "job.py ended with exit code 3"
        assert f"ann earns {SECRET}" in told(Scope.READ, Scope.RECORDS)
        company.service.home.masks.write_text('[[mask]]\ncolumns = ["salary"]\n')
        assert told(*ROLES["engineer"]) == "job.py ended with exit code 3"
        assert f"ann earns {SECRET}" in told(*ROLES["investigator"])
        replay.error = f"{FAULT}{ValueError(SECRET)!r}"
        (folder / "replay.json").write_text(replay.model_dump_json())
        assert told(*ROLES["engineer"]) == "A fault of ours."
    finally:
        company.service.home.masks.unlink(missing_ok=True)
        shutil.rmtree(folder)


@pytest.mark.parametrize(("number", "names"), [(9003, ["_c0", "_c1", "_c2"]), (9004, ["name;salary;city"])])
def test_where_the_last_reader_made_up_the_names_of_columns_all_are_masked(company: _Company, number: int, names: list[str]) -> None:
    folder = company.ours.read.parent.parent / f"cut-{number}"
    lake = _Lake(folder, number)
    path = folder / "csv" / "in.csv"
    path.parent.mkdir()
    path.write_text(f"name;salary;city\nann;{SECRET};Ulm\n".replace(";", "," if len(names) > 1 else ";"))
    source = lake.manifest["sources"][0]
    source |= {"dataset": {"namespace": "file", "name": str(path.parent)}, "path": f"file:{path.parent}", "format": "csv"}
    source |= {"columns": [{"name": name, "type": "string"} for name in names]}
    source |= {"files": [{"ordinal": 0, "ordinals": 1, **_block(path)}]}
    columns = [{**column, "attr": place} for place, column in enumerate(source["columns"], start=1)]
    lake.manifest["operators"][0]["columns"] = [column["attr"] for column in columns]
    lake.manifest["operators"][1]["columns"] = lake.manifest["sink"]["columns"] = columns
    company.service.home.masks.write_text('[[mask]]\ncolumns = ["salary"]\n')
    try:
        with company.service.client() as owner:
            lake.send(owner)
            company.service.settled()
        dataset = node_id("dataset", "file", str(path.parent))
        with company.client(*ROLES["analyst"]) as client:
            page = client.post("/graphql", json=_asked(_ROWS, d=dataset)).json()["data"]["rows"]
            assert [column["name"] for column in page["columns"]] == names
            assert {value for row in page["rows"] for value in row["values"]} == {"(masked)"}
            refused = client.post("/graphql", json=_asked(_ROWS, d=dataset, w=f"\"{names[-1]}\" > 'a'"))
            assert _refusal(refused) == "InvalidQueryError"
    finally:
        company.service.home.masks.unlink()
        shutil.rmtree(folder)


def test_a_masked_column_stays_masked_in_an_earlier_version(masked: _Company) -> None:
    ours = masked.ours
    then = (
        "query ($d: String!, $w: String, $at: String) { trace(dataset: $d, where: $w, asOf: $at)"
        " { records { values } selected { values } } }"
    )
    run = ours.manifest["run"]["runId"]
    with masked.client(*ROLES["analyst"]) as client:
        for named, at in ((ours.sink, run), (f"{ours.sink}@{run}", None)):
            answer = client.post("/graphql", json=_asked(then, d=named, w="name = 'bob'", at=at))
            found = answer.json()["data"]["trace"]
            assert [record["values"]["salary"] for record in (*found["records"], *found["selected"])] == ["(masked)", "(masked)"]
            refused = client.post("/graphql", json=_asked(then, d=named, w="salary > 'a'", at=at))
            assert _refusal(refused) == "InvalidQueryError", refused.text


def test_rules_that_cannot_be_read_mask_everything(company: _Company) -> None:
    company.service.home.masks.write_text("[[mask]]\ncolumn = 1\n")
    try:
        with company.client(*ROLES["analyst"]) as client:
            page = client.post("/graphql", json=_asked(_ROWS, d=company.ours.sink)).json()["data"]["rows"]
            assert {value for row in page["rows"] for value in row["values"]} == {"(masked)"}
    finally:
        company.service.home.masks.unlink()


def test_the_audit_log_names_the_holder_of_the_key_and_not_the_key(company: _Company) -> None:
    key, text = company.ring.create("auditor.test", ROLES["analyst"], tenant="default")
    with company.service.client(key=False, headers={"X-Api-Key": text}) as client:
        client.post("/graphql", json=_asked(_ROWS, d=company.ours.sink)).raise_for_status()
    lines = company.service.home.audit.read_text()
    assert f'"who":"key:auditor.test:{key.id}"' in lines
    assert text.split("_", 2)[2] not in lines


def test_an_auditor_reads_the_lines_of_his_tenant_alone(company: _Company) -> None:
    for tenant, lake in (("default", company.ours), ("sales", company.theirs)):
        with company.client(*ROLES["analyst"], tenant=tenant) as client:
            client.post("/graphql", json=_asked(_ROWS, d=lake.sink)).raise_for_status()
    with company.client(*ROLES["analyst"]) as analyst:
        assert analyst.get("/api/v1/audit").status_code == 403
    with company.client(*ROLES["auditor"], tenant="sales") as auditor, company.service.client() as owner:
        theirs = [json.loads(line) for line in auditor.get("/api/v1/audit").raise_for_status().text.splitlines()]
        assert {entry["tenant"] for entry in theirs} == {"sales"}
        assert "rows" in {entry["what"] for entry in theirs}
        both = [json.loads(line) for line in owner.get("/api/v1/audit", params={"last": 1000}).raise_for_status().text.splitlines()]
        assert {"default", "sales", None} <= {entry.get("tenant") for entry in both}
        assert both[-1]["what"] == "audit.read", "the auditor stands in it too"
        refused = owner.get("/api/v1/audit", params={"decision": "refused", "by": "key:k", "since": both[0]["at"]}).text.splitlines()
        assert {json.loads(line)["what"] for line in refused} >= {"audit.read"}
        assert owner.get("/api/v1/audit", params={"since": "yesterday"}).status_code == 400


def test_a_damaged_file_of_keys_shuts_out_their_holders_alone(company: _Company) -> None:
    _, text = company.ring.create("later", ROLES["viewer"], tenant="default")
    kept = company.service.home.named_keys.read_bytes()
    ask = {"query": "{ service { version } }"}
    try:
        company.service.home.named_keys.write_bytes(b"no database" * 500)
        with company.service.client(key=False, headers={"X-Api-Key": text}) as client, company.service.client() as owner:
            assert client.post("/graphql", json=ask).status_code == 503
            assert owner.post("/graphql", json=ask).status_code == 200
    finally:
        company.service.home.named_keys.write_bytes(kept)


def test_reports_of_data_quality_tell_their_values_to_those_alone_who_may_see_the_columns(company: _Company) -> None:
    facet = {"_producer": "https://example.org/p", "_schemaURL": "https://openlineage.io/spec/facets/1-0-2/DataQualityMetrics.json"}
    metrics = facet | {"rowCount": 3, "columnMetrics": {"salary": {"min": 1, "max": 987654, "quantiles": {"0.5": 987654}}}}
    found = {"assertion": "max_is", "success": False, "column": "salary", "expected": "987654", "actual": "987654"}
    event = run_event(4711)
    read = {"namespace": "file", "name": "/hr/reported"}
    event["inputs"] = [read | {"inputFacets": {"dataQualityMetrics": metrics, "dataQualityAssertions": facet | {"assertions": [found]}}}]
    dataset, run = "dataset:file:/hr/reported", f"run:{event['run']['runId']}"
    with company.service.client() as owner:
        assert owner.post("/api/v1/lineage", json=event).status_code == 201
        company.service.settled()
    node = "query ($i: ID!) { node(id: $i) { properties } }"
    quality = "query ($i: ID!) { quality(node: $i) { column results { values } } }"
    edges = "query ($i: ID!) { lineage(focus: [$i], kinds: [CHECKS]) { edges { properties } } }"
    asked = [_asked(node, i=dataset), _asked(node, i=run), _asked(quality, i=dataset), _asked(edges, i=run)]

    def told(*scopes: Scope) -> list[bool]:
        with company.client(*scopes) as client:
            answers = [client.post("/graphql", json=body) for body in asked]
            answers.append(client.get("/api/v1/namespaces/file/datasets/%2Fhr%2Freported"))
            assert all(answer.status_code == 200 and "errors" not in answer.json() for answer in answers), [a.text for a in answers]
            assert '"success":false' in answers[2].text, "whether it was as expected is no value"
            return ["987654" in answer.text for answer in answers]

    assert told(Scope.READ) == [False] * 5
    assert told(Scope.READ, Scope.RECORDS) == [True] * 5
    company.service.home.masks.write_text('[[mask]]\ncolumns = ["salary"]\n')
    try:
        assert told(*ROLES["engineer"]) == [False] * 5
        assert told(*ROLES["investigator"]) == [True] * 5
    finally:
        company.service.home.masks.unlink()


def test_the_python_client_gives_typed_answers_and_tables(company: _Company) -> None:
    ours = company.ours
    _, text = company.ring.create("notebook", {*ROLES["analyst"], Scope.UNMASKED, Scope.INTAKE}, tenant="default")
    client = Client(company.service.url, text)
    rows = client.rows(ours.sink, where="city = 'Ulm'", order="name", descending=True, first=1)
    assert (rows.total, [record.values["name"] for record in rows.records]) == (2, ["bob"])
    assert rows.arrow().schema.names == ["dataset", "file", "row", "line", "name", "salary", "city"]
    place = [(str(ours.first[0]["file"]), 0)]
    trace = client.trace(ours.sink, rows=place)
    assert (trace.exact, trace.reasons, trace.total) == (True, [], 1)
    assert trace.arrow().select(["file", "row", "salary"]).to_pylist() == [{"file": f"file:{ours.read}", "row": 0, "salary": SECRET}]
    assert trace.pandas().loc[0, "name"] == "ann"
    assert [(hop.output, list(hop.inputs), hop.records) for hop in trace.path] == [(ours.sink, [ours.source], 1)]
    assert SECRET in trace._repr_html_()
    assert client.trace(ours.sink, rows=place, values=False).records[0].values == {}
    lineage = client.lineage(ours.sink, direction="UPSTREAM")
    assert (ours.source in [node.id for node in lineage.nodes], lineage.hidden) == (True, False)
    assert ours.sink in [node.id for node in client.datasets("file")]
    assert client.node(ours.sink) in client.search("out.parquet", kinds=["DATASET"]) + client.search("pay", kinds=["DATASET"])
    job = next(job for job in client.jobs() if client.runs(job.id))
    assert [run.kind for run in client.runs(job.id, states=["NONE"])] == []
    assert {version.kind for version in client.versions(ours.sink)} == {"VERSION"}
    run = next(version for version in client.versions(ours.sink) if "capture" in version.properties).id
    same = client.diff(ours.sink, run)
    assert (same["total"], same["exact"], same["before"]["asOf"]) == (0, True, run)
    with pytest.raises(InvalidQueryError, match="has no block 99"):
        client.diff(ours.sink, "99")
    with pytest.raises(InvalidQueryError, match="salry"):
        client.rows(ours.sink, where="salry = 1")
    with pytest.raises(KeyRequiredError):
        Client(company.service.url, "wrong").node(ours.sink)

    async def asked() -> tuple[list[str], bool, str]:
        async with AsyncClient(company.service.url, text) as several:
            trace, rows = await asyncio.gather(several.trace(ours.sink, where="name = 'ann'"), several.rows(ours.sink))
            return [node.id async for node in several.datasets()], trace.exact, str(rows.records[0].values["name"])

    found, exact, first = asyncio.run(asked())
    assert ours.sink in found
    assert (exact, first) == (True, "ann")


def test_values_of_several_types_in_one_column_are_text() -> None:
    records = [
        Record("d", "f", number, None, "RECORD", {"a": value, "dataset": "own"}) for number, value in enumerate((1, "(masked)", None))
    ]
    table = Rows("d", [], records, 3, None).arrow()
    assert table.column(4).to_pylist() == ["1", "(masked)", None]
    assert table.schema.names == ["dataset", "file", "row", "line", "a", "dataset"]


@pytest.mark.slow
def test_a_refusal_by_a_mask_is_written_before_its_answer_and_no_answer_is_kept_by_others(masked: _Company) -> None:
    ours = masked.ours
    with masked.client(*ROLES["analyst"]) as client:
        for number in range(12):
            bodies = (
                _asked(_ROWS, d=ours.sink, w=f"salary > '{number}'"), _asked(_ROWS, d=ours.sink, o={"column": "salary"}),
                _asked(_TRACE, d=ours.sink, w=f"salary > '{number}'", f=False),
            )  # fmt: skip
            answer = client.post("/graphql", json=bodies[number % 3])
            last = json.loads(masked.service.home.audit.read_text().splitlines()[-1])
            assert _refusal(answer) == "InvalidQueryError"
            assert (last["what"], last["decision"]) == ("trace" if number % 3 == 2 else "rows", "refused"), last
        shown = client.post("/graphql", json=_asked(_ROWS, d=ours.sink))
        assert {answer.headers["cache-control"] for answer in (shown, answer)} == {"no-store"}
