"""Verify an evidence bundle. An auditor can read this file alone, and needs only Python, `cryptography` and one trusted public key.

    python verify.py bundle.zip --key 'NAME+HASH+KEY'

A bundle is a ZIP file without compression. It contains:

| member | contents |
|---|---|
| `statement.json` | the time, the question, and the SHA-256 of every member after it in this table |
| `statement.note` | the SHA-256 of `statement.json`, signed |
| `checkpoint` | the size and the root of the Merkle tree over the log, signed |
| `earlier`, `consistency.json` | an older checkpoint, and the proof that the log only grew since (both or none) |
| `keys.json` | the public keys of the log, oldest first. Each key but the first is in a note that the key before it signed |
| `entries/N.leaf`, `.salt`, `.body`, `.proof` | entry N of the log. An erased entry has no salt and no body |
| `trace.json`, `provenance.json` | the answer that the bundle proves the sources of |

Signed notes, checkpoints and keys have the formats of C2SP (signed-note, tlog-checkpoint). Hashes of the tree are those of RFC 9162. A leaf
is canonical JSON (RFC 8785). It contains SHA-256(salt, body), so a body can be erased without a change of the tree.

The verification fails on every changed bit: the members must have their hashes, and the file must be exactly what `pack` makes of them.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import io
import json
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FORMAT = "headwater evidence 1"
KEY_NOTE = "headwater evidence key"
STATEMENT, STATEMENT_NOTE, CHECKPOINT = "statement.json", "statement.note", "checkpoint"
EARLIER, CONSISTENCY, KEYS, TRACE = "earlier", "consistency.json", "keys.json", "trace.json"
MOST_BYTES = 512 << 20
MOST_MEMBERS = 50_000
_ED25519 = b"\x01"  # the type of a key in a signed note
_DATE = (1980, 1, 1, 0, 0, 0)
_SIGNATURE = "\N{EM DASH} "  # begins a line of a signature


class EvidenceError(Exception):
    """The bundle does not prove its answer. The message has the reason."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key of a log: a name, and 32 bytes of Ed25519."""

    name: str
    key: bytes

    @property
    def id(self) -> bytes:
        """The four bytes that identify the key in a signature."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.key).digest()[:4]

    @property
    def text(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(_ED25519 + self.key).decode()}"

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Parse NAME+HASH+KEY."""
        name, _, rest = text.strip().partition("+")
        raw = _decode(rest.partition("+")[2], "a public key")
        found = cls(name, raw[1:])
        if raw[:1] != _ED25519 or len(raw) != 33 or found.text != text.strip():
            raise EvidenceError(f"{text[:100]!r} is no public key of the form NAME+HASH+KEY.")
        return found


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log: its name, the number of its entries, and the root of its tree."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        lines = text.split("\n")
        if len(lines) != 4 or not lines[1].isdecimal():
            raise EvidenceError("The checkpoint has another form.")
        found = cls(lines[0], int(lines[1]), _decode(lines[2], "the root of a checkpoint"))
        if found.text != text or len(found.root) != 32:
            raise EvidenceError("The checkpoint has another form.")
        return found


@dataclass(frozen=True, slots=True)
class Report:
    """The facts that a valid bundle proves. `erased` is the number of log entries whose contents were erased."""

    made: str
    question: Mapping[str, Any]
    checkpoint: Checkpoint
    earlier: Checkpoint | None
    entries: int
    erased: int
    key: PublicKey


def verify(bundle: bytes, trusted: PublicKey) -> Report:
    """Verify a bundle by a trusted key: the first or a later key of the log.

    Raises:
        EvidenceError: the bundle is not valid.
    """
    try:
        return _verify(bundle, trusted)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise EvidenceError(f"A member of the bundle has another form ({type(error).__name__}).") from error


def _verify(bundle: bytes, trusted: PublicKey) -> Report:
    members = unpack(bundle)
    keys = _check_keys(_json(members, KEYS), trusted)
    statement = _check_statement(members, keys)
    checkpoint = Checkpoint.parse(open_note(_text(members, CHECKPOINT), keys))
    if checkpoint.origin != trusted.name:
        raise EvidenceError(f"The checkpoint is of the log {checkpoint.origin}, and the key of {trusted.name}.")
    earlier = _check_growth(members, checkpoint, keys)
    numbers = sorted({int(name[8:].partition(".")[0]) for name in members if name.startswith("entries/")})
    erased = sum(not _check_entry(members, number, checkpoint) for number in numbers)
    _check_captures(members, numbers)
    return Report(statement["made"], statement["question"], checkpoint, earlier, len(numbers), erased, keys[-1])


