"""A time-stamp authority confirms when the log was in a state, and every changed bit of its token is refused."""

from __future__ import annotations

import asyncio
import random
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

import headwater.backend.evidence.timestamp_token as token_module
from headwater.backend.evidence.keys import rotate
from headwater.backend.evidence.stamps import StampError, stamp_checkpoint
from headwater.backend.evidence.timestamp_token import TokenError, read_authorities, read_stamp, verify_token
from headwater.backend.evidence.verify import STAMPED, TOKEN, Checkpoint, EvidenceError, pack, unpack, verify
from headwater.backend.targets import TimestampTarget, read_targets
from headwater.backend.targets.timestamp import ask_authority
from headwater.errors import ConfigurationError, UnavailableError
from tests.backend.cli.command import headwater
from tests.backend.evidence.authority import Authority, Change, Issued, issue, make_authority, served
from tests.backend.evidence.test_bundles import TENANT, Evidence, _draft, _evidence
from tests.captured import capture_pipeline, log_manifests

_STAMPING = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    folder = tmp_path / "log"
    folder.mkdir()
    yield from _evidence(folder)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("tsa") / "rsa")


@pytest.fixture(scope="module")
def elliptic(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("tsa") / "ec", elliptic=True, ess="sha1")


def _stamp(evidence: Evidence, authority: Authority, certificate: bytes | None = None) -> tuple[Checkpoint, str]:
    with served(authority) as url:
        target = TimestampTarget("there", url, certificate or authority.root.pem, is_private=True)
        return stamp_checkpoint(evidence.tree, evidence.log, evidence.key, target)


def _token(evidence: Evidence) -> tuple[bytes, bytes]:
    """Return the token of a bundle, and the text that it is about."""
    members = unpack(evidence.bundle())
    return members[TOKEN], members[STAMPED].partition(b"\n\n")[0] + b"\n"


@pytest.mark.parametrize("kind", ["authority", "elliptic"])
def test_a_bundle_has_the_first_stamp_of_all_its_entries(kind: str, evidence: Evidence, request: pytest.FixtureRequest) -> None:
    authority: Authority = request.getfixturevalue(kind)
    assert verify(evidence.bundle(), evidence.key.public).stamped is None
    began = datetime.now(UTC).replace(microsecond=0)
    stamped, at = _stamp(evidence, authority)
    assert stamped.size == 60
    assert began <= datetime.fromisoformat(at) <= began + timedelta(minutes=2)
    _stamp(evidence, authority)  # a later one is not needed
    evidence.log.append(TENANT, [_draft("c", 1_000)]).result()
    public = evidence.key.public
    rotate(evidence.folder / "evidence.pem", evidence.tree)
    report = verify(evidence.bundle(), public)
    assert report.stamped == stamped
    assert report.checkpoint.size == 61
    assert verify(evidence.bundle(), evidence.key.public).stamped == stamped  # by the new key alone
    token, text = _token(evidence)
    assert text == stamped.text.encode()
    for trusted in (authority.root, authority.middle):
        assert verify_token(token, text, [trusted.certificate]).isoformat(timespec="seconds") == at
    evidence.log.append(TENANT, [_draft("a", 1_000)]).result()  # a newer entry of the answer, which no token covers
    assert verify(evidence.bundle(), public).stamped is None


