"""Checksums of the files of a kept capture: `digests.json` in the folder of the capture.

Every reader of such a file checks them, and so does `headwater store check`. A damaged file is reported, and its content is never used. A
file is divided into blocks with a checksum each, so that a reader of a part of a large table compares only that part. Captures of earlier
releases have no `digests.json`: `headwater store rebuild` adds it.

A file that is about to change has the entry `null` until it is written, so a process that is killed in between causes no false alarm. A
file without an entry is not compared.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from headwater.graph.damage import damaged
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.records.bounded_cache import Bounded

DIGESTS = "digests.json"
_WHAT = "The association file"
_BLOCK = 32 << 10  # bytes: about one column of a row group, which is the unit that a trace reads
_MOST_BLOCKS = 4096  # per file; larger files have larger blocks
_BYTES = 16  # of each SHA-256 are stored
_PARALLEL = 64 << 20  # bytes from which several threads compare a file
_KNOWN = 4096
_UNSEALED = (".damaged-", ".tmp")  # parts of the names of files that do not belong to a capture
_Identity = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The length of a file, the size of its blocks, and the checksums of the blocks, one after the other."""

    length: int
    block: int
    blocks: bytes

    def differs(self, data: bytes) -> str:
        if len(data) != self.length:
            return f"it has {len(data):,} bytes, {self.length:,} were written"
        return "" if _digest(data, self.block) == self.blocks else "its checksum is not that of what was written"


class Digests(dict[str, FileDigest | None]):
    """The digests of a capture's files, by name."""

    def text(self, capture: str) -> bytes:
        files = {name: None if one is None else [one.length, one.block, one.blocks.hex()] for name, one in sorted(self.items())}
        return json.dumps({"check": _check(capture, files), "files": files}).encode()

    @classmethod
    def of(cls, capture: str, text: bytes) -> Digests:
        """Parse `digests.json`. Raises `KeyError`, `TypeError` or `ValueError` if the text is damaged."""
        stated = json.loads(text)
        files = stated["files"]
        if stated["check"] != _check(capture, files):
            raise ValueError("its checksum is not that of what was written")
        found = cls({name: None if one is None else FileDigest(one[0], one[1], bytes.fromhex(one[2])) for name, one in files.items()})
        if found.text(capture) != text:
            raise ValueError("it is not as it was written")
        return found


def _digest_of_bytes(data: bytes) -> FileDigest:
    return FileDigest(len(data), block := _block_of(len(data)), _digest(data, block))


