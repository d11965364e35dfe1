"""Large traces at a running service: they are jobs, on the Spark that its operator named, with the answer of any other trace."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import Scope
from headwater.graph.model import node_id
from tests.backend.cli.command import headwater
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess
from tests.captured import capture_pipeline
from tests.jvm import submit

pytestmark = pytest.mark.spark

_ARGUMENTS = "$d: String!, $w: String, $r: [RowRef!], $v: Boolean! = true"
_TRACE = f"query ({_ARGUMENTS}) {{ trace(dataset: $d, where: $w, rows: $r) {{ total records {{ file row values @include(if: $v) }} }} }}"
_START = f"mutation ({_ARGUMENTS}) {{ startTrace(dataset: $d, where: $w, rows: $r, values: $v) {{ id state }} }}"
_JOB = "query ($id: ID!) { traceJob(id: $id) { state progress error endedAt answer { exact total records { file row values } } } }"
_CANCEL = "mutation ($id: ID!) { cancelTrace(id: $id) { state } }"


class _Lake:
    def __init__(self, folder: Path) -> None:
        self.home, self.enriched = folder / "home", str(folder / "lake" / "enriched")
        self.home.mkdir(mode=0o700)
        asyncio.run(capture_pipeline(self.home, folder / "lake"))
        (self.home / "masks.toml").write_text('[[mask]]\ncolumns = ["tail"]\n', encoding="utf-8")

    def asked(self, *more: str) -> dict[str, Any]:
        """Return the output of the command, without the time that it took."""
        printed = headwater("trace", self.enriched, "--where", "number < 9", "-f", "json", *more)
        answer: dict[str, Any] = json.loads(printed.stdout)
        return {key: value for key, value in answer.items() if key not in {"elapsed_ms", "storage"}} | {"told": printed.stderr}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> _Lake:
    return _Lake(tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def service(lake: _Lake) -> Iterator[ServiceProcess]:
    options = "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=1 --conf spark.sql.adaptive.enabled=false"
    spark = {"HEADWATER_SPARK_MASTER": "local[1]", "HEADWATER_SPARK_TRACE_ROWS": "5", "PYSPARK_SUBMIT_ARGS": submit(options)}
    with ServiceProcess(lake.home, **spark) as running:
        yield running


def client_of(service: ServiceProcess, *scopes: Scope) -> httpx.Client:
    ring = KeyRing(service.home.named_keys)
    _, text = ring.create(f"k{len(ring.listed())}", scopes, tenant="default")
    return service.client(key=False, headers={"Authorization": f"Bearer {text}"})


def ask(client: httpx.Client, document: str, **variables: Any) -> dict[str, Any]:
    """The data of an answer; the code of the first error."""
    body = client.post("/graphql", json={"query": document, "variables": variables}).json()
    if "errors" in body:
        return {"code": body["errors"][0]["extensions"]["code"]}
    data: dict[str, Any] = body["data"]
    return data


def ended(client: httpx.Client, identifier: str) -> dict[str, Any]:
    deadline = time.monotonic() + 400
    while True:
        job: dict[str, Any] = ask(client, _JOB, id=identifier)["traceJob"]
        if job["endedAt"] is not None:
            return job
        assert time.monotonic() < deadline, job
        time.sleep(0.2)


def test_a_large_trace_is_a_job_of_spark_with_the_answer_of_any_other(lake: _Lake, service: ServiceProcess, monkeypatch) -> None:
    here = lake.asked("--home", str(lake.home))
    monkeypatch.setenv("HEADWATER_URL", service.url)
    monkeypatch.setenv("HEADWATER_API_KEY", service.home.key())
    there = lake.asked()
    assert "followed by jobs of Spark" in there.pop("told")
    assert "Spark" not in here.pop("told")
    assert there == here
    assert here["records"]


def test_a_job_is_told_to_nobody_but_its_caller_and_as_the_caller_may_see_it(lake: _Lake, service: ServiceProcess) -> None:
    readers = [Scope.READ, Scope.RECORDS]
    with client_of(service, *readers) as caller, client_of(service, *readers) as other, client_of(service, Scope.READ) as viewer:
        asked: dict[str, Any] = {"d": lake.enriched, "w": "number < 9"}
        assert ask(caller, _TRACE, **asked) == {"code": "LargeTraceError"}
        assert ask(viewer, _START, **asked) == ask(viewer, _START, **asked, v=False) == {"code": "ForbiddenError"}
        identifier = ask(caller, _START, d=lake.enriched, w="number = 3")["startTrace"]["id"]  # a small one, which needs no Spark
        assert ask(other, _JOB, id=identifier) == {"traceJob": None}
        assert ask(other, _CANCEL, id=identifier) == {"cancelTrace": None}
        job = ended(caller, identifier)
        assert (job["state"], job["error"], job["progress"]) == ("COMPLETE", None, [])
        values = [record["values"] for record in job["answer"]["records"]]
        assert {value["tail"] for value in values if "tail" in value} <= {"(masked)", None}
        assert any("number" in value for value in values)
        (service.home.path / "masks.toml").write_text('[[mask]]\ncolumns = ["tail", "carrier"]\n', encoding="utf-8")
        assert ask(caller, _JOB, id=identifier) == {"code": "ForbiddenError"}
    with service.client() as owner:
        assert ask(owner, _JOB, id=identifier) == {"traceJob": None}


@pytest.mark.slow
def test_a_column_that_is_tagged_after_a_job_ran_does_not_come_out_of_it(lake: _Lake, service: ServiceProcess) -> None:
    rules = service.home.path / "masks.toml"
    before = rules.read_text(encoding="utf-8")
    rules.write_text('[[mask]]\ntag = "PII"\n', encoding="utf-8")
    schema: dict[str, Any] = {"_producer": "https://example.org/p", "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/Schema.json"}
    schema["fields"] = [{"name": "carrier"}, {"name": "number"}]
    event = run_event(1)
    event["inputs"], event["outputs"] = [], [{"namespace": "file", "name": lake.enriched, "facets": {"schema": schema}}]
    answer = "answer { total selected { values } }"
    look = f"query ($id: ID!) {{ traceJob(id: $id) {{ {answer} }} }}"
    try:
        with client_of(service, Scope.READ, Scope.RECORDS) as caller, service.client() as owner:
            assert owner.post("/api/v1/lineage", json=event).status_code == 201
            service.settled()
            wheres = ("number = 3", "number = 3 AND carrier <> ''")
            shown, chosen = (ask(caller, _START, d=lake.enriched, w=where)["startTrace"]["id"] for where in wheres)
            assert (ended(caller, shown)["state"], ended(caller, chosen)["state"]) == ("COMPLETE", "COMPLETE")
            told = ask(caller, look, id=shown)["traceJob"]["answer"]
            assert all(record["values"]["carrier"] not in ("(masked)", None) for record in told["selected"])
            assert told["selected"]
            stated = [{"id": node_id("column", "file", lake.enriched, "carrier"), "aspect": "tag", "value": "pii"}]
            assert owner.post("/api/v1/declarations", json={"descriptions": stated}).status_code == 201
            service.settled()
            masked = [{**record["values"], "carrier": "(masked)"} for record in told["selected"]]
            assert ask(caller, look, id=shown)["traceJob"]["answer"] == {**told, "selected": [{"values": values} for values in masked]}
            assert ask(caller, look, id=chosen) == {"code": "InvalidQueryError"}, "who selects by a value learns it"
    finally:
        rules.write_text(before, encoding="utf-8")


def test_a_cancelled_job_ends_its_spark_and_the_service_goes_on(lake: _Lake, service: ServiceProcess) -> None:
    with service.client() as client:
        identifier = ask(client, _START, d=lake.enriched, w="true")["startTrace"]["id"]
        deadline = time.monotonic() + 200
        while not ask(client, _JOB, id=identifier)["traceJob"]["progress"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        below = _below(service.process.pid)
        assert ask(client, _CANCEL, id=identifier) == {"cancelTrace": {"state": "CANCELLED"}}
        assert ended(client, identifier)["answer"] is None
        gone = {pid for pid, command in below.items() if "--job" in command or "java" in command}
        assert gone
        while any(Path(f"/proc/{pid}").exists() for pid in gone):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert client.get("/healthz").status_code == 200


def test_a_service_that_ends_leaves_no_spark_behind(lake: _Lake, service: ServiceProcess) -> None:
    with service.client() as client:
        identifier = ask(client, _START, d=lake.enriched, w="true")["startTrace"]["id"]
        deadline = time.monotonic() + 200
        while not ask(client, _JOB, id=identifier)["traceJob"]["progress"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    below = _below(service.process.pid)
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.wait(60)
    while any(Path(f"/proc/{pid}").exists() for pid in below):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    service.home.retract(service.process.pid)
    service.start()


def _below(pid: int) -> dict[int, str]:
    """The processes that a process started, and those that they started, with their commands."""
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            for child in map(int, task.read_text(encoding="ascii").split()):
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                waiting.append(child)
    return found