def test_openssl_accepts_the_token(evidence: Evidence, authority: Authority, tmp_path: Path) -> None:
    _stamp(evidence, authority)
    token, text = _token(evidence)
    for name, content in (("token", token), ("text", text), ("ca", authority.root.pem)):
        (tmp_path / name).write_bytes(content)
    command = ["openssl", "ts", "-verify", "-in", "token", "-token_in", "-data", "text", "-CAfile", "ca"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert "Verification: OK" in done.stdout + done.stderr


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["authority", "elliptic"])
def test_no_bit_of_a_token_can_be_changed(kind: str, step: int, evidence: Evidence, request: pytest.FixtureRequest) -> None:
    authority: Authority = request.getfixturevalue(kind)
    _stamp(evidence, authority)
    token, text = _token(evidence)
    trusted = [authority.root.certificate]
    verify_token(token, text, trusted)
    for bit in range(0, 8 * len(token), step):
        changed = bytearray(token)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(TokenError):
            verify_token(bytes(changed), text, trusted)
    for length in range(0, len(token), step):
        with pytest.raises(TokenError):
            verify_token(token[:length], text, trusted)
    drawn = random.Random(3)
    for _ in range(2_000 // step):
        changed = bytearray(token)
        for _ in range(drawn.randint(1, 4)):
            at = drawn.randrange(len(changed))
            changed[at : at + drawn.randint(0, 3)] = drawn.randbytes(drawn.randint(0, 3))
        if changed != token:
            with pytest.raises(TokenError):
                verify_token(bytes(changed), text, trusted)
    for other in (token + b"\0", b"", b"\x30\x80" + token, b"\x30\x84\xff\xff\xff\xff" + token, bytes(70_000)):
        with pytest.raises(TokenError):
            verify_token(other, text, trusted)


def test_a_token_of_another_authority_or_text_is_refused(evidence: Evidence, authority: Authority, elliptic: Authority) -> None:
    _stamp(evidence, authority)
    token, text = _token(evidence)
    for wrong in (elliptic.root, issue("root", None), elliptic.signer):
        with pytest.raises(TokenError, match="No valid chain"):
            verify_token(token, text, [wrong.certificate])
    with pytest.raises(TokenError, match="another checkpoint"):
        verify_token(token, text + b"x", [authority.root.certificate])
    raw = authority.reply((authority.folder / "query").read_bytes())
    whole = token_module.Node(0x30, raw).parts()[0].parts()[1].raw
    verify_token(whole, text, [authority.root.certificate])
    shorter = read_stamp(whole, text, [authority.root.certificate], drops_trusted=True).token
    verify_token(shorter, text, [authority.root.certificate])
    assert len(shorter) < len(whole)
    parts = token_module._parse(whole)
    more = replace(parts, certificates=(*parts.certificates, elliptic.root.certificate.public_bytes(Encoding.DER))).raw
    assert read_stamp(more, text, [authority.root.certificate]).token == whole
    with pytest.raises(TokenError, match="nobody signed"):
        verify_token(more, text, [authority.root.certificate])


def _with(*extensions: tuple[x509.ExtensionType, bool]) -> Change:
    def change(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return builder

    return change


@pytest.mark.parametrize(
    ("change", "days", "reason"),
    [
        (_with((_STAMPING, False)), (-1, 1), "only for time stamps"),
        (_with(), (-1, 1), "only for time stamps"),
        (_with((x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.CODE_SIGNING]), True)), (-1, 1), "only for"),
        (_with((_STAMPING, True), (x509.BasicConstraints(ca=True, path_length=0), True)), (-1, 1), "only for time stamps"),
        (_with((_STAMPING, True), (x509.NameConstraints([x509.DNSName("x")], None), True)), (-1, 1), "No valid chain"),
        (_with((_STAMPING, True)), (-9, -1), "No valid chain"),
        (_with((_STAMPING, True)), (1, 9), "No valid chain"),
    ],
)
def test_a_certificate_of_another_kind_is_refused(
    change: Change, days: tuple[int, int], reason: str, evidence: Evidence, authority: Authority
) -> None:
    """openssl refuses to sign with some of these. So a token is signed anew here, in the form of a real one."""
    _stamp(evidence, authority)
    token, text = _token(evidence)
    good = issue("signer", authority.middle, change=_with((_STAMPING, True)))
    verify_token(_resigned(token, authority, good), text, [authority.root.certificate])
    bad = issue("signer", authority.middle, change=change, days=days)
    with pytest.raises(TokenError, match=reason):
        verify_token(_resigned(token, authority, bad), text, [authority.root.certificate])


def test_a_certificate_that_may_not_issue_others_is_refused(evidence: Evidence, authority: Authority) -> None:
    _stamp(evidence, authority)
    token, text = _token(evidence)
    middle = issue("middle", authority.root, change=_with((x509.BasicConstraints(ca=False, path_length=None), True)))
    signer = issue("signer", middle, change=_with((_STAMPING, True)))
    other = Authority(authority.folder, authority.root, middle, signer)
    with pytest.raises(TokenError, match="No valid chain"):
        verify_token(_resigned(token, other, signer), text, [authority.root.certificate])


def _resigned(token: bytes, authority: Authority, signer: Issued) -> bytes:
    """Return a token with the contents of another one, signed by another certificate."""
    parts, certificate = token_module._parse(token), signer.certificate
    raw = certificate.public_bytes(Encoding.DER)
    encode = token_module.encode
    named = b""
    for attribute in parts.attributes.parts():
        if attribute.parts()[0].content.hex() == token_module._SIGNING_CERTIFICATE_2:
            value = encode(0x30, encode(0x30, encode(0x30, encode(0x04, sha256(raw).digest()))))
            named += encode(0x30, attribute.parts()[0].raw + encode(0x31, value))
        else:
            named += attribute.raw
    assert isinstance(signer.key, RSAPrivateKey)
    signature = signer.key.sign(encode(0x31, named), PKCS1v15(), SHA256())
    who = token_module.Node(0x30, certificate.issuer.public_bytes() + token_module.integer(certificate.serial_number))
    pool = (raw, authority.middle.certificate.public_bytes(Encoding.DER))
    return replace(parts, certificates=pool, signer=who, attributes=token_module.Node(0xA0, named), signature=signature).raw


def test_a_bundle_with_a_part_of_a_stamp_is_refused(evidence: Evidence, authority: Authority) -> None:
    _stamp(evidence, authority)
    bundle = evidence.bundle()
    for name in (STAMPED, "stamped.json", TOKEN):
        members = unpack(bundle)
        del members[name]
        with pytest.raises(EvidenceError):
            verify(pack(members), evidence.key.public)


