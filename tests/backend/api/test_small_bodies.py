"""Bodies that are small enough to be read at once. The unpacked size counts for packed ones."""

from __future__ import annotations

import gzip
from itertools import count
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headwater.backend.api.bodies import SMALL, small_body
from headwater.backend.app import create_app
from headwater.backend.home.settings import load_settings
from tests.backend.events import run_event


@pytest.mark.parametrize("encoding", ["gzip", "X-GZIP"])
def test_a_packed_body_is_as_small_as_what_it_unpacks_to(encoding: str) -> None:
    text = b"a" * 999
    assert small_body(gzip.compress(text), encoding, 1000) == text
    assert small_body(gzip.compress(text + b"a"), encoding, 1000) is None


def test_a_body_without_encoding_is_measured_as_it_is() -> None:
    assert small_body(b"a" * 999, None, 1000) == b"a" * 999
    assert small_body(b"a" * 1000, None, 1000) is None


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"a", mtime=0)[:-3], "gzip"),
        (b"no gzip", "gzip"),
        (gzip.compress(b"a", mtime=0), "br"),
        (gzip.compress(b"", mtime=0) * SMALL, "gzip"),
    ],
)
def test_what_is_not_plainly_small_is_left_to_a_reader(body: bytes, encoding: str) -> None:
    assert small_body(body, encoding, 16_384) is None


def test_those_of_a_tenant_whose_bodies_take_long_are_read_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.ingest.bodies.inline_budget._USUAL", 0.0)
    monkeypatch.setattr("headwater.backend.ingest.bodies.inline_budget._SHARE", 0.0)
    app = create_app(load_settings(home=tmp_path))
    with TestClient(app, base_url="http://localhost") as client:
        parts = app.state.service
        headers = {"X-Api-Key": parts.settings.key()}
        numbers = count()
        while parts.readers.inline.has_left("default"):
            client.post("/api/v1/lineage", json=run_event(next(numbers)), headers=headers).raise_for_status()
        assert parts.readers.pids == []
        client.post("/api/v1/lineage", json=run_event(next(numbers)), headers=headers).raise_for_status()
        assert len(parts.readers.pids) == 1
