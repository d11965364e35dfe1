"""The private key of a home's evidence, and the signed notes that it makes.

The key is a file that only the home's user can read. A rotation signs the new key with the old one, and then deletes the old one.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from headwater.backend.evidence.tree import Tree
from headwater.backend.evidence.verify import PublicKey, key_note
from headwater.errors import ConfigurationError, DamagedError

_NAME = re.compile(r"[A-Za-z0-9._/-]{1,100}")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key with the name of its log."""

    name: str
    private: Ed25519PrivateKey

    @property
    def public(self) -> PublicKey:
        return PublicKey(self.name, self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, text: str) -> str:
        """Return a signed note. `text` must end with the end of a line."""
        return f"{text}\n{self.signature(text)}"

    def signature(self, text: str) -> str:
        raw = self.public.id + self.private.sign(text.encode())
        return f"\N{EM DASH} {self.name} {base64.b64encode(raw).decode()}\n"


def open_key(path: Path, tree: Tree, name: str | None = None) -> SigningKey:
    """Return the key of a home. The first call creates it.

    Raises:
        ConfigurationError: `name` is invalid, or is not the name of the existing key.
        DamagedError: the file is damaged, or its key is not the last key of the evidence.
    """
    if not path.exists():
        _make_first(path, tree, name)
    with tree.transaction():
        return _load(path, tree, name)


def _load(path: Path, tree: Tree, name: str | None) -> SigningKey:
    """Read the key within a transaction, so that no other process replaces it meanwhile."""
    keys = tree.public_keys()
    if not keys:
        raise DamagedError(f"{path} belongs to evidence that is missing.", hint="Restore evidence.db from a backup.")
    public = PublicKey.parse(keys[-1][0])
    if name and name != public.name:
        raise ConfigurationError(f"The evidence of this home has the name {public.name}.", hint="The name cannot be changed.")
    _complete(path, public)
    key = SigningKey(public.name, read_private(path))
    if key.public != public:
        raise DamagedError(f"{path} is not the key {public.text}.", hint="Restore the key file and evidence.db from the same backup.")
    return key


def rotate(path: Path, tree: Tree) -> SigningKey:
    """Replace the key of a home by a new one, which the old one signs."""
    open_key(path, tree)
    with tree.transaction():
        old = _load(path, tree, None)
        new = SigningKey(old.name, Ed25519PrivateKey.generate())
        write_private(_waiting(path), new.private)
        tree.add_key(new.public.text, old.sign(key_note(new.public)), now())
    _complete(path, new.public)
    return new


def _make_first(path: Path, tree: Tree, name: str | None) -> None:
    """Make the first key, if the evidence has none. The key file gets its name last, when the evidence has its public key."""
    with tree.transaction():
        if tree.public_keys():
            return
        key = SigningKey(check_name(name or f"headwater/{secrets.token_hex(4)}"), Ed25519PrivateKey.generate())
        write_private(_waiting(path), key.private)
        tree.add_key(key.public.text, None, now())
    _complete(path, key.public)


def _complete(path: Path, public: PublicKey) -> None:
    """Give a new key file its name, if it has the public key. Another process, or an interrupted one, may have left that to this one."""
    with suppress(FileNotFoundError, DamagedError):
        if SigningKey(public.name, read_private(_waiting(path))).public == public:
            _waiting(path).replace(path)


def _waiting(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def check_name(name: str) -> str:
    """Return the name of a key, if it fits into a note."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} is no name for a key.", hint="Use up to 100 letters, digits, dots, dashes and slashes.")
    return name


def write_private(path: Path, key: Ed25519PrivateKey) -> None:
    """Write a private key that only this user can read."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        file.flush()
        os.fsync(file.fileno())


def read_private(path: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except FileNotFoundError as error:
        raise DamagedError(f"The private key {path} is missing.", hint="Restore it from a backup.") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise DamagedError(f"{path} is no private key.", hint="Restore it from a backup.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise DamagedError(f"{path} is a key of another kind.", hint="Restore it from a backup.")
    return key


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
