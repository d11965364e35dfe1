"""`GET /api/v1/evidence`: a valid bundle for those alone who may see all that is in it. And provenance of one record."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.backend.access.keys import ring_of
from headwater.backend.evidence.verify import PublicKey, unpack, verify
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.serving import LocalService
from headwater.graph.access.rights import kept_rights
from tests.captured import capture_pipeline, log_manifests

_PATH = "/api/v1/evidence"


class Captured:
    """A service over captured jobs."""

    def __init__(self, home: Path, root: Path) -> None:
        self.home = Home.at(home)
        self.report = f"dataset:file:{root / 'report'}"
        self.service = LocalService(load_settings(home=home, port=0))

    def get(self, path: str, key: str | None = None, **asked: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.home.key()}"}
        return httpx.get(f"{self.service.url}{path}", params={"target": self.report, **asked}, headers=headers, trust_env=False, timeout=60)

    def key(self, scopes: str) -> str:
        """A named key with some scopes."""
        ring = ring_of(load_settings(home=self.home.path))
        _, text = ring.create(f"key-{len(scopes)}-{secrets.token_hex(4)}", kept_rights(scopes), tenant="default")
        return text

    def record(self) -> dict[str, Any]:
        """The file and row of a record of the report."""
        query = "query ($of: ID!) { rows(dataset: $of, first: 1) { rows { file row } } }"
        answer = httpx.post(
            f"{self.service.url}/graphql",
            json={"query": query, "variables": {"of": self.report}},
            headers={"Authorization": f"Bearer {self.home.key()}"},
            trust_env=False,
            timeout=60,
        ).json()
        (record,) = answer["data"]["rows"]["rows"]
        return dict(record)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Captured]:
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("data")
    asyncio.run(capture_pipeline(home, root))
    log_manifests(home)
    captured = Captured(home, root)
    captured.service.start()
    yield captured
    captured.service.stop()


def test_the_bundle_of_a_record_is_valid_and_audited(captured: Captured) -> None:
    record = captured.record()
    answer = captured.get(_PATH, **record, semantics="witness")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip"), answer.text
    members = unpack(answer.content)
    keys = json.loads(members["keys.json"])
    assert verify(answer.content, PublicKey.parse(keys[-1]["key"])).question["rows"] == [record]
    path = json.loads(members["trace.json"])["path"]
    assert {hop["run"].partition(":")[2] for hop in path} <= {
        json.loads(content)["run"] for name, content in members.items() if name.endswith(".leaf")
    }
    lines = [json.loads(line) for line in captured.home.audit.read_text().splitlines()]
    (entry,) = [line for line in lines if line["what"] == "export.evidence" and line["decision"] == "allowed"]
    assert captured.report in entry["on"]


@pytest.mark.parametrize(
    "scopes",
    [
        "read",
        "read export",
        "read:file export:file records:file",
        "read export records:file",
        "read:file export records",
    ],
)
def test_who_may_not_see_all_that_is_in_it_gets_no_bundle(captured: Captured, scopes: str) -> None:
    key = captured.key(scopes)
    assert captured.get(_PATH, key=key, where="true").status_code == 403


def test_who_sees_masks_gets_no_bundle(captured: Captured) -> None:
    key = captured.key("read export records")
    assert captured.get(_PATH, key=key, where="true").status_code == 200
    captured.home.masks.write_text('[[mask]]\ncolumns = ["origin"]\n')
    try:
        refused = captured.get(_PATH, key=key, where="true")
        assert (refused.status_code, "masked" in refused.json()["message"]) == (403, True)
        assert captured.get(_PATH, key=captured.key("read export records unmasked:other"), where="true").status_code == 403
        assert captured.get(_PATH, key=captured.key("read export records unmasked"), where="true").status_code == 200
    finally:
        captured.home.masks.unlink()


@pytest.mark.parametrize("path", [_PATH, "/api/v1/prov"])
@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"file": "f"}, "row"),
        ({"row": 1}, "file"),
        ({"file": "f", "row": 1, "where": "true"}, "where"),
        ({"file": "f", "row": -1}, "query.row"),
    ],
)
def test_a_record_is_named_by_its_file_and_row_alone(captured: Captured, path: str, asked: dict[str, Any], field: str) -> None:
    refused = captured.get(path, **asked)
    assert (refused.status_code, refused.json()["field"]) == (400, field)


@pytest.mark.parametrize("asked", [{}, {"where": ""}, {"where": " "}, {"column": "origin"}])
def test_a_question_that_names_no_records_has_no_bundle(captured: Captured, asked: dict[str, Any]) -> None:
    refused = captured.get(_PATH, **asked)
    assert (refused.status_code, refused.json()["field"]) == (400, "where")


def test_a_question_that_selects_nothing_has_no_bundle(captured: Captured) -> None:
    assert captured.get(_PATH, where="false").status_code == 404


def test_the_provenance_of_a_record_is_that_of_a_predicate_that_selects_it(captured: Captured) -> None:
    everything = captured.get("/api/v1/prov", where="true").json()
    one = captured.get("/api/v1/prov", **captured.record()).json()
    sizes = [len(json.dumps(document["bundle"])) for document in (one, everything)]
    assert 0 < sizes[0] < sizes[1]
