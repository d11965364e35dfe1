"""Verify an evidence bundle. An auditor can read this file alone, and needs only Python, `cryptography` and one trusted public key.

    python verify.py bundle.zip --key 'NAME+HASH+KEY'

A bundle is a ZIP file without compression. It contains:

| member | contents |
|---|---|
| `statement.json` | the time, the question, and the SHA-256 of every member after it in this table |
| `statement.note` | the SHA-256 of `statement.json`, signed |
| `checkpoint` | the size and the root of the Merkle tree over the log, signed |
| `earlier`, `consistency.json` | an older checkpoint, and the proof that the log only grew since (both or none) |
| `stamped`, `stamped.json`, `timestamp.der` | the same, with a time-stamp token of its text, see `timestamp_token.py` (all or none) |
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
import io
import json
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FORMAT, KEY_NOTE = "headwater evidence 1", "headwater evidence key"
STATEMENT, STATEMENT_NOTE, CHECKPOINT = "statement.json", "statement.note", "checkpoint"
EARLIER, CONSISTENCY, KEYS, TRACE = "earlier", "consistency.json", "keys.json", "trace.json"
STAMPED, STAMPED_CONSISTENCY, TOKEN, PROV = "stamped", "stamped.json", "timestamp.der", "provenance.json"
_ENTRY = re.compile(r"entries/(0|[1-9][0-9]{0,14})\.(leaf|salt|body|proof)")
_PARTS = (STATEMENT, STATEMENT_NOTE, CHECKPOINT, EARLIER, CONSISTENCY, STAMPED, STAMPED_CONSISTENCY, TOKEN, KEYS, TRACE, PROV)
MOST_BYTES, MOST_MEMBERS = 512 << 20, 50_000
LOG_KEY, WITNESS_KEY = b"\x01", b"\x04"  # the types of keys in a signed note
_DATE = (1980, 1, 1, 0, 0, 0)
_SIGNATURE = "\N{EM DASH} "  # begins a line of a signature
Members = Mapping[str, bytes]


class EvidenceError(Exception):
    """The bundle does not prove its answer. The message has the reason."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key of a log or a witness: a name, and 32 bytes of Ed25519."""

    name: str
    key: bytes
    kind: bytes = LOG_KEY

    @property
    def id(self) -> bytes:
        """The four bytes that identify the key in a signature."""
        return sha256(self.name.encode() + b"\n" + self.kind + self.key).digest()[:4]

    @property
    def text(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(self.kind + self.key).decode()}"

    @classmethod
    def parse(cls, text: str, kind: bytes = LOG_KEY) -> PublicKey:
        """Parse NAME+HASH+KEY."""
        name, _, rest = text.strip().partition("+")
        raw = _decode(rest.partition("+")[2], "a public key")
        found = cls(name, raw[1:], kind)
        if raw[:1] != kind or len(raw) != 33 or found.text != text.strip():
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
    stamped: Checkpoint | None
    entries: int
    erased: int
    key: PublicKey
    witnessed: str | None


def verify(bundle: bytes, trusted: PublicKey, witness: PublicKey | None = None) -> Report:
    """Verify a bundle by a trusted key: the first or a later key of the log. A `witness` must have signed the earliest checkpoint."""
    try:
        return _verify(bundle, trusted, witness)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OSError, RecursionError) as error:
        raise EvidenceError(f"A member of the bundle has another form ({type(error).__name__}).") from error


def _verify(bundle: bytes, trusted: PublicKey, witness: PublicKey | None) -> Report:
    members = unpack(bundle)
    keys = _check_keys(_json(members, KEYS), trusted)
    statement = _check_statement(members, keys)
    checkpoint = Checkpoint.parse(open_note(_text(members, CHECKPOINT), keys))
    if checkpoint.origin != trusted.name:
        raise EvidenceError(f"The checkpoint is of the log {checkpoint.origin}, and the key of {trusted.name}.")
    earlier = _check_growth(members, (EARLIER, CONSISTENCY), checkpoint, keys)
    stamped = _check_growth(members, (STAMPED, STAMPED_CONSISTENCY, TOKEN), checkpoint, keys)
    numbers = sorted({int(name[8:].partition(".")[0]) for name in members if name.startswith("entries/")})
    if stamped and numbers and numbers[-1] >= stamped.size:
        raise EvidenceError("The time stamp is older than an entry.")
    erased = sum(not _check_entry(members, number, checkpoint) for number in numbers)
    _check_captures(members, numbers)
    seconds = open_witnessed(_text(members, EARLIER if earlier else CHECKPOINT), [witness])[1] if witness else 0
    seen = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC" if seconds else None
    return Report(statement["made"], statement["question"], checkpoint, earlier, stamped, len(numbers), erased, keys[-1], seen)


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


