"""A bundle is valid as it was made, and in no other form."""

from __future__ import annotations

import io
import json
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import headwater.backend.evidence.verify as verify_module
from headwater.backend.evidence.bundle import Subject, make_bundle, make_checkpoint
from headwater.backend.evidence.keys import SigningKey, open_key, rotate
from headwater.backend.evidence.tree import Tree
from headwater.backend.evidence.verify import (
    STATEMENT,
    STATEMENT_NOTE,
    EvidenceError,
    PublicKey,
    open_note,
    pack,
    statement_note,
    unpack,
    verify,
)
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.log.model import Draft, EntryKind
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.operate.upkeep.backup import back_up, restore
from headwater.backend.workspace import Workspace
from headwater.errors import ConfigurationError, DamagedError, InvalidInputError, NotFoundError
from tests.backend.events import body, run_event

TENANT = "default"
SUBJECT = Subject({"dataset": "out", "where": "true"}, {"a", "b"}, {"path": [{"run": "run:a"}, {"run": "run:b"}]}, b'{"entity": {}}')


def _draft(run: str, number: int) -> Draft:
    body = json.dumps({"run": {"runId": run}, "number": number}).encode()
    return Draft(EntryKind.CAPTURE, sha256(body).digest(), body)


@dataclass
class Evidence:
    """The log and the evidence of one home."""

    folder: Path
    log: SqliteLog
    tree: Tree

    @property
    def key(self) -> SigningKey:
        return open_key(self.folder / "evidence.pem", self.tree)

    def checkpoint(self) -> str:
        return make_checkpoint(self.tree, self.log, self.key)[1]

    def bundle(self, subject: Subject = SUBJECT, earlier: str | None = None) -> bytes:
        return make_bundle(self.tree, self.log, TENANT, self.key, subject, earlier)


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    yield from _evidence(tmp_path)


def _evidence(folder: Path) -> Iterator[Evidence]:
    log, tree = SqliteLog(folder / "ingest.db"), Tree(folder / "evidence.db", TENANT)
    log.append(TENANT, [_draft(run, number) for number in range(20) for run in "abc"]).result()
    yield Evidence(folder, log, tree)
    tree.close()
    log.close()


def test_a_bundle_proves_its_entries(evidence: Evidence) -> None:
    report = verify(evidence.bundle(), evidence.key.public)
    assert (report.entries, report.erased, report.checkpoint.size, report.question) == (40, 0, 60, SUBJECT.question)


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.torture)])
def test_no_bit_can_be_changed(evidence: Evidence, count: int) -> None:
    bundle, public = evidence.bundle(earlier=evidence.checkpoint()), evidence.key.public
    chance = random.Random(7)
    for place in chance.sample(range(len(bundle) * 8), count):
        changed = bytearray(bundle)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(EvidenceError):
            verify(bytes(changed), public)


