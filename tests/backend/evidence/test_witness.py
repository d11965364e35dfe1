"""A witness signs what it can join to what it signed before, and `verify` demands its signature."""

from __future__ import annotations

import base64
import json
import shutil
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from headwater.backend.evidence.bundle import make_grown_checkpoint
from headwater.backend.evidence.verify import WITNESS_KEY, EvidenceError, PublicKey, verify
from headwater.backend.evidence.witness import cosign, make_witness
from headwater.errors import ConfigurationError, DamagedError, InvalidInputError
from tests.backend.evidence.test_bundles import TENANT, Evidence, _draft, _evidence


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    folder = tmp_path / "log"
    folder.mkdir()
    yield from _evidence(folder)


def _grow(evidence: Evidence, count: int = 3) -> None:
    size = evidence.log.latest(TENANT)
    evidence.log.append(TENANT, [_draft("a", size + number + 1_000) for number in range(count)]).result()


def _grown(evidence: Evidence, earlier: str) -> str:
    return make_grown_checkpoint(evidence.tree, evidence.log, evidence.key, earlier)


def test_a_bundle_since_a_witnessed_checkpoint_needs_the_witness(evidence: Evidence, tmp_path: Path) -> None:
    witness = make_witness(tmp_path / "w.pem", "auditor")
    assert PublicKey.parse(witness.text, WITNESS_KEY) == witness
    first, public = cosign(tmp_path / "w.pem", evidence.checkpoint(), evidence.key.public)
    assert public == witness
    _grow(evidence)
    second, _ = cosign(tmp_path / "w.pem", _grown(evidence, first), evidence.key.public)
    _grow(evidence)
    bundle = evidence.bundle(earlier=second)
    report = verify(bundle, evidence.key.public, witness)
    assert str(report.witnessed).startswith("20")
    assert report.earlier is not None
    assert report.earlier.size == 63
    assert verify(bundle, evidence.key.public).witnessed is None
    other = make_witness(tmp_path / "other.pem", "auditor")
    with pytest.raises(EvidenceError, match="No trusted key signed"):
        verify(bundle, evidence.key.public, other)
    with pytest.raises(EvidenceError, match="No trusted key signed"):
        verify(evidence.bundle(), evidence.key.public, witness)


def test_the_signature_is_that_of_the_standard(evidence: Evidence, tmp_path: Path) -> None:
    witness = make_witness(tmp_path / "w.pem", "auditor")
    note, _ = cosign(tmp_path / "w.pem", evidence.checkpoint(), evidence.key.public)
    text, _, lines = note.partition("\n\n")
    raw = base64.b64decode(lines.splitlines()[1].split(" ")[2])
    assert raw[:4] == sha256(b"auditor\n\x04" + witness.key).digest()[:4]
    signed = f"cosignature/v1\ntime {int.from_bytes(raw[4:12], 'big')}\n{text}\n".encode()
    Ed25519PublicKey.from_public_bytes(witness.key).verify(raw[12:], signed)
    with pytest.raises(InvalidSignature):  # the time is signed, too
        Ed25519PublicKey.from_public_bytes(witness.key).verify(raw[12:], signed.replace(b"time 1", b"time 2"))


def test_a_checkpoint_without_its_proof_is_not_signed(evidence: Evidence, tmp_path: Path) -> None:
    make_witness(tmp_path / "w.pem", "auditor")
    first, _ = cosign(tmp_path / "w.pem", evidence.checkpoint(), evidence.key.public)
    cosign(tmp_path / "w.pem", evidence.checkpoint(), evidence.key.public)  # the same state again
    _grow(evidence)
    grown = _grown(evidence, first)
    with pytest.raises(InvalidInputError, match="needs the proof"):
        cosign(tmp_path / "w.pem", evidence.checkpoint(), evidence.key.public)
    head, _, tail = grown.partition("\n\n")
    for changed in (head.rpartition("\n")[0], f"{head}\n{head.rpartition(chr(10))[2]}", head.replace("old 60", "old 59")):
        with pytest.raises(InvalidInputError):
            cosign(tmp_path / "w.pem", f"{changed}\n\n{tail}", evidence.key.public)
    cosign(tmp_path / "w.pem", grown, evidence.key.public)
    with pytest.raises(InvalidInputError, match="needs the proof"):  # an earlier state again
        cosign(tmp_path / "w.pem", first, evidence.key.public)


def test_a_log_that_was_written_again_is_not_signed(evidence: Evidence, tmp_path: Path) -> None:
    make_witness(tmp_path / "w.pem", "auditor")
    key = evidence.key.public
    folder = tmp_path / "forged"
    folder.mkdir()
    cosign(tmp_path / "w.pem", evidence.checkpoint(), key)
    for forged in _evidence(folder):
        shutil.copy(evidence.folder / "evidence.pem", folder / "evidence.pem")
        forged.tree.add_key(key.text, None, "2026-01-01T00:00:00")
        forged.log.append(TENANT, [_draft("z", 7)]).result()
        early = forged.checkpoint()
        _grow(forged)
        request = _grown(forged, early).replace("old 61", "old 60")
        with pytest.raises(InvalidInputError, match="The log was changed before its entry 60"):
            cosign(tmp_path / "w.pem", request, key)


def test_the_key_of_another_log_and_damaged_files_are_refused(evidence: Evidence, tmp_path: Path) -> None:
    path = tmp_path / "w.pem"
    witness = make_witness(path, "auditor")
    for file in (path, tmp_path / "w.pem.seen"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(InvalidInputError, match="not of this log"):
        cosign(path, evidence.checkpoint(), PublicKey("other", witness.key))
    with pytest.raises(EvidenceError):
        PublicKey.parse(witness.text)  # no key of a log
    with pytest.raises(ConfigurationError):
        make_witness(path, "auditor")
    with pytest.raises(ConfigurationError):
        make_witness(tmp_path / "x.pem", "two words")
    for text in ("", "{", "[]", json.dumps({"name": "a", "seen": {evidence.key.name: {"size": "x", "root": "z"}}})):
        (tmp_path / "w.pem.seen").write_text(text)
        with pytest.raises(DamagedError):
            cosign(path, evidence.checkpoint(), evidence.key.public)
    (tmp_path / "w.pem.seen").unlink()
    with pytest.raises(DamagedError):
        cosign(path, evidence.checkpoint(), evidence.key.public)
