"""The capture intake: segments first, whole or not at all; then the manifest, which counts once."""

from __future__ import annotations

import gzip
import json
import sqlite3
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.serving import LocalService
from headwater.graph.records import ANYWHERE, AssociationStore
from tests.backend.captures import ROWS, capture
from tests.backend.service import ServiceProcess

_PATH = "/api/v1/captures"


def _put(client: httpx.Client, identifier: str, name: str, data: bytes, **headers: str) -> httpx.Response:
    return client.put(
        f"{_PATH}/{identifier}/segments/{name}", content=data, headers={"X-Headwater-Sha256": sha256(data).hexdigest(), **headers}
    )


def test_a_capture_is_kept_when_its_segments_and_manifest_are_here(client: httpx.Client, service: ServiceProcess) -> None:
    manifest, segments = capture(1)
    for name, data in segments.items():
        assert _put(client, manifest["capture"], name, data).status_code == 204
    response = client.post(_PATH, json=manifest)
    assert (response.status_code, response.json()["duplicate"]) == (201, False)
    service.settled()
    store = AssociationStore(service.home.associations, sources=ANYWHERE)
    assert [file.rows for file in store.files("default", manifest["capture"])] == [ROWS, ROWS]
    store.close()


def test_a_manifest_before_its_segments_is_told_what_is_missing(client: httpx.Client) -> None:
    manifest, segments = capture(2, segments=3)
    first, *others = segments
    _put(client, manifest["capture"], first, segments[first])
    response = client.post(_PATH, json=manifest)
    assert (response.status_code, response.json()["missing"]) == (409, others)
    for name in others:
        _put(client, manifest["capture"], name, segments[name])
    assert client.post(_PATH, content=gzip.compress(json.dumps(manifest).encode()), headers={"Content-Encoding": "gzip"}).status_code == 201


def test_a_manifest_sent_again_changes_nothing(client: httpx.Client, service: ServiceProcess) -> None:
    manifest, segments = capture(3)
    for name, data in segments.items():
        _put(client, manifest["capture"], name, data)
        assert _put(client, manifest["capture"], name, data).status_code == 204
    offset = client.post(_PATH, json=manifest).json()["offset"]
    assert client.post(_PATH, json=manifest).json() == {"offset": offset, "duplicate": True}
    service.settled()  # published: the staged segments are gone, and nothing is missing
    assert client.post(_PATH, json=manifest).json() == {"offset": offset, "duplicate": True}


def test_a_segment_that_was_damaged_on_its_way_is_refused(client: httpx.Client) -> None:
    manifest, segments = capture(4, segments=1)
    ((name, data),) = segments.items()
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    response = _put(client, manifest["capture"], name, damaged, **{"X-Headwater-Sha256": sha256(data).hexdigest()})
    assert (response.status_code, response.json()["field"]) == (400, "X-Headwater-Sha256")
    assert client.post(_PATH, json=manifest).json()["missing"] == [name]


def test_a_segment_with_the_wrong_bytes_under_a_right_hash_of_them_counts_as_missing(client: httpx.Client) -> None:
    manifest, segments = capture(5, segments=1)
    (name,) = segments
    assert _put(client, manifest["capture"], name, b"something else").status_code == 204
    assert client.post(_PATH, json=manifest).json()["missing"] == [name]


def test_a_segment_without_its_hash_is_refused(client: httpx.Client) -> None:
    response = client.put(f"{_PATH}/{capture(6)[0]['capture']}/segments/b0-s1.0-p0-a1.seg", content=b"x")
    assert (response.status_code, response.json()["field"]) == (400, "header.X-Headwater-Sha256")


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("../../../etc", "b0-s1.0-p0-a1.seg"),
        ("..", "b0-s1.0-p0-a1.seg"),
        ("not-a-uuid", "b0-s1.0-p0-a1.seg"),
        ("0D3C3C52-4F0A-4D3A-9B6E-0D6D1F5A7C11", "b0-s1.0-p0-a1.seg"),
        ("0d3c3c52-4f0a-4d3a-9b6e-0d6d1f5a7c11", "manifest.json"),
        ("0d3c3c52-4f0a-4d3a-9b6e-0d6d1f5a7c11", "..%2F..%2Fkey"),
        ("0d3c3c52-4f0a-4d3a-9b6e-0d6d1f5a7c11", "b0-s1.0-p0-a1.seg.tmp"),
        ("0d3c3c52-4f0a-4d3a-9b6e-0d6d1f5a7c11", "b0-s1.0-p0-a1.seg%00"),
    ],
)
def test_no_text_of_a_sender_becomes_a_path(client: httpx.Client, service: ServiceProcess, identifier: str, name: str) -> None:
    before = sorted(service.home.path.rglob("*.seg*"))
    response = _put(client, identifier, name, b"x")
    assert response.status_code in (400, 401, 404, 405), response.text
    assert sorted(service.home.path.rglob("*.seg*")) == before
    assert service.home.key() == client.headers["Authorization"].removeprefix("Bearer ")