@pytest.mark.parametrize(
    "change",
    [
        lambda bundle: bundle[:-1],
        lambda bundle: bundle[: len(bundle) // 2],
        lambda bundle: bundle + b"\0",
        lambda bundle: b"\0" + bundle,
        lambda _: b"",
        lambda _: b"PK\5\6" + bytes(18),
    ],
)
def test_a_cut_or_longer_file_is_refused(evidence: Evidence, change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(EvidenceError):
        verify(change(evidence.bundle()), evidence.key.public)


def _changed(bundle: bytes, change: Callable[[dict[str, bytes]], object], key: SigningKey | None = None) -> bytes:
    """Return a bundle with other members. `key` signs the statement again."""
    members = unpack(bundle)
    change(members)
    if key is not None:
        statement = json.loads(members[STATEMENT])
        statement["members"] = {
            name: sha256(content).hexdigest() for name, content in members.items() if name not in (STATEMENT, STATEMENT_NOTE)
        }
        members[STATEMENT] = json.dumps(statement).encode()
        members[STATEMENT_NOTE] = key.sign(statement_note(sha256(members[STATEMENT]).hexdigest())).encode()
    return pack(members)


def test_members_cannot_be_removed_exchanged_or_added(evidence: Evidence) -> None:
    bundle, public = evidence.bundle(), evidence.key.public

    def exchange(members: dict[str, bytes]) -> None:
        members["entries/0.body"], members["entries/1.body"] = members["entries/1.body"], members["entries/0.body"]

    for change in (exchange, lambda members: members.pop("entries/0.leaf"), lambda members: members.update({"entries/2.leaf": b"{}"})):
        with pytest.raises(EvidenceError, match=r"missing, changed or added"):
            verify(_changed(bundle, change), public)


def test_the_owner_of_the_key_cannot_put_in_what_the_log_lacks(evidence: Evidence) -> None:
    bundle, key = evidence.bundle(), evidence.key
    other = {"entries/0.body": b'{"run": {"runId": "a"}, "number": 99}'}
    with pytest.raises(EvidenceError, match=r"contents of entry 0"):
        verify(_changed(bundle, lambda members: members.update(other), key), key.public)
    leaf = {"entries/0.leaf": unpack(bundle)["entries/1.leaf"]}
    with pytest.raises(EvidenceError, match=r"Entry 0 is not in the log"):
        verify(_changed(bundle, lambda members: members.update(leaf), key), key.public)


def test_each_run_of_the_answer_needs_an_entry(evidence: Evidence) -> None:
    bundle, key = evidence.bundle(), evidence.key
    trace = {"trace.json": b'{"path": [{"run": "run:c"}]}'}
    with pytest.raises(EvidenceError, match=r"no entry of the run c"):
        verify(_changed(bundle, lambda members: members.update(trace), key), key.public)


def test_a_bundle_that_another_key_signed_is_refused(evidence: Evidence) -> None:
    bundle, public = evidence.bundle(), evidence.key.public
    thief = SigningKey(public.name, Ed25519PrivateKey.generate())
    for trusted, changed in ((public, _changed(bundle, lambda _: None, thief)), (thief.public, bundle)):
        with pytest.raises(EvidenceError, match=r"No trusted key signed|not among the keys"):
            verify(changed, trusted)


def test_a_log_that_was_written_again_is_not_the_one_of_an_earlier_checkpoint(evidence: Evidence, tmp_path: Path) -> None:
    folder = tmp_path / "fork"
    folder.mkdir()
    earlier = evidence.checkpoint()
    for fork in _evidence(folder):
        (folder / "evidence.pem").write_bytes((tmp_path / "evidence.pem").read_bytes())
        fork.tree.add_key(evidence.key.public.text, None, "2026-01-01T00:00:00+00:00")
        with pytest.raises(DamagedError, match=r"does not begin with the checkpoint"):
            fork.bundle(earlier=earlier)
        forged = _changed(fork.bundle(earlier=fork.checkpoint()), lambda members: members.update(earlier=earlier.encode()), fork.key)
        with pytest.raises(EvidenceError, match=r"not of one log"):
            verify(forged, evidence.key.public)


def test_keys_rotate(evidence: Evidence) -> None:
    first, earlier = evidence.key.public, evidence.checkpoint()
    second = rotate(evidence.folder / "evidence.pem", evidence.tree).public
    third = rotate(evidence.folder / "evidence.pem", evidence.tree).public
    evidence.log.append(TENANT, [_draft("a", 1_000)]).result()
    bundle = evidence.bundle(earlier=earlier)
    for trusted in (first, second, third):
        report = verify(bundle, trusted)
        assert report.earlier is not None
        assert (report.earlier.size, report.checkpoint.size, report.key) == (60, 61, third)

    def forget_rotation(members: dict[str, bytes]) -> None:
        keys = json.loads(members["keys.json"])
        keys[1]["note"] = keys[2]["note"]
        members["keys.json"] = json.dumps(keys).encode()

    with pytest.raises(EvidenceError, match=r"No trusted key signed|not signed by the key before"):
        verify(_changed(bundle, forget_rotation, evidence.key), first)


def test_a_rotation_that_was_interrupted_is_completed(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    before = evidence.key.public
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is gone")))
        with pytest.raises(OSError, match="the disk is gone"):
            rotate(evidence.folder / "evidence.pem", evidence.tree)
    after = evidence.key.public
    assert after != before
    assert verify(evidence.bundle(), before).key == after


def test_a_first_key_that_was_interrupted_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Tree(tmp_path / "evidence.db", TENANT)) as tree:
        for step in ("add_key", "commit"):
            with monkeypatch.context() as patch:
                owner, name = (Tree, "add_key") if step == "add_key" else (Path, "replace")
                patch.setattr(owner, name, lambda *_: (_ for _ in ()).throw(OSError("the disk is gone")))
                with pytest.raises(OSError, match="the disk is gone"):
                    open_key(tmp_path / "evidence.pem", tree, "acme")
        assert open_key(tmp_path / "evidence.pem", tree).public.text == tree.public_keys()[0][0]
        assert len(tree.public_keys()) == 1


def test_processes_that_make_keys_at_the_same_time_make_one_chain(tmp_path: Path) -> None:
    def make(number: int) -> None:
        with closing(Tree(tmp_path / "evidence.db", TENANT)) as tree:
            if number % 2:
                rotate(tmp_path / "evidence.pem", tree)
            else:
                open_key(tmp_path / "evidence.pem", tree)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(12)))
    with closing(Tree(tmp_path / "evidence.db", TENANT)) as tree, closing(SqliteLog(tmp_path / "ingest.db")) as log:
        log.append(TENANT, [_draft("a", 1)]).result()
        key = open_key(tmp_path / "evidence.pem", tree)
        first = PublicKey.parse(tree.public_keys()[0][0])
        assert verify(make_bundle(tree, log, TENANT, key, Subject({}, {"a"}, {}, b"")), first).key == key.public
        assert len(tree.public_keys()) == 7


