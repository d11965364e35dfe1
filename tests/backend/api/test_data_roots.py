"""Someone with the key names files of the machine in what the service takes in, and asks for their rows."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.spark_listener.registry import Registry
from tests.backend.captures import capture
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

ROWS = "query ($dataset: ID!) { rows(dataset: $dataset) { rows { values } total note } }"
_EVENT = {"producer": "https://example.org/producer", "eventTime": "2013-02-12T03:00:00Z"}
_DATASET = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent"


def _rows(client: httpx.Client, dataset: str) -> dict[str, Any]:
    answer = client.post("/graphql", json={"query": ROWS, "variables": {"dataset": dataset}}).json()
    assert not answer.get("errors"), answer
    return dict(answer["data"]["rows"])


def _state_dataset(client: httpx.Client, name: str) -> None:
    event = {**_EVENT, "schemaURL": _DATASET, "dataset": {"namespace": "file", "name": name}}
    assert client.post("/api/v1/lineage", json=event).status_code == 201


def _files_of_the_machine(service: ServiceProcess, tmp_path: Path) -> list[str]:
    (tmp_path / "note.txt").write_text("secret\n")
    (tmp_path / "link").symlink_to("/etc/passwd")
    home = service.home.path
    return [
        "/etc/passwd", "/etc/hosts", "/proc/self/environ", "/proc/self/root/etc/passwd", f"{tmp_path}/note.txt", f"{tmp_path}/link",
        f"{home}/key", f"{home}/ingest.db", f"{home}/../{home.name}/key", f"{home}/service.log", str(home), "/etc",
    ]  # fmt: skip


def test_a_dataset_event_opens_no_file_of_the_machine(service: ServiceProcess, client: httpx.Client, tmp_path: Path) -> None:
    names = _files_of_the_machine(service, tmp_path)
    for name in names:
        _state_dataset(client, name)
    service.settled()
    for name in names:
        page = _rows(client, f"dataset:file:{name}")
        assert (page["rows"], page["total"]) == ([], 0), name
        assert "not readable here" in page["note"], name


def test_a_manifest_opens_no_file_of_the_machine(service: ServiceProcess, client: httpx.Client) -> None:
    for number, secret in enumerate(("/etc/passwd", f"{service.home.path}/key"), start=7000):
        manifest, parts = capture(number)
        source = manifest["sources"][0]
        source |= {"dataset": {"namespace": "file", "name": secret}, "path": f"file:{secret}", "format": "text"}
        source["columns"] = [{"name": "value", "type": "string"}]
        source["files"][0] |= {"path": f"file:{secret}", "length": Path(secret).stat().st_size}
        source["files"][0]["modified"] = Path(secret).stat().st_mtime_ns // 1_000_000
        for name, data in parts.items():
            headers = {"X-Headwater-Sha256": sha256(data).hexdigest()}
            assert client.put(f"/api/v1/captures/{manifest['capture']}/segments/{name}", content=data, headers=headers).status_code == 204
        assert client.post("/api/v1/captures", json=manifest).status_code == 201
        service.settled()
        page = _rows(client, f"dataset:file:{secret}")
        assert (page["rows"], page["total"]) == ([], 0)
        assert "not readable here" in page["note"]


def test_a_provenance_document_opens_no_file_of_the_machine(service: ServiceProcess, client: httpx.Client) -> None:
    document = {"prefix": {"ex": "http://example.org/"}, "entity": {"ex:a": {"prov:location": "file:/etc/passwd"}}}
    assert client.post("/api/v1/prov", params={"format": "json"}, content=json.dumps(document)).status_code in (200, 201)
    xml = (
        '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        '<prov:document xmlns:prov="http://www.w3.org/ns/prov#" xmlns:ex="http://example.org/">'
        '<prov:entity prov:id="ex:b"><prov:label>&x;</prov:label></prov:entity></prov:document>'
    )
    answer = client.post("/api/v1/prov", params={"format": "xml"}, content=xml)
    assert answer.status_code == 422, answer.text
    assert "root:" not in answer.text
    context = {"@context": "file:///etc/passwd", "@graph": [{"@id": "ex:c", "@type": "prov:Entity"}]}
    answer = client.post("/api/v1/prov", params={"format": "jsonld"}, content=json.dumps(context))
    assert "root:" not in answer.text


def test_what_a_program_of_the_home_read_is_readable_without_a_setting(
    service: ServiceProcess, client: httpx.Client, tmp_path: Path
) -> None:
    (tmp_path / "data.txt").write_text("a record\n")
    _state_dataset(client, f"{tmp_path}/data.txt")
    service.settled()
    assert _rows(client, f"dataset:file:{tmp_path}/data.txt")["rows"] == []
    Registry(service.home.path).add_roots([f"{tmp_path}/data.txt"])  # as the program's own process does
    assert _rows(client, f"dataset:file:{tmp_path}/data.txt")["rows"] == [{"values": ["a record"]}]


@pytest.mark.parametrize("kind", ["START", "COMPLETE"])
def test_an_event_that_reads_and_writes_a_file_makes_no_root(
    service: ServiceProcess, client: httpx.Client, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "data.txt").write_text("a record\n")
    flow = [{"namespace": "file", "name": f"{tmp_path}/data.txt"}]
    event = run_event(9000, kind, inputs=flow, outputs=flow)
    assert client.post("/api/v1/lineage", json=event).status_code == 201
    service.settled()
    assert _rows(client, f"dataset:file:{tmp_path}/data.txt")["rows"] == []