def test_what_is_no_answer_stores_nothing(evidence: Evidence, authority: Authority, elliptic: Authority) -> None:
    kept: list[bytes] = []

    def same(query: bytes) -> bytes:
        kept.append(authority.reply(query))
        return kept[0]

    def refusal(_: bytes) -> bytes:
        return bytes.fromhex("301a301802010230") + bytes([len(b"\x0c\x11not today, \x1b[31mno") + 0]) + b"\x0c\x11not today, \x1b[31mno"

    def ask(answer: object, certificate: bytes = authority.root.pem, kind: str = "application/timestamp-reply") -> None:
        with served(authority, answer, kind) as url:  # type: ignore[arg-type]
            stamp_checkpoint(evidence.tree, evidence.log, evidence.key, TimestampTarget("there", url, certificate, is_private=True))

    for answer in (lambda _: b"", lambda _: b"hello", lambda _: b"\x30\x03\x02\x01\x00", lambda query: authority.reply(query)[:-9]):
        with pytest.raises(StampError, match="does not hold"):
            ask(answer)
    with pytest.raises(StampError, match=r"refused|does not hold"):
        ask(refusal)
    with pytest.raises(StampError, match="No valid chain"):
        ask(None, elliptic.root.pem)
    with pytest.raises(UnavailableError, match="not a time stamp"):
        ask(None, kind="text/html")
    with pytest.raises(UnavailableError, match="more than 65,536 bytes"):
        ask(lambda _: bytes(1 << 17))
    assert evidence.tree.first_stamp(0) is None
    ask(same)
    with pytest.raises(StampError, match=r"another request|another checkpoint"):
        ask(same)


def test_an_answer_that_never_ends_is_given_up() -> None:
    """The authority sends a byte now and then, so that no timeout of the socket is reached."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        stopped = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with closing(connection):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stopped.wait(0.05):
                    try:
                        connection.sendall(b"a")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        target = TimestampTarget("slow", f"http://127.0.0.1:{server.getsockname()[1]}/", b"", is_private=True)
        began = datetime.now(UTC)
        with pytest.raises(UnavailableError, match="does not answer"):
            ask_authority(target, b"x", seconds=1.0)
        assert datetime.now(UTC) - began < timedelta(seconds=9)
        stopped.set()
        thread.join()


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ('url = "http://tsa.example.com"', "not https"), ('url = "http://10.0.0.1/"', "not https"),
        ('url = "http://localhost.example/"', "not https"),
        ('url = "ftp://127.0.0.1/"', "http or https"), ('url = "https://user@tsa.example.com/"', "http or https"),
        ('url = "https://tsa.example.com"\nsecret_file = "x"', "secret_file"),
        ('url = "https://tsa.example.com"\ncertificate_file = "none.pem"', "read"),
        ('url = "https://tsa.example.com"\ncertificate_file = "targets.toml"', "no certificate"),
    ],
)  # fmt: skip
def test_another_description_of_an_authority_is_refused(stated: str, reason: str, tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "root.pem").write_bytes(authority.root.pem)
    certificate = "" if "certificate_file" in stated else '\ncertificate_file = "root.pem"'
    (tmp_path / "targets.toml").write_text(f'[[timestamp]]\nname = "there"\n{stated}{certificate}\n')
    with pytest.raises(ConfigurationError, match=reason):
        read_targets(tmp_path / "targets.toml")


def test_the_commands_stamp_and_verify(tmp_path: Path, authority: Authority, elliptic: Authority) -> None:
    home, report = tmp_path / "home", str(tmp_path / "data" / "report")
    asyncio.run(capture_pipeline(home, tmp_path / "data"))
    log_manifests(home)
    (home / "root.pem").write_bytes(authority.root.pem)
    (tmp_path / "other.pem").write_bytes(elliptic.root.pem)
    assert "no time-stamp authority 'there'" in headwater("evidence", "timestamp", "there", "--home", str(home), code=3).stderr
    with served(authority) as url:
        (home / "targets.toml").write_text(f'[[timestamp]]\nname = "there"\nurl = "{url}"\ncertificate_file = "root.pem"\n')
        assert "there stamped the state of" in headwater("evidence", "timestamp", "there", "--home", str(home)).stderr
    public = headwater("evidence", "key", "--home", str(home)).stdout.strip()
    bundle = tmp_path / "bundle.zip"
    headwater("evidence", "export", report, "--where", "true", "-o", str(bundle), "--home", str(home))
    valid = headwater("evidence", "verify", str(bundle), "--key", public, "--authority", str(home / "root.pem"))
    assert "The authority stamped its first" in valid.stderr
    module = tmp_path / "timestamp_token.py"
    shutil.copyfile(token_module.__file__, module)
    assert len(module.read_text().splitlines()) <= 400
    refused = headwater("evidence", "verify", str(bundle), "--key", public, "--authority", str(tmp_path / "other.pem"), code=2)
    assert "NOT valid" in refused.stderr
    for file, code in ((home / "root.pem", 0), (tmp_path / "other.pem", 1)):
        done = subprocess.run(
            [sys.executable, "-I", str(module), str(bundle), "--authority", str(file)], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == code


def test_a_file_without_a_certificate_is_named() -> None:
    with pytest.raises(TokenError, match="no certificate"):
        read_authorities(b"hello")