@pytest.mark.parametrize(
    "members",
    [
        {"keys.json": b'["text"]'},
        {"keys.json": b"{}"},
        {f"entries/{'9' * 5_000}.leaf": b"{}"},
        {"entries/0.leaf": b"[]", "entries/0.proof": b"7"},
        {"statement.json": b"[]"},
        {"trace.json": b"[]"},
        {"trace.json": b'{"path": [3]}'},
        {"checkpoint": b"\xff"},
    ],
)
def test_members_of_another_form_are_refused(evidence: Evidence, members: dict[str, bytes]) -> None:
    bundle, key = evidence.bundle(), evidence.key
    changed = [pack(unpack(bundle) | members)]
    if STATEMENT not in members:
        changed.append(_changed(bundle, lambda found: found.update(members), key))
    for each in changed:
        with pytest.raises(EvidenceError):
            verify(each, key.public)


def test_erased_entries_are_counted_and_stay_proven(evidence: Evidence) -> None:
    earlier = evidence.checkpoint()
    [first, *_] = evidence.tree.leaves_of({"a"}, 1_000)
    evidence.tree.forget([first.offset])
    report = verify(evidence.bundle(earlier=earlier), evidence.key.public)
    assert (report.entries, report.erased) == (40, 1)


def test_a_changed_log_is_noticed_when_a_bundle_is_made(evidence: Evidence) -> None:
    evidence.checkpoint()
    [first, *_] = evidence.tree.leaves_of({"a"}, 1_000)
    entry = evidence.log.entry_at(TENANT, first.offset)
    assert entry is not None

    class Changed:
        def __getattr__(self, name: str) -> object:
            return getattr(evidence.log, name)

        def entry_at(self, tenant: str, offset: int) -> object:
            found = evidence.log.entry_at(tenant, offset)
            return type(entry)(entry.offset, entry.kind, entry.key, entry.received, b"{}") if offset == first.offset else found

    with pytest.raises(DamagedError, match=r"was changed after"):
        make_bundle(evidence.tree, Changed(), TENANT, evidence.key, SUBJECT)  # type: ignore[arg-type]