def _check_keys(entries: Any, trusted: PublicKey) -> list[PublicKey]:
    """Return the keys of the log from the trusted key on. Each later key must be signed by the key before it."""
    keys: list[PublicKey] = []
    for entry in entries if isinstance(entries, list) else []:
        key = PublicKey.parse(str(entry.get("key")))
        if keys and open_note(str(entry.get("note")), keys[-1:]) != key_note(key):
            raise EvidenceError(f"The key {key.text} is not signed by the key before it.")
        if keys or key == trusted:
            keys.append(key)
    if not keys:
        raise EvidenceError("The trusted key is not among the keys of the bundle.")
    return keys


def _check_statement(members: Mapping[str, bytes], keys: Sequence[PublicKey]) -> Mapping[str, Any]:
    digest = sha256(members.get(STATEMENT, b"")).hexdigest()
    note = _text(members, STATEMENT_NOTE)
    if open_note(note, keys) != statement_note(digest) or note.count(_SIGNATURE) != 1:
        raise EvidenceError(f"{STATEMENT} is not what was signed.")
    statement = _json(members, STATEMENT)
    hashes = {name: sha256(content).hexdigest() for name, content in members.items() if name not in (STATEMENT, STATEMENT_NOTE)}
    if not isinstance(statement, dict) or statement.get("format") != FORMAT:
        raise EvidenceError(f"{STATEMENT} is not of the format {FORMAT!r}.")
    if statement.get("members") != hashes:
        listed = statement.get("members")
        changed = sorted(name for name in {*hashes, *listed} if hashes.get(name) != listed.get(name)) if isinstance(listed, dict) else []
        raise EvidenceError(f"Members are missing, changed or added: {', '.join(changed[:5])}.")
    return statement


def _check_growth(members: Mapping[str, bytes], checkpoint: Checkpoint, keys: Sequence[PublicKey]) -> Checkpoint | None:
    """Check that the log only grew since the earlier checkpoint of the bundle."""
    if EARLIER not in members:
        return None
    earlier = Checkpoint.parse(open_note(_text(members, EARLIER), keys))
    proof = [_decode(text, "a consistency proof") for text in _json(members, CONSISTENCY)]
    if earlier.origin != checkpoint.origin or not is_consistent(earlier.size, checkpoint.size, earlier.root, checkpoint.root, proof):
        raise EvidenceError(f"The log was changed before its entry {earlier.size}: the two checkpoints are not of one log.")
    return earlier


def _check_entry(members: Mapping[str, bytes], number: int, checkpoint: Checkpoint) -> bool:
    """Check that an entry is in the log. Return False if its contents were erased."""
    leaf_bytes = members.get(f"entries/{number}.leaf", b"")
    proof = [_decode(text, "a proof") for text in _json(members, f"entries/{number}.proof")]
    if root_of(leaf_hash(leaf_bytes), number, checkpoint.size, proof) != checkpoint.root:
        raise EvidenceError(f"Entry {number} is not in the log of the checkpoint.")
    leaf = _json(members, f"entries/{number}.leaf")
    salt, body = members.get(f"entries/{number}.salt"), members.get(f"entries/{number}.body")
    if salt is None and body is None:
        return False
    if salt is None or body is None or commitment(salt, body) != leaf.get("commitment"):
        raise EvidenceError(f"The contents of entry {number} are not what the log has.")
    return True


def _check_captures(members: Mapping[str, bytes], numbers: Sequence[int]) -> None:
    """Check that each run on the path of the answer has an entry."""
    path = _json(members, TRACE).get("path", []) if TRACE in members else []
    runs = {hop["run"].partition(":")[2] for hop in path if hop.get("run")}
    for number in numbers:
        runs.discard(str(_json(members, f"entries/{number}.leaf").get("run")))
    if runs:
        raise EvidenceError(f"The bundle has no entry of the run {min(runs)}, which the answer names.")


def key_note(key: PublicKey) -> str:
    """The text that the previous key signs."""
    return f"{KEY_NOTE}\n{key.text}\n"


def statement_note(digest: str) -> str:
    return f"{FORMAT}\n{digest}\n"


def commitment(salt: bytes, body: bytes) -> str:
    return sha256(salt + body).hexdigest()


