"""Someone with the key sends a program, says in an event that a job was started as it, and asks for a replay: nothing runs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from headwater.spark_listener.registry import Program, Registry
from tests.backend.captures import capture
from tests.backend.events import facet, run_event
from tests.backend.service import ServiceProcess

START = "mutation ($dataset: String!, $rows: [RowRef!]) { startReplay(dataset: $dataset, rows: $rows) { id state } }"


def _attack(service: ServiceProcess, client: httpx.Client, folder: Path, number: int) -> dict[str, Any]:
    """Send a capture of a job over a file, a program as a segment, and events that name it; the answer to the mutation."""
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
    rows = [{"file": manifest["sources"][0]["files"][0]["path"], "row": 3}]
    asked = {"dataset": manifest["sources"][0]["dataset"]["name"], "rows": rows}
    return dict(client.post("/graphql", json={"query": START, "variables": asked}).json())


def test_a_program_that_came_over_the_network_is_not_run(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    Registry(service.home.path).add_roots([str(tmp_path)])
    answer = _attack(service, client, tmp_path, 7100)
    assert "is not registered on this home, and nothing else is run" in answer["errors"][0]["message"], answer
    assert not (tmp_path / "it-ran").exists()
    assert not list(service.home.replays.iterdir())


def test_a_registered_script_that_was_replaced_is_not_run(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    registry = Registry(service.home.path)
    registry.add_roots([str(tmp_path)])
    program = Program(
        namespace="tests", job="pipeline", argv=["evil.py"], script=str(tmp_path / "evil.py"), script_sha256="0" * 64,
        working_directory=str(tmp_path), operator=True,
    )  # fmt: skip
    registry.register(program)
    try:
        answer = _attack(service, client, tmp_path, 7101)
    finally:
        registry.remove(program.id)
    assert "has changed since it was registered" in answer["errors"][0]["message"], answer
    assert not (tmp_path / "it-ran").exists()
