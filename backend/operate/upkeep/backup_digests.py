"""Compares the files of a backup with the lengths and digests in its index.

Backups of earlier releases have no digests. Their log is checked by the keys of its entries, and their audit log by its links.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headwater.backend.audit.chain import verify
from headwater.backend.operate.soundness.files import database_faults
from headwater.backend.projector.entry_hashes import entry_faults
from headwater.errors import ConfigurationError

_HINT = "Restore another backup. Do not use this one before you know who or what changed it."


def digests_of_folder(folder: Path, *, without: str) -> dict[str, list[Any]]:
    """Return length and SHA-256 of each file below a folder, by its relative path."""
    return {name: _described(folder / name) for name in _names(folder) if name != without}


def seal(index: Mapping[str, Any]) -> str:
    """Return the digest of an index, which is stored in the index itself."""
    return hashlib.sha256(json.dumps({name: part for name, part in index.items() if name != "check"}, sort_keys=True).encode()).hexdigest()


def check_backup(folder: Path, index: Mapping[str, Any], *, index_name: str, log: str, audit: str) -> None:
    """Check that a backup is unchanged.

    Raises:
        ConfigurationError: a file was changed, added or removed since.
    """
    reason = next(_differences(folder, index, index_name) if "files" in index else _older(folder, log, audit), None)
    if reason is not None:
        raise ConfigurationError(f"The backup in {folder} is not what was written: {reason}.", hint=_HINT)


def _differences(folder: Path, index: Mapping[str, Any], index_name: str) -> Iterator[str]:
    if index.get("check") != seal(index):
        yield f"the digest of {index_name} is another"
        return
    stated: Mapping[str, list[Any]] = index["files"]
    there = {name for name in _names(folder) if name != index_name}
    yield from (f"{name} is missing" for name in sorted(stated.keys() - there))
    yield from (f"{name} was added" for name in sorted(there - stated.keys()))
    yield from (f"{name} was changed" for name in sorted(there & stated.keys()) if _described(folder / name) != stated[name])


def _older(folder: Path, log: str, audit: str) -> Iterator[str]:
    for fault in (*database_faults("log", folder / log, pragma="integrity_check(1)"), *entry_faults(folder / log)):
        yield f"{fault.path.name}: {fault.detail}"
    for one in verify(folder / audit).breaks:
        yield f"{Path(one.file).name}, line {one.line}: {one.reason}"


def _names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _described(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return [path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()]
