"""A caller with the key sends a program, states in an event that a job was started as it, and asks to run it again: nothing runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.client import Client, Replay
from headwater.graph.access.rights import rights_of
from headwater.spark_listener.registry import Program, Registry
from tests.backend.captures import capture
from tests.backend.cli.command import headwater
from tests.backend.events import facet, run_event
from tests.backend.service import ServiceProcess

START = "mutation ($dataset: String!, $rows: [RowRef!]) { startReplay(dataset: $dataset, rows: $rows) { id state } }"


RECAPTURE = "mutation ($dataset: String!) { startRecapture(dataset: $dataset) { id state } }"


def _attack(service: ServiceProcess, client: httpx.Client, folder: Path, number: int, *, again: bool = False) -> dict[str, Any]:
    """Send a capture of a job over a file, a program as a segment, and events that name it; the answer to the mutation.

    `again`: what is asked for is a recapture of what the job wrote, instead of a replay.
    """
    manifest, parts = capture(number)
    manifest["sink"] |= {"dataset": {"namespace": "file", "name": f"{folder}/out"}, "path": f"file:{folder}/out"}
    for name, data in parts.items():
        headers = {"X-Headwater-Sha256": hashlib.sha256(data).hexdigest()}
        assert client.put(f"/api/v1/captures/{manifest['capture']}/segments/{name}", content=data, headers=headers).status_code == 204
    assert client.post("/api/v1/captures", json=manifest).status_code == 201
    evil = f"open({str(folder / 'it-ran')!r}, 'w')\n".encode()
    other, segment = str(uuid4()), "b0-s1.0-p0-a10.seg"
    headers = {"X-Headwater-Sha256": hashlib.sha256(evil).hexdigest()}
    client.put(f"/api/v1/captures/{other}/segments/{segment}", content=evil, headers=headers)
    sent = [path for path in service.home.path.rglob(segment) if path.read_bytes() == evil]
    (folder / "evil.py").write_bytes(evil)
    script = str(sent[0] if sent else folder / "evil.py")
    invocation = facet(
        argv=[script], script=script, script_sha256=hashlib.sha256(evil).hexdigest(), working_directory=str(folder), interpreter=script,
        environment={"PYTHONSTARTUP": script, "PYSPARK_PYTHON": script},
    )  # fmt: skip
    application = str(uuid4())
    parent = facet(run={"runId": application}, job={"namespace": "tests", "name": "pipeline"})
    flows = [{"namespace": "file", "name": name} for name in (manifest["sources"][0]["dataset"]["name"], f"{folder}/out")]
    job = {"namespace": manifest["run"]["namespace"], "name": manifest["run"]["job"]}
    run = {"runId": manifest["run"]["runId"], "facets": {"parent": parent}}
    events = [
        run_event(job=parent["job"], run={"runId": application, "facets": {"headwater_invocation": invocation}}, inputs=[], outputs=[]),
        run_event(job=job, run=run, inputs=flows[:1], outputs=flows[1:]),
    ]
    assert client.post("/api/v1/lineage", json=events).status_code == 201
    service.settled()
    if again:
        ended = [event | {"eventType": "COMPLETE", "eventTime": f"2026-01-31T10:{number % 60:02}:00Z"} for event in events]
        begun = [event | {"eventType": "START"} for event in events]
        assert client.post("/api/v1/lineage", json=begun + ended).status_code == 201
        service.settled()
        (folder / "out").mkdir()
        (folder / "out" / "part-00000").write_text("data")
        asked: dict[str, Any] = {"dataset": f"{folder}/out"}
        return dict(client.post("/graphql", json={"query": RECAPTURE, "variables": asked}).json())
    rows = [{"file": manifest["sources"][0]["files"][0]["path"], "row": 3}]
    asked = {"dataset": manifest["sources"][0]["dataset"]["name"], "rows": rows}
    return dict(client.post("/graphql", json={"query": START, "variables": asked}).json())


@contextmanager
def _replaced_script(service: ServiceProcess, folder: Path) -> Iterator[None]:
    """A registered program whose script is another one by now."""
    registry = Registry(service.home.path)
    registry.add_roots([str(folder)])
    program = Program(
        namespace="tests", job="pipeline", argv=["evil.py"], script=str(folder / "evil.py"), script_sha256="0" * 64,
        working_directory=str(folder), operator=True,
    )  # fmt: skip
    registry.register(program)
    try:
        yield
    finally:
        registry.remove(program.id)


def test_a_program_that_came_over_the_network_is_not_run(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    Registry(service.home.path).add_roots([str(tmp_path)])
    answer = _attack(service, client, tmp_path, 7100)
    assert "is not registered on this home, and nothing else is run" in answer["errors"][0]["message"], answer
    assert not (tmp_path / "it-ran").exists()
    assert not list(service.home.replays.iterdir())


def test_a_registered_script_that_was_replaced_is_not_run(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    with _replaced_script(service, tmp_path):
        answer = _attack(service, client, tmp_path, 7101)
    assert "has changed since it was registered" in answer["errors"][0]["message"], answer
    assert not (tmp_path / "it-ran").exists()


def test_a_program_that_came_over_the_network_is_not_recaptured(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    Registry(service.home.path).add_roots([str(tmp_path)])
    answer = _attack(service, client, tmp_path, 7102, again=True)
    assert "is not registered on this home, and nothing else is run" in answer["errors"][0]["message"], answer
    asked = {"HEADWATER_URL": service.url, "HEADWATER_API_KEY": service.home.key()}
    assert "is not registered on this home" in headwater("recapture", f"{tmp_path}/out", code=5, **asked).stderr
    told = client.post("/graphql", json={"query": "{ recaptures { id } }"}).json()
    assert told == {"data": {"recaptures": []}}
    assert not (tmp_path / "it-ran").exists()


def test_a_registered_script_that_was_replaced_is_not_recaptured(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    with _replaced_script(service, tmp_path):
        answer = _attack(service, client, tmp_path, 7103, again=True)
    assert "has changed since it was registered" in answer["errors"][0]["message"], answer
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize("named", ["/etc", "/etc/../etc/passwd", "dataset:file:%2Fproc%2Fself", "dataset:s3%3A//b:x", "../out", "x\x00"])
def test_what_no_known_run_wrote_is_not_recaptured(client: httpx.Client, named: str) -> None:
    answer = client.post("/graphql", json={"query": RECAPTURE, "variables": {"dataset": named}}).json()
    assert answer["errors"][0]["extensions"]["code"] in ("NotFoundError", "UnsupportedError", "InvalidQueryError"), answer


def test_a_recapture_is_for_whoever_may_replay_in_the_tenant_of_the_home(service: ServiceProcess) -> None:
    asked = {"query": RECAPTURE, "variables": {"dataset": "/data/out"}}
    with closing(KeyRing(service.home.named_keys)) as ring:
        for tenant, roles, scopes, code in (
            ("default", ["steward"], [], "ForbiddenError"),
            ("sales", ["engineer"], [], "ForbiddenError"),
            ("default", ["engineer"], [], "NotFoundError"),
            ("default", [], ["read:file*", "replay"], "ForbiddenError"),
        ):
            rights = rights_of(roles, scopes, lambda field, name: ValueError(f"{field} {name}"))
            _, text = ring.create(f"recaptures-{uuid4().hex}", rights, tenant=tenant)
            with service.client(key=False, headers={"X-Api-Key": text}) as caller:
                answer = caller.post("/graphql", json=asked).json()
                assert answer["errors"][0]["extensions"]["code"] == code, (tenant, roles, scopes, answer)


def test_a_client_answers_the_stops_of_a_replay(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"in{number}").mkdir()
        (tmp_path / f"in{number}" / "a.csv").write_text("k,v\n1,x\n2,y\n")
    (tmp_path / "job.py").write_text(f"open({str(tmp_path / 'it-ran')!r}, 'a').write('x')\n")
    registry = Registry(service.home.path)
    registry.add_roots([str(tmp_path)])
    digest = hashlib.sha256((tmp_path / "job.py").read_bytes()).hexdigest()
    events = []
    for number, reads, writes in ((1, "in1", "in2"), (2, "in2", "out")):
        job = {"namespace": "tests", "name": f"step-{number}-{uuid4().hex}"}
        registry.register(
            Program(
                namespace="tests", job=job["name"], argv=["job.py"], script=str(tmp_path / "job.py"), script_sha256=digest,
                working_directory=str(tmp_path), operator=True,
            )
        )  # fmt: skip
        inputs, outputs = ([{"namespace": "file", "name": str(tmp_path / name)}] for name in (reads, writes))
        events.append(run_event(job=job, run={"runId": str(uuid4())}, inputs=inputs, outputs=outputs))
    assert client.post("/api/v1/lineage", json=events).status_code == 201
    service.settled()
    asked = Client(service.url, service.home.key())
    stops: list[Any] = []

    def answer(now: Replay) -> None:
        if now.stop is None or now.stop in stops:
            return
        stops.append(now.stop)
        (row, *_) = now.stop["inputs"][0]["rows"]
        asked.answer_replay(now.id, "drop", file=row["file"], row=row["row"])
        asked.answer_replay(now.id, "edit", file=row["file"], row=1, edits={"v": "z"})
        asked.answer_replay(now.id, "continue" if len(stops) == 1 else "stop")

    ended = asked.replay("", output=str(tmp_path / "out"), kind="step", progress=answer)
    assert (ended.state, (tmp_path / "it-ran").read_text()) == ("FAILED", "x")
    assert "The replay was stopped before step-2" in str(ended.error)
    assert [stop["inputs"][0]["rows"][0]["values"] for stop in stops] == [{"k": 1, "v": "x"}] * 2
    assert [note.partition(": ")[2] for note in ended.notes if note.startswith("Before ")][:3] == [
        f"dropped record 0 of file:{tmp_path}/in1/a.csv.", f'set {{"v": "z"}} in record 1 of file:{tmp_path}/in1/a.csv.', "continued.",
    ]  # fmt: skip