def _check_growth(members: Members, names: Sequence[str], checkpoint: Checkpoint, keys: Sequence[PublicKey]) -> Checkpoint | None:
    """Check that the log only grew since an earlier checkpoint of the bundle. `names` are its members: all or none are there."""
    if members.keys().isdisjoint(names):
        return None
    if missing := [name for name in names if name not in members]:
        raise EvidenceError(f"{missing[0]} is missing.")
    earlier = Checkpoint.parse(open_note(_text(members, names[0]), keys))
    proof = [_decode(text, "a consistency proof") for text in _json(members, names[1])]
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
    steps = _steps(index, size - 1, proof) if index < size else None
    for node, is_left in steps or ():
        leaf = node_hash(node, leaf) if is_left else node_hash(leaf, node)
    return None if steps is None else leaf


def is_consistent(first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a tree of the size `second` begins with the tree of the size `first` (RFC 9162, 2.1.4.2)."""
    if first == second:
        return not proof and first_root == second_root
    if first == 0 or first > second:
        return first == 0 and not proof
    path = [first_root, *proof] if first & (first - 1) == 0 else list(proof)
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    if not path or (steps := _steps(at, last, path[1:])) is None:
        return False
    old = new = path[0]
    for node, is_left in steps:
        old, new = (node_hash(node, old), node_hash(node, new)) if is_left else (old, node_hash(new, node))
    return old == first_root and new == second_root


def _steps(at: int, last: int, proof: Sequence[bytes]) -> list[tuple[bytes, bool]] | None:
    """Return each node of a proof with its side (True: left). None: the proof has a wrong length."""
    steps: list[tuple[bytes, bool]] = []
    for node in proof:
        if last == 0:
            return None
        steps.append((node, bool(at & 1) or at == last))
        while steps[-1][1] and at and not at & 1:
            at, last = at >> 1, last >> 1
        at, last = at >> 1, last >> 1
    return steps if last == 0 else None


def open_note(note: str, keys: Sequence[PublicKey]) -> str:
    """Return the text of a note that one of these keys signed. Another note, or a wrong signature of one of them, is refused."""
    return open_witnessed(note, keys)[0]


def open_witnessed(note: str, keys: Sequence[PublicKey]) -> tuple[str, int]:
    """Return the text as `open_note` does, and the seconds since 1970 at which a witness signed it (C2SP tlog-cosignature)."""
    text, separator, signatures = note.rpartition("\n\n")
    is_signed, seconds = False, 0
    for line in signatures.splitlines(keepends=True) if separator else []:
        if not line.startswith(_SIGNATURE) or not line.endswith("\n") or line.count(" ") != 2:
            raise EvidenceError("A signature of a note has another form.")
        name, encoded = line[len(_SIGNATURE) : -1].split(" ")
        raw = _decode(encoded, "a signature")
        for key in (key for key in keys if key.name == name and key.id == raw[:4]):
            signed, signature = f"{text}\n", raw[4:]
            if key.kind == WITNESS_KEY:
                seconds, signature = int.from_bytes(raw[4:12], "big"), raw[12:]
                signed = f"cosignature/v1\ntime {seconds}\n{signed}"
            try:
                Ed25519PublicKey.from_public_bytes(key.key).verify(signature, signed.encode())
            except InvalidSignature:
                raise EvidenceError(f"The signature of {name} is wrong.") from None
            is_signed = True
    if not is_signed:
        raise EvidenceError(f"No trusted key signed the note that begins with {text[:60]!r}.")
    return text + "\n", seconds


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
    if any(name not in _PARTS and not _ENTRY.fullmatch(name) for name in members):
        raise EvidenceError("The bundle has a member of another name.")
    if pack(members) != bundle:
        raise EvidenceError("The ZIP file was written in another way, or changed outside of its members.")
    return members


def read_bundle(path: Path) -> bytes:
    """Read a file up to one byte more than the permitted size of a bundle, so that `unpack` can refuse a larger one."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


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
    except ValueError as error:
        raise EvidenceError(f"{what} is not in base64.") from error
    if base64.b64encode(raw).decode() != text:
        raise EvidenceError(f"{what} is not in canonical base64.")
    return raw


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Verify an evidence bundle of Headwater.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--key", required=True, help="the trusted public key, NAME+HASH+KEY")
    parser.add_argument("--witness", help="the public key of a witness that must have signed, too")
    options = parser.parse_args(arguments)
    try:
        witness = PublicKey.parse(options.witness, WITNESS_KEY) if options.witness else None
        report = verify(read_bundle(options.bundle), PublicKey.parse(options.key), witness)
    except (EvidenceError, OSError) as error:
        sys.stderr.write(f"NOT VALID: {error}\n")
        return 1
    sys.stdout.write(f"Valid. {summary(report)}\n")
    return 0


def summary(report: Report) -> str:
    """Describe in a few sentences what a bundle proves."""
    grown = f" The log only grew since its entry {report.earlier.size}." if report.earlier else ""
    seen = f" A witness signed its state of that time at {report.witnessed}." if report.witnessed else ""
    erased = f" The contents of {report.erased} of them were erased." if report.erased else ""
    return (
        f"Made {report.made} by {report.key.name}. {report.entries} entries are in its log of {report.checkpoint.size} entries,"
        f" with the root {report.checkpoint.root.hex()}.{erased}{grown}{seen}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
