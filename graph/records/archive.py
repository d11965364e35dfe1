"""Kept captures on object storage that several services share.

The object `kept.json` of a capture lists the capture's files, with length and SHA-256. The files are in a folder of their own. They are
written before `kept.json` and never changed, so a capture is there as a whole or not at all. If two services keep the same capture, the
first `kept.json` counts. A journal has an entry for each kept or changed capture, from which other services learn of it.

    <place>/<tenant>/<two>/<capture>/kept.json
    <place>/<tenant>/<two>/<capture>/<generation>/{manifest.json, files.json, b<boundary>.parquet, …}
    <place>/<tenant>/journal/<milliseconds>-<capture>
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from headwater.errors import DamagedError, InvalidCaptureError, UnavailableError
from headwater.graph.associations import Manifest
from headwater.graph.records.digests import DIGESTS
from headwater.graph.records.layout import FILES, MANIFEST, manifest_text
from headwater.graph.records.prune_note import Pruned
from headwater.graph.records.safe_names import checked_capture, checked_tenant
from headwater.graph.storage.object_folder import Place

KEPT = "kept.json"
JOURNAL = "journal"
_DIGITS = 13  # of milliseconds since the epoch, until the year 2286
_TRIES = 5
_LONGEST = 1 << 50  # bytes of a file, more than any object store allows
_GENERATION = re.compile(r"[0-9a-f]{32}")
_FILE = re.compile(r"[a-z0-9_-]{1,40}\.(json|db|parquet)")


@dataclass(frozen=True, slots=True)
class KeptObject:
    """The content of `kept.json`: the files of a capture by name, with length and SHA-256.

    `content` is a hash of the capture's manifest.
    """

    generation: str
    content: str
    files: Mapping[str, tuple[int, str]]
    pruned: Pruned | None = None

    def __post_init__(self) -> None:
        """Refuse names that lead out of the capture's folder, because anybody who may write to the bucket can write this object."""
        if not _GENERATION.fullmatch(self.generation):
            raise ValueError(f"it names a generation {self.generation!r}")
        if odd := next((name for name in self.files if not _FILE.fullmatch(name)), None):
            raise ValueError(f"it names a file {odd!r}")

    @property
    def table_bytes(self) -> int:
        return sum(length for name, (length, _) in self.files.items() if name.endswith(".parquet"))

    def text(self) -> bytes:
        values = {"generation": self.generation, "content": self.content, "files": {name: list(file) for name, file in self.files.items()}}
        if self.pruned is not None:
            values["pruned"] = json.loads(self.pruned.text())
        return json.dumps(values, ensure_ascii=False).encode()

    @classmethod
    def of(cls, text: bytes) -> KeptObject:
        """Parse `kept.json`. Raises `ValueError`, `KeyError` or `TypeError` if the text is invalid."""
        try:
            values = json.loads(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if not isinstance(values, dict) or not isinstance(values["files"], dict):
            raise TypeError("it lists no files")
        files = {}
        for name, (length, digest) in values["files"].items():
            if type(length) is not int or not 0 <= length <= _LONGEST:
                raise ValueError(f"it gives a file {str(length)[:40]} bytes")
            files[name] = length, str(digest)
        pruned = Pruned.of(json.dumps(values["pruned"]).encode()) if values.get("pruned") else None
        return cls(str(values["generation"]), str(values["content"]), files, pruned)


class Archive:
    """The captures at a place on object storage. Safe to use from several threads; several services may share a place."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @property
    def url(self) -> str:
        return self.place.url

    def kept(self, tenant: str, capture: str) -> tuple[KeptObject, str] | None:
        """Return the `kept.json` of a capture, and the ETag of that object. None if the capture is not kept.

        Raises:
            UnavailableError: the object store does not answer.
            DamagedError: the object is damaged.
        """
        kept_object = self.place.get(_name(tenant, capture, KEPT))
        if kept_object is None:
            return None
        try:
            return KeptObject.of(kept_object[0]), kept_object[1]
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(
                f"{self.url}/{_name(tenant, capture, KEPT)} is damaged: {error}.", hint="Bring it back from a version of the bucket."
            ) from error

    def left(self, tenant: str, capture: str, folder: Path) -> int | None:
        """Copy manifest and files of a capture with a damaged `kept.json` to a local folder. Return the bytes of its tables.

        Without `kept.json`, the files cannot be verified. They show what the capture read and wrote, and must not be used for answers.
        Return None if the files are missing, or exist more than once.
        """
        prefix = _name(tenant, capture, "")
        stats = {name.removeprefix(prefix): stat for name, stat in self.place.files(prefix.rstrip("/"))}
        generations = [name.removesuffix(f"/{MANIFEST}") for name in stats if name.endswith(f"/{MANIFEST}")]
        if len(generations) != 1 or not _GENERATION.fullmatch(generations[0]):
            return None
        folder.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST, FILES):
            content = self.place.get(f"{prefix}{generations[0]}/{name}")
            if content is None:
                return None
            (folder / name).write_bytes(content[0])
        return sum(stat.length for name, stat in stats.items() if name.startswith(generations[0]) and name.endswith(".parquet"))

    def put(self, tenant: str, capture: str, folder: Path, content: str) -> tuple[KeptObject, bool]:
        """Keep the files of a folder as a capture. Return the valid `kept.json`, and whether it is this one.

        The valid object is another service's if that service kept the capture first.
        """
        names = sorted(
            path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith(".") and path.name not in {KEPT, DIGESTS}
        )
        own_object = KeptObject(uuid4().hex, content, {name: _described(folder / name) for name in names})
        for name in names:
            self.place.put(_name(tenant, capture, f"{own_object.generation}/{name}"), folder / name)
        for _ in range(_TRIES):
            existing = self.kept(tenant, capture)
            if existing is not None and existing[0].content == content:
                self._delete(tenant, capture, own_object)
                self.announce(tenant, capture)
                return existing[0], False
            if self.place.put_where(_name(tenant, capture, KEPT), own_object.text(), existing[1] if existing is not None else None):
                if existing is not None:
                    self._delete(tenant, capture, existing[0])
                self.announce(tenant, capture)
                return own_object, True
        raise UnavailableError(f"Capture {capture} is kept by other services again and again.", hint="Try again.")

    def drop(self, tenant: str, capture: str) -> None:
        if (kept_object := self.kept(tenant, capture)) is not None:
            self.place.delete(_name(tenant, capture, KEPT))  # first, because the capture counts as long as this object exists
            self._delete(tenant, capture, kept_object[0])
            self.announce(tenant, capture)

    def add(self, tenant: str, capture: str, path: Path) -> None:
        """Add a file to a kept capture. Other services may change the capture at the same time."""

        def added(kept: KeptObject) -> KeptObject:
            self.place.put(_name(tenant, capture, f"{kept.generation}/{path.name}"), path)
            return replace(kept, files={**kept.files, path.name: _described(path)})

        self._change(tenant, capture, added)

    def prune(self, tenant: str, capture: str, note: Pruned) -> None:
        """Note that the tables of a capture are pruned, then delete the tables. Idempotent."""
        tables: dict[str, str] = {}

        def pruned(kept: KeptObject) -> KeptObject:
            tables.update({name: kept.generation for name in kept.files if name.endswith(".parquet")})
            return replace(kept, pruned=kept.pruned or note, files={name: file for name, file in kept.files.items() if name not in tables})

        self._change(tenant, capture, pruned)
        for name, generation in tables.items():
            self.place.delete(_name(tenant, capture, f"{generation}/{name}"))

    def bring(self, tenant: str, capture: str, kept: KeptObject, name: str, folder: Path) -> None:
        length, sha256 = kept.files[name]
        self.place.bring(_name(tenant, capture, f"{kept.generation}/{name}"), folder / name, length, sha256)

    def uri(self, tenant: str, capture: str, kept: KeptObject, name: str) -> str:
        """Return the Hadoop URI (`s3a:` for S3) of a capture's file."""
        scheme, _, address = self.url.partition(":")
        return f"{'s3a' if scheme == 's3' else scheme}:{address}/{_name(tenant, capture, f'{kept.generation}/{name}')}"

    def announce(self, tenant: str, capture: str) -> None:
        self.place.put(f"{checked_tenant(tenant)}/{JOURNAL}/{_stamp(time.time())}-{checked_capture(capture)}", b"")

    def journal(self, tenant: str, after: str) -> list[str]:
        """Return the journal entries after the entry `after`. Objects with other names are skipped."""
        return [name for name in self.place.names(f"{checked_tenant(tenant)}/{JOURNAL}", after) if _is_entry(name)]

    def _change(self, tenant: str, capture: str, change: Callable[[KeptObject], KeptObject]) -> None:
        for _ in range(_TRIES):
            kept_object = self.kept(tenant, capture)
            if kept_object is None:
                return  # another service dropped it, or it was kept before the services shared a place
            changed = change(kept_object[0])
            if changed == kept_object[0]:
                return
            if self.place.put_where(_name(tenant, capture, KEPT), changed.text(), kept_object[1]):
                self.announce(tenant, capture)
                return
        raise UnavailableError(f"Capture {capture} is changed by other services again and again.", hint="Try again.")

    def _delete(self, tenant: str, capture: str, kept: KeptObject) -> None:
        for name in kept.files:
            self.place.delete(_name(tenant, capture, f"{kept.generation}/{name}"))


def content_of(manifest: Manifest) -> str:
    """Return a hash of a capture's manifest, from which its tables are made."""
    return hashlib.sha256(manifest_text(manifest)).hexdigest()


def capture_in(entry: str) -> str:
    return entry[_DIGITS + 1 :]


def before(entry: str, seconds: float) -> str:
    """Return a journal position some seconds before an entry and before now, because the clocks of services differ."""
    return _stamp(min(int(entry[:_DIGITS]) / 1000, time.time()) - seconds)


def _stamp(instant: float) -> str:
    return f"{max(int(instant * 1000), 0):0{_DIGITS}d}"


def _is_entry(name: str) -> bool:
    stamp, _, capture = name.partition("-")
    try:
        return len(stamp) == _DIGITS and stamp.isdecimal() and checked_capture(capture) == capture
    except InvalidCaptureError:
        return False


def _name(tenant: str, capture: str, name: str) -> str:
    return f"{checked_tenant(tenant)}/{checked_capture(capture)[-2:]}/{capture}/{name}"


def _described(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
