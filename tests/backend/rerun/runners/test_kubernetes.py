"""The runner that creates a Job: the request to the API of Kubernetes, answered by a server with TLS on loopback."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from headwater.backend.rerun.runners import Launch
from headwater.backend.rerun.runners.elsewhere import launch_folder
from headwater.backend.rerun.runners.kubernetes import KubernetesJob
from headwater.errors import ConfigurationError, UnavailableError
from tests.backend.rerun.runners.test_settings import JOB
from tests.backend.rerun.runners.test_webhook import launch


class Api:
    """The API server: the requests that came, and the next answer."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, Any]]] = []
        self.status = 201


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """The folder of the service's account, with a certificate of its own."""
    folder = tmp_path / "account"
    folder.mkdir()
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    (folder / "ca.crt").write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "token").write_text("the-token\n")
    (folder / "namespace").write_text("data")
    return folder


@pytest.fixture
def api(account: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    found = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.requests.append((self.path, str(self.headers["Authorization"]), document))
            self.send_response(found.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(account / "ca.crt", account / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "localhost")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.server_port))
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def runner(tmp_path: Path, account: Path) -> KubernetesJob:
    template = tmp_path / "job.json"
    template.write_text(json.dumps(JOB))
    return KubernetesJob(template=template, account=account)


def _launch(tmp_path: Path) -> Launch:
    (tmp_path / "home").mkdir()
    return launch(tmp_path)


@pytest.mark.parametrize("status", [201, 409])
def test_a_job_is_created_once_and_the_end_of_its_program_is_awaited(runner: KubernetesJob, api: Api, tmp_path: Path, status: int) -> None:
    api.status = status
    asked = _launch(tmp_path)
    started: list[Thread] = []

    def start_pod() -> None:
        """Do what the pod of the Job does, when the Job is there."""
        if api.requests and not started:
            started.append(Thread(target=launch_folder, args=(asked.folder, tmp_path / "home" / "replays")))
            started[0].start()

    assert runner.run(asked, stop=start_pod) == 0
    started[0].join()
    ((path, authorization, job),) = api.requests
    assert (path, authorization) == ("/apis/batch/v1/namespaces/data/jobs", "Bearer the-token")
    assert job == runner.job_for(asked.id, asked.folder)
    assert (tmp_path / "it-ran").exists()


def test_a_refused_job_and_an_api_that_is_away_are_named(
    runner: KubernetesJob, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _launch(tmp_path)
    api.status = 403
    with pytest.raises(ConfigurationError, match="answered 403"):
        runner.run(asked, stop=lambda: None)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")  # the certificate is of another name
    with pytest.raises(UnavailableError, match="does not answer"):
        runner.run(asked, stop=lambda: None)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(ConfigurationError, match="does not run in Kubernetes"):
        runner.run(asked, stop=lambda: None)
    assert not (tmp_path / "it-ran").exists()