def _digest_of_file(path: Path) -> FileDigest:
    length = path.stat().st_size
    block = _block_of(length)
    return FileDigest(length, block, b"".join(_blocks(path, block, 0, -(-length // block))))


def seal(folder: Path, capture: str, contents: Mapping[str, bytes] | None = None) -> None:
    """Write the digests of all files in a folder. `contents` are files that will be written there afterwards."""
    entries = Digests({path.name: _digest_of_file(path) for path in _list_sealable(folder)})
    entries |= {name: _digest_of_bytes(data) for name, data in (contents or {}).items()}
    write_durably(folder / DIGESTS, entries.text(capture))


def _list_sealable(folder: Path) -> list[Path]:
    """Return the files of a capture that get a digest. Drafts and cached files of a shared place get none."""
    names = {DIGESTS, "kept.json"}
    return [
        path
        for path in folder.iterdir()
        if path.is_file() and path.name not in names and not path.name.startswith(".") and not any(mark in path.name for mark in _UNSEALED)
    ]


def is_sealed(folder: Path) -> bool:
    return (folder / DIGESTS).exists()


@contextmanager
def changing(folder: Path, names: Collection[str]) -> Iterator[None]:
    """Update the digests after the block has changed, added or removed files of a kept capture. A capture without digests gets none.

    Raises:
        DamagedError: `digests.json` is damaged.
    """
    with _is_alone(folder):
        earlier_digests = digests_of(folder)
        if earlier_digests is None:
            yield
            return
        write_durably(folder / DIGESTS, Digests(earlier_digests | dict.fromkeys(names)).text(folder.name))
        try:
            yield
        except BaseException:
            with suppress(OSError):  # usually a full disk, the reason for the failed change too
                write_durably(folder / DIGESTS, Digests(_list_remaining(folder, names, earlier_digests)).text(folder.name))
            raise
        new_digests = {name: _digest_of_file(folder / name) for name in names if (folder / name).exists()}
        kept_digests = {name: one for name, one in earlier_digests.items() if name not in names}
        write_durably(folder / DIGESTS, Digests(kept_digests | new_digests).text(folder.name))


def _list_remaining(folder: Path, names: Collection[str], before: Mapping[str, FileDigest | None]) -> dict[str, FileDigest | None]:
    """Return the digests after a failed change. An unchanged file keeps its digest; a file that may be half written has none."""
    remaining = {name: one for name, one in before.items() if name not in names}
    for name in names:
        if (folder / name).exists():
            earlier_digest = before.get(name)
            remaining[name] = earlier_digest if earlier_digest is not None and _digest_of_file(folder / name) == earlier_digest else None
    return remaining


def digests_of(folder: Path) -> Digests | None:
    """Return the digests of a kept capture. None if it has no `digests.json`.

    Raises:
        DamagedError: `digests.json` is damaged.
    """
    path = folder / DIGESTS
    try:
        identity = _identity(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if (known := _DIGESTS.get(path)) is not None and known[0] == identity:
        return known[1]
    try:
        found = Digests.of(folder.name, path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise damaged(path, _WHAT, str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    _DIGESTS.put(path, (identity, found), 1)
    return found


def read_checked(path: Path) -> bytes:
    """Read a small file of a kept capture, and compare it with its digest.

    Raises:
        DamagedError: the content differs from the digest.
        FileNotFoundError: there is no such file.
    """
    digests = digests_of(path.parent)
    while True:
        data = path.read_bytes()
        entry = digests.get(path.name) if digests is not None else None
        reason = entry.differs(data) if entry is not None else ""
        if not reason:
            return data
        if (current_digests := digests_of(path.parent)) == digests:
            raise damaged(path, _WHAT, reason)
        digests = current_digests  # the file was replaced meanwhile


def check_file(path: Path) -> bool:
    """Compare a file of a kept capture with its digest. Return false if it has no digest.

    An unchanged file is compared once in each process.

    Raises:
        DamagedError: the content differs from the digest.
        FileNotFoundError: there is no such file.
    """
    entry, identity = _entry(path), _identity(path)
    if entry is None:
        return False
    with _LOCK:
        if _SOUND.get(path) == (identity, entry):
            return True
    _compare(path, entry, 0, entry.length)
    if _identity(path) == identity:
        with _LOCK:
            _SOUND[path] = identity, entry
            while len(_SOUND) > _KNOWN:
                _SOUND.popitem(last=False)
    return True


def check_part(path: Path, start: int, length: int) -> None:
    """Compare a part of a file with its digest, in whole blocks. A file without a digest is not compared.

    Raises:
        DamagedError: a block differs from its checksum.
    """
    if (entry := _entry(path)) is not None:
        _compare(path, entry, start, length)


def compare_anew(path: Path) -> bool:
    """Compare a file with its digest, even if `check_file` has compared it. Damage on the disk does not change a file's time."""
    with _LOCK:
        _SOUND.pop(path, None)
    return check_file(path)


_LOCK = threading.Lock()
_DIGESTS = Bounded[Path, tuple[_Identity, Digests]](_KNOWN)
_SOUND: OrderedDict[Path, tuple[_Identity, FileDigest]] = OrderedDict()


def _entry(path: Path) -> FileDigest | None:
    digests = digests_of(path.parent)
    return digests.get(path.name) if digests is not None else None


def _compare(path: Path, entry: FileDigest, start: int, length: int) -> None:
    reason = _find_difference(path, entry, start, length)
    if reason and _entry(path) == entry:  # otherwise the file was replaced meanwhile
        raise damaged(path, _WHAT, reason)


def _find_difference(path: Path, entry: FileDigest, start: int, length: int) -> str:
    if (size := path.stat().st_size) != entry.length:
        return f"it has {size:,} bytes, {entry.length:,} were written"
    first, end_block = start // entry.block, -(-min(start + length, entry.length) // entry.block)
    for place, digest in enumerate(_blocks(path, entry.block, first, end_block), start=first):
        if digest != entry.blocks[place * _BYTES : (place + 1) * _BYTES]:
            return f"the checksum of its bytes from {place * entry.block:,} on is not that of what was written"
    return ""


def _blocks(path: Path, block: int, first: int, last: int) -> Iterator[bytes]:
    if (last - first) * block >= _PARALLEL and (os.cpu_count() or 1) > 1:
        middle = (first + last) // 2
        with ThreadPoolExecutor(1, thread_name_prefix="headwater-digest") as threads:
            other_hashes = threads.submit(lambda: list(_hash_blocks(path, block, middle, last)))
            yield from _hash_blocks(path, block, first, middle)
            yield from other_hashes.result()
        return
    yield from _hash_blocks(path, block, first, last)


def _hash_blocks(path: Path, block: int, first: int, last: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first * block)
        for _ in range(first, last):
            yield hashlib.sha256(file.read(block)).digest()[:_BYTES]


def _digest(data: bytes, block: int) -> bytes:
    return b"".join(hashlib.sha256(data[start : start + block]).digest()[:_BYTES] for start in range(0, len(data), block))


def _block_of(length: int) -> int:
    block = _BLOCK
    while block * _MOST_BLOCKS < length:
        block *= 2
    return block


def _check(capture: str, files: object) -> str:
    return hashlib.sha256(f"{capture} {json.dumps(files)}".encode()).hexdigest()


def _identity(path: Path) -> _Identity:
    status = path.stat()
    return (
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )  # the last is the time of the inode, which programs cannot set


@contextmanager
def _is_alone(folder: Path) -> Iterator[None]:
    """Lock the digests of a folder against other processes. On a file system without locks, do nothing."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