def test_bad_input_is_refused(evidence: Evidence, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no entry of the run unknown"):
        evidence.bundle(Subject({}, {"unknown"}, {}, b""))
    with pytest.raises(InvalidInputError, match=r"not of this home"):
        evidence.bundle(earlier="no checkpoint")
    with pytest.raises(ConfigurationError, match=r"has the name"):
        open_key(tmp_path / "evidence.pem", evidence.tree, "another")
    (tmp_path / "evidence.pem").write_text("no key")
    with pytest.raises(DamagedError, match=r"no private key"):
        evidence.bundle()
    (tmp_path / "evidence.pem").unlink()
    with pytest.raises(DamagedError, match=r"is missing"):
        evidence.bundle()


@pytest.mark.parametrize("name", ["a b", "a+b", "", "x" * 200, "a\nb"])
def test_names_that_would_change_the_form_of_a_note_are_refused(tmp_path: Path, name: str) -> None:
    tree = Tree(tmp_path / "evidence.db", TENANT)
    if name:
        with pytest.raises(ConfigurationError):
            open_key(tmp_path / "evidence.pem", tree, name)
    else:
        assert open_key(tmp_path / "evidence.pem", tree, name).name.startswith("headwater/")
    tree.close()


def test_only_the_user_of_the_home_can_read_the_private_key(evidence: Evidence) -> None:
    assert evidence.key
    assert (evidence.folder / "evidence.pem").stat().st_mode & 0o777 == 0o600


def test_a_compressed_bundle_is_refused_before_it_is_unpacked(evidence: Evidence) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", bytes(10_000_000))
    with pytest.raises(EvidenceError, match=r"compressed"):
        verify(out.getvalue(), evidence.key.public)


def test_notes_of_another_implementation_are_read() -> None:
    key = PublicKey.parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    line = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    assert open_note(f"{text}\n\N{EM DASH} PeterNeumann {line}\n", [key]) == text


def test_the_module_verifies_alone(evidence: Evidence, tmp_path: Path) -> None:
    bundle, module = tmp_path / "bundle.zip", tmp_path / "verify.py"
    bundle.write_bytes(evidence.bundle())
    source = Path(verify_module.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    assert "headwater." not in source.replace("description=", "")
    module.write_text(source, encoding="utf-8")
    command = [sys.executable, "-I", str(module), str(bundle), "--key"]
    valid = subprocess.run([*command, evidence.key.public.text], capture_output=True, text=True, timeout=120, check=False)
    assert (valid.returncode, valid.stdout[:6]) == (0, "Valid.")
    for wrong in ("x", "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"):
        refused = subprocess.run([*command, wrong], capture_output=True, text=True, timeout=120, check=False)
        assert (refused.returncode, refused.stderr[:9]) == (1, "NOT VALID")


async def test_a_restored_home_proves_earlier_checkpoints(tmp_path: Path) -> None:
    home, restored = tmp_path / "home", tmp_path / "restored"
    async with await Workspace.open(load_settings(home=home)) as workspace:
        assert not workspace.events.submit(TENANT, body(run_event(1))).result().rejected
        await workspace.settle()
        with closing(Tree(workspace.home.evidence, TENANT)) as tree:
            public = open_key(workspace.home.evidence_key, tree).public
            earlier = make_checkpoint(tree, workspace.log, open_key(workspace.home.evidence_key, tree))[1]
        await back_up(workspace, tmp_path / "backup")
    assert not list((tmp_path / "backup").glob("*.pem"))
    await restore(load_settings(home=restored), tmp_path / "backup")
    shutil.copyfile(home / "evidence.pem", restored / "evidence.pem")
    async with await Workspace.open(load_settings(home=restored)) as workspace:
        with closing(Tree(workspace.home.evidence, TENANT)) as tree:
            key = open_key(workspace.home.evidence_key, tree)
            subject = Subject({}, {run_event(1)["run"]["runId"]}, {}, b"{}")
            assert verify(make_bundle(tree, workspace.log, TENANT, key, subject, earlier), public).entries == 1
