"""A real time-stamp authority on this machine: `openssl ts` behind a small HTTP server, with a chain of three certificates."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
Change = Callable[[x509.CertificateBuilder], x509.CertificateBuilder]
_STAMPING = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])


@dataclass(frozen=True)
class Issued:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)


@dataclass
class Authority:
    """The folder of an authority, and its certificates from the root to the signer's. `url` is its address while it is `served`."""

    folder: Path
    root: Issued
    middle: Issued
    signer: Issued
    ess: str = "sha256"
    digest: str = "sha256"
    url: str = ""

    def reply(self, query: bytes) -> bytes:
        """Answer a request as the authority does."""
        (self.folder / "query").write_bytes(query)
        command = ["openssl", "ts", "-reply", "-config", "ts.cnf", "-queryfile", "query", "-out", "reply"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=60)
        return (self.folder / "reply").read_bytes()

    def write(self) -> None:
        (self.folder / "serial").write_text("01\n")
        (self.folder / "signer.pem").write_bytes(self.signer.pem)
        (self.folder / "chain.pem").write_bytes(self.middle.pem + self.root.pem)
        key = self.signer.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.folder / "signer.key").write_bytes(key)
        (self.folder / "ts.cnf").write_text(
            "[tsa]\ndefault_tsa = here\n[here]\nserial = serial\ncrypto_device = builtin\nsigner_cert = signer.pem\ncerts = chain.pem\n"
            f"signer_key = signer.key\nsigner_digest = {self.digest}\ndefault_policy = 1.2.3.4.1\ndigests = sha256\naccuracy = secs:1\n"
            f"ordering = yes\ntsa_name = yes\ness_cert_id_chain = no\ness_cert_id_alg = {self.ess}\n"
        )


def make_authority(folder: Path, *, elliptic: bool = False, change: Change | None = None, ess: str = "sha256") -> Authority:
    """Make an authority. `change` adds to the certificate of its signer, which is otherwise complete without its usage."""
    folder.mkdir()
    root = issue("root", None, elliptic=elliptic)
    middle = issue("middle", root, elliptic=elliptic)
    change = change or (lambda builder: builder.add_extension(_STAMPING, critical=True))
    made = Authority(folder, root, middle, issue("signer", middle, elliptic=elliptic, change=change), ess)
    made.write()
    return made


def issue(
    name: str, issuer: Issued | None, *, elliptic: bool = False, change: Change | None = None, days: tuple[int, int] = (-1, 1)
) -> Issued:
    """Make a certificate. Without `change`, it may issue others."""
    key: Key = ec.generate_private_key(ec.SECP256R1()) if elliptic else rsa.generate_private_key(65537, 2048)
    subject, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), datetime.now(UTC)
    builder = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0])).not_valid_after(now + timedelta(days=days[1]))
    )  # fmt: skip
    builder = change(builder) if change else builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Issued(builder.sign(issuer.key if issuer else key, SHA256()), key)


@contextmanager
def served(
    authority: Authority, answer: Callable[[bytes], bytes] | None = None, kind: str = "application/timestamp-reply"
) -> Iterator[str]:
    """Serve an authority on the loopback interface. `answer` replaces its answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            reply = (answer or authority.reply)(query)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tsa"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