def test_a_segment_over_the_limit_is_refused_and_leaves_nothing(client: httpx.Client, service: ServiceProcess) -> None:
    name = "b0-s1.0-p0-a1.seg"
    response = _put(client, capture(7)[0]["capture"], name, b"x" * 300_001)
    assert response.status_code == 413
    streamed = client.put(
        f"{_PATH}/{capture(7)[0]['capture']}/segments/{name}",
        content=(b"x" * 100_000 for _ in range(4)),
        headers={"X-Headwater-Sha256": "0" * 64},
    )
    assert streamed.status_code == 413
    assert not list(service.home.associations.glob(".incoming-*"))


def test_a_manifest_that_is_none_names_its_field_and_is_kept(client: httpx.Client, service: ServiceProcess) -> None:
    manifest, _ = capture(8)
    manifest["segments"][0]["name"] = "../x"
    response = client.post(_PATH, json=manifest)
    assert (response.status_code, response.json()["field"]) == (400, "$.segments[0].name")
    connection = sqlite3.connect(f"file:{service.home.log}?mode=ro", uri=True)
    letters = [json.loads(text) for (text,) in connection.execute("SELECT body FROM dead_letter WHERE field = '$.segments[0].name'")]
    connection.close()
    manifest["sources"][0]["options"] = {"fs.s3a.secret.key": "[redacted]"}
    assert letters == [manifest]


@pytest.mark.parametrize("sent", [b"", b"[]", b"[{}]", b"5", b"{}", b'{"format": 2}'])
def test_other_json_is_no_manifest(client: httpx.Client, sent: bytes) -> None:
    assert client.post(_PATH, content=sent).status_code in (400, 422)


def test_secrets_of_options_do_not_reach_the_log(client: httpx.Client, service: ServiceProcess) -> None:
    manifest, segments = capture(9)
    for name, data in segments.items():
        _put(client, manifest["capture"], name, data)
    assert client.post(_PATH, json=manifest).status_code == 201
    connection = sqlite3.connect(f"file:{service.home.log}?mode=ro", uri=True)
    kept = [text for (text,) in connection.execute("SELECT body FROM entry WHERE kind = 'capture'")]
    connection.close()
    assert kept
    assert not [text for text in kept if b"hunter2" in text]


def test_a_query_that_was_refused_names_its_sources_without_their_files(client: httpx.Client, service: ServiceProcess) -> None:
    manifest, _ = capture(10)
    manifest |= {"status": "refused", "problems": [{"operator": "Write ORC", "reason": "not numbered", "kind": "refused"}], "segments": []}
    del manifest["sources"][0]["files"], manifest["sources"][0]["splits"]
    assert client.post(_PATH, json=manifest).status_code == 201
    connection = sqlite3.connect(f"file:{service.home.log}?mode=ro", uri=True)
    (kept,) = [
        text for (text,) in connection.execute("SELECT body FROM entry WHERE kind = 'capture'") if manifest["capture"].encode() in text
    ]
    connection.close()
    assert json.loads(kept)["sources"][0]["dataset"] == manifest["sources"][0]["dataset"]
    assert b"hunter2" not in kept


@pytest.mark.parametrize(
    ("method", "path", "stated", "taken"),
    [
        ("POST", "/api/v1/lineage", "application/json", True),
        ("POST", "/api/v1/lineage", "Application/JSON; charset=UTF-8", True),
        ("POST", "/api/v1/lineage", "application/json; charset=utf-16", False),
        ("POST", "/api/v1/lineage", "application/x-www-form-urlencoded", False),
        ("POST", "/api/v1/lineage", "text/plain", False),
        ("POST", "/api/v1/lineage", "", False),
        ("POST", "/api/v1/captures", "multipart/form-data; boundary=x", False),
        ("POST", "/api/v1/declarations", "text/plain;application/json", False),
        ("POST", "/api/v1/prov", "text/provenance-notation", True),
        ("POST", "/api/v1/prov", "text/html", False),
        ("PUT", f"{_PATH}/x/segments/y", "application/json", False),
        ("PUT", f"{_PATH}/x/segments/y", "application/octet-stream", True),
    ],
)
def test_a_body_that_is_stated_to_be_something_else_is_refused(
    client: httpx.Client, method: str, path: str, stated: str, taken: bool
) -> None:
    response = client.request(method, path, content=b"nothing", headers={"Content-Type": stated})
    assert (response.status_code != 415) is taken, response.text
    if not taken:
        assert (response.json()["error"], response.json()["field"]) == ("UnsupportedMediaType", "Content-Type")


def test_segments_beyond_the_quota_are_told_to_wait(tmp_path: Path) -> None:
    service = LocalService(load_settings(home=tmp_path, port=0, staged_bytes=1000))
    service.start()
    try:
        with httpx.Client(base_url=service.url, headers={"X-Api-Key": Home.at(tmp_path).key()}, trust_env=False, timeout=60) as client:
            statuses = []
            for number, size in enumerate((600, 600, 300)):
                data = b"x" * size
                path = f"{_PATH}/0b5ad6a2-3f0f-4e0c-9d6e-2f3b0c9d8e7{number}/segments/b0-s1.0-p0-a1.seg"
                answer = client.put(path, content=data, headers={"X-Headwater-Sha256": sha256(data).hexdigest()})
                statuses.append(answer.status_code)
    finally:
        service.stop()
    assert statuses == [204, 503, 204]
    assert answer.text == ""