def leaf_hash(leaf: bytes) -> bytes:
    return sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root_of(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """Return the root that an inclusion proof gives (RFC 9162, 2.1.3.2), or None if the proof has a wrong length."""
    if index >= size:
        return None
    at, last, root = index, size - 1, leaf
    for node in proof:
        if last == 0:
            return None
        if at & 1 or at == last:
            root = node_hash(node, root)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            root = node_hash(root, node)
        at, last = at >> 1, last >> 1
    return root if last == 0 else None


def is_consistent(first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a tree of the size `second` begins with the tree of the size `first` (RFC 9162, 2.1.4.2)."""
    if first == second:
        return not proof and first_root == second_root
    if first == 0 or first > second:
        return first == 0 and not proof
    path = [first_root, *proof] if first & (first - 1) == 0 else list(proof)
    if not path:
        return False
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for node in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = node_hash(node, old), node_hash(node, new)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            new = node_hash(new, node)
        at, last = at >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def open_note(note: str, keys: Sequence[PublicKey]) -> str:
    """Return the text of a signed note after checking its signatures by these keys.

    Raises:
        EvidenceError: none of the keys signed the note, or the signature of one is wrong.
    """
    text, separator, signatures = note.rpartition("\n\n")
    is_signed = False
    for line in signatures.splitlines(keepends=True) if separator else []:
        if not line.startswith(_SIGNATURE) or not line.endswith("\n") or line.count(" ") != 2:
            raise EvidenceError("A signature of a note has another form.")
        name, encoded = line[len(_SIGNATURE) : -1].split(" ")
        raw = _decode(encoded, "a signature")
        for key in keys:
            if key.name == name and key.id == raw[:4]:
                try:
                    Ed25519PublicKey.from_public_bytes(key.key).verify(raw[4:], (text + "\n").encode())
                except InvalidSignature:
                    raise EvidenceError(f"The signature of {name} is wrong.") from None
                is_signed = True
    if not is_signed:
        raise EvidenceError(f"No trusted key signed the note that begins with {text[:60]!r}.")
    return text + "\n"


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return the ZIP file with these members. Equal members always give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system = 3
            archive.writestr(info, members[name])
    return out.getvalue()


def unpack(bundle: bytes) -> dict[str, bytes]:
    """Return the members of a bundle. Nothing is decompressed, so a small file cannot become a large one."""
    if len(bundle) > MOST_BYTES:
        raise EvidenceError(f"The bundle has {len(bundle):,} bytes, and at most {MOST_BYTES:,} are read.")
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            infos = archive.infolist()
            if len(infos) > MOST_MEMBERS or any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                raise EvidenceError("The bundle has too many members, or compressed ones.")
            if sum(info.file_size for info in infos) > len(bundle):
                raise EvidenceError("The members of the bundle overlap.")
            members = {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise EvidenceError(f"The bundle is no ZIP file, or damaged: {error}.") from error
    if any(not _is_known(name) for name in members):
        raise EvidenceError("The bundle has a member of another name.")
    if pack(members) != bundle:
        raise EvidenceError("The ZIP file was written in another way, or changed outside of its members.")
    return members


def read_bundle(path: Path) -> bytes:
    """Read a file up to one byte more than the permitted size of a bundle, so that `unpack` can refuse a larger one."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _is_known(name: str) -> bool:
    stem, _, kind = name.removeprefix("entries/").partition(".")
    if name.startswith("entries/"):
        return (
            stem.isascii() and stem.isdecimal() and len(stem) < 16 and str(int(stem)) == stem and kind in ("leaf", "salt", "body", "proof")
        )
    return name in (STATEMENT, STATEMENT_NOTE, CHECKPOINT, EARLIER, CONSISTENCY, KEYS, TRACE, "provenance.json")


def _text(members: Mapping[str, bytes], name: str) -> str:
    try:
        return members[name].decode()
    except (KeyError, UnicodeDecodeError) as error:
        raise EvidenceError(f"{name} is missing or damaged.") from error


def _json(members: Mapping[str, bytes], name: str) -> Any:
    try:
        return json.loads(_text(members, name))
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{name} is no JSON.") from error


def _decode(text: object, what: str) -> bytes:
    """Decode base64 of the one canonical form."""
    try:
        raw = base64.b64decode(str(text), validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvidenceError(f"{what} is not in base64.") from error
    if base64.b64encode(raw).decode() != text:
        raise EvidenceError(f"{what} is not in canonical base64.")
    return raw


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Verify an evidence bundle of Headwater.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--key", required=True, help="the trusted public key, NAME+HASH+KEY")
    options = parser.parse_args(arguments)
    try:
        report = verify(read_bundle(options.bundle), PublicKey.parse(options.key))
    except (EvidenceError, OSError) as error:
        sys.stderr.write(f"NOT VALID: {error}\n")
        return 1
    sys.stdout.write(f"Valid. {summary(report)}\n")
    return 0


def summary(report: Report) -> str:
    """Describe in a few sentences what a bundle proves."""
    grown = f" The log only grew since its entry {report.earlier.size}." if report.earlier else ""
    erased = f" The contents of {report.erased} of them were erased." if report.erased else ""
    return (
        f"Made {report.made} by {report.key.name}. {report.entries} entries are in its log of {report.checkpoint.size} entries,"
        f" with the root {report.checkpoint.root.hex()}.{erased}{grown}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
