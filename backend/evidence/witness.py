"""A witness: a second key, of somebody else, that signs checkpoints of a log (C2SP tlog-cosignature).

A witness remembers the last checkpoint that it signed of each log. It signs a later one only with a proof that the log only grew since.
So a log cannot show one history to one auditor and another history to another. Only the user can read the key and the memory.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from headwater.backend.evidence.keys import check_name, read_private, write_private
from headwater.backend.evidence.verify import WITNESS_KEY, Checkpoint, EvidenceError, PublicKey, is_consistent, open_note
from headwater.errors import ConfigurationError, DamagedError, InvalidInputError

_OLD = "old "
_MOST_HASHES = 64


def make_request(note: str, size: int, proof: list[bytes]) -> str:
    """Return a checkpoint with the proof that the log only grew since it had `size` entries (the form of C2SP tlog-witness)."""
    return f"{_OLD}{size}\n" + "".join(f"{base64.b64encode(node).decode()}\n" for node in proof) + f"\n{note}"


def make_witness(path: Path, name: str) -> PublicKey:
    """Make the key of a witness.

    Raises:
        ConfigurationError: the name is invalid, or the file exists.
    """
    check_name(name)
    if path.exists() or _memory(path).exists():
        raise ConfigurationError(f"{path} exists already.", hint="Leave --name out to sign with this key.")
    key = Ed25519PrivateKey.generate()
    write_private(path, key)
    _save(path, {"name": name, "seen": {}})
    return _public(name, key)


def cosign(path: Path, request: str, log: PublicKey) -> tuple[str, PublicKey]:
    """Sign a checkpoint of a log, alone or with its proof. Return its note with the signature added, and the witness's public key.

    Raises:
        InvalidInputError: the log did not sign the checkpoint, or does not prove that it only grew since the last one.
        DamagedError: a file of the witness is missing or damaged.
    """
    size, proof, note = _read_request(request)
    try:
        checkpoint = Checkpoint.parse(open_note(note, [log]))
    except EvidenceError as error:
        raise InvalidInputError(f"The checkpoint is not of this log: {error}", field="checkpoint") from error
    if checkpoint.origin != log.name:
        raise InvalidInputError(f"The checkpoint is of the log {checkpoint.origin}.", field="checkpoint", hint=f"The key is of {log.name}.")
    key = read_private(path)
    with _locked(path) as memory:
        _check_growth(memory["seen"].get(checkpoint.origin), checkpoint, size, proof)
        seconds, public = int(time.time()), _public(memory["name"], key)
        memory["seen"][checkpoint.origin] = {"size": checkpoint.size, "root": checkpoint.root.hex()}
        _save(path, memory)
    signature = key.sign(f"cosignature/v1\ntime {seconds}\n{checkpoint.text}".encode())
    raw = public.id + seconds.to_bytes(8, "big") + signature
    return f"{note}\N{EM DASH} {public.name} {base64.b64encode(raw).decode()}\n", public


def _check_growth(seen: Any, checkpoint: Checkpoint, size: int | None, proof: list[bytes]) -> None:
    if seen is None:
        return
    before, root = int(seen["size"]), bytes.fromhex(seen["root"])
    if before == checkpoint.size and size is None:
        size = before
    if size != before:
        raise InvalidInputError(
            f"This witness signed the state of {before:,} entries last, and needs the proof that the log only grew since.",
            field="checkpoint", hint="headwater evidence checkpoint --since LAST-SIGNED -o FILE adds the proof.",
        )  # fmt: skip
    if not is_consistent(before, checkpoint.size, root, checkpoint.root, proof):
        raise InvalidInputError(
            f"The log was changed before its entry {before:,}. Nothing is signed.", field="checkpoint",
            hint="Keep both checkpoints: they prove it.",
        )  # fmt: skip


def _read_request(text: str) -> tuple[int | None, list[bytes], str]:
    if not text.startswith(_OLD):
        return None, [], text
    head, separator, note = text.partition("\n\n")
    first, *hashes = head.split("\n")
    fault = InvalidInputError("The proof of the checkpoint has another form.", field="checkpoint")
    if not separator or len(hashes) > _MOST_HASHES:
        raise fault
    try:
        return int(first.removeprefix(_OLD)), [base64.b64decode(each, validate=True) for each in hashes], note
    except ValueError:
        raise fault from None


def _public(name: str, key: Ed25519PrivateKey) -> PublicKey:
    return PublicKey(name, key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw), WITNESS_KEY)


def _memory(path: Path) -> Path:
    return path.with_name(f"{path.name}.seen")


@contextmanager
def _locked(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the memory of a witness, which no other process changes meanwhile."""
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            memory = json.loads(_memory(path).read_text())
            yield {"name": str(memory["name"]), "seen": dict(memory["seen"])}
    except FileNotFoundError as error:
        raise DamagedError(f"{_memory(path)} is missing.", hint="Restore it from a backup: without it, the witness forgets.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{_memory(path)} is no memory of a witness.", hint="Restore it from a backup.") from error


def _save(path: Path, memory: dict[str, Any]) -> None:
    waiting = path.with_name(f"{path.name}.seen.new")
    with os.fdopen(os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        json.dump(memory, file)
        file.flush()
        os.fsync(file.fileno())
    waiting.replace(_memory(path))
