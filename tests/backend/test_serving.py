"""The address that the service takes, and the links to its page."""

import json
import os
import socket
from collections.abc import Collection
from pathlib import Path

import httpx
import pytest

import headwater
from headwater.backend.api.credentials import READING, SESSION_SCOPES, WRITING
from headwater.backend.home.folder import Home, ServiceRecord
from headwater.backend.home.settings import load_settings
from headwater.backend.serving import LocalService, _bind, link_to
from headwater.graph.access.scopes import Scope


def test_an_answer_does_not_wait_for_its_head_to_be_acknowledged() -> None:
    with _bind("127.0.0.1", 0, exact=True) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("scopes", [READING, WRITING, SESSION_SCOPES], ids=["read", "write", "all"])
def test_a_link_opens_a_session_for_what_was_asked_and_the_audit_log_says_so(tmp_path: Path, scopes: Collection[Scope]) -> None:
    service = LocalService(load_settings(home=tmp_path, port=0))
    service.start()
    try:
        record = ServiceRecord(service.url, os.getpid(), "", headwater.__version__)
        for link in (service.link(scopes), link_to(record, Home.at(tmp_path).key(), scopes)):
            with httpx.Client(base_url=service.url, trust_env=False, timeout=60) as browser:
                assert browser.get(link).status_code == 303
                assert browser.get("/api/v1/session").json()["scopes"] == sorted(scopes)
    finally:
        service.stop()
    lines = map(json.loads, Home.at(tmp_path).audit.read_text().splitlines())
    opened = [(entry["who"].partition(":")[0], entry["reason"]) for entry in lines if entry["what"] == "session.open"]
    assert opened == [("session", f"it may {', '.join(sorted(scopes))}")] * 2
