"""The audit of what is locked, by the real pip-audit and npm, before a service of advisories on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

from tests.house.scripts import load_script
from tests.ports import free_port

pytestmark = pytest.mark.slow

_FAULT = {
    "id": "GHSA-xxxx", "aliases": [], "summary": "it opens doors", "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "six"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.17.0"}]}],
            "versions": ["1.16.0"],
        }
    ],
}  # fmt: skip
_FOR_NPM = {"id": 1, "url": "https://example.org/1", "title": "it counts wrong", "severity": "high", "vulnerable_versions": "<9"}


@contextmanager
def _advisories(*, known: bool) -> Iterator[str]:
    """A service that knows one fault, or none. It answers as OSV does, and as npm's registry."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            answer: dict[str, Any] = {"is-number": [_FOR_NPM]} if self.path.startswith("/-/npm") else {"vulns": [_FAULT]}
            body = json.dumps(answer if known else {}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def audit(root: Path) -> ModuleType:
    return load_script(root, "audit")


@pytest.fixture
def required(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text(f"six==1.16.0 --hash=sha256:{'0' * 64}\n")
    return file


@pytest.fixture
def page(tmp_path: Path) -> Path:
    package = {"name": "page", "version": "1.0.0", "dependencies": {"is-number": "7.0.0"}}
    locked = {"node_modules/is-number": {"version": "7.0.0", "license": "MIT"}}
    (tmp_path / "package.json").write_text(json.dumps(package))
    (tmp_path / "package-lock.json").write_text(
        json.dumps({"name": "page", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": {"": package, **locked}})
    )
    return tmp_path


def test_known_faults_are_found_with_the_version_that_mends_them(audit: ModuleType, required: Path, page: Path) -> None:
    with _advisories(known=True) as service:
        (of_python,) = audit.of_python(required, "--osv-url", f"{service}/v1/query")
        (of_page,) = audit.of_page(f"--registry={service}/", folder=page)
    assert (of_python.package, of_python.fixed) == ("six 1.16.0", "1.17.0")
    assert of_page.package.startswith("is-number")
    assert of_page.name == "it counts wrong"


def test_where_nothing_is_known_nothing_is_found(audit: ModuleType, required: Path, page: Path) -> None:
    with _advisories(known=False) as service:
        assert audit.of_python(required, "--osv-url", f"{service}/v1/query") == []
        assert audit.of_page(f"--registry={service}/", folder=page) == []


def test_a_service_that_does_not_answer_is_told_apart_from_one_that_knows_nothing(audit: ModuleType, required: Path, page: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(audit.UnansweredError):
        audit.of_python(required, "--osv-url", f"{nobody}/v1/query")
    with pytest.raises(audit.UnansweredError):
        audit.of_page(f"--registry={nobody}/", "--fetch-retries=0", folder=page)


@pytest.mark.parametrize(("fixed", "code"), [("2.0", 1), ("", 0)])
def test_only_what_can_be_mended_fails(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fixed: str, code: int
) -> None:
    monkeypatch.setattr(audit, "of_python", lambda: [audit.Advisory("six 1.16.0", "GHSA-xxxx", fixed)])
    monkeypatch.setattr(audit, "of_page", lambda: audit.page_advisories("<html>", "npm error audit endpoint returned an error"))
    assert audit.main() == code
    told = capsys.readouterr().out
    assert "six 1.16.0: GHSA-xxxx" in told
    assert "the page: not audited, as the service of advisories did not answer: npm error audit endpoint returned an error" in told
