"""Staged segments: segments that arrived, complete and on disk, whose capture is not published yet."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from headwater.errors import InvalidCaptureError
from headwater.graph.associations import SegmentEntry
from headwater.graph.associations.segment import Segment
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.records.safe_names import checked_capture, checked_segment

FOLDER = "staging"  # not a UUID, so it cannot be the folder of a capture


class Staging:
    """The staged segments of one tenant. `root` is the tenant's folder."""

    def __init__(self, root: Path) -> None:
        self._root = root / FOLDER
        self._hashes: dict[tuple[Path, int, int], str] = {}

    def put(self, capture: str, name: str, data: bytes | Path) -> str:
        """Store a segment durably, and return its SHA-256. Idempotent."""
        target = self._path(capture, name)
        digest = hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else digest_of(data)
        if self.digest(capture, name) != digest:
            write_durably(target, data)
        return digest

    def digest(self, capture: str, name: str) -> str | None:
        """Return the SHA-256 of a staged segment. None if it is not staged."""
        path = self._path(capture, name)
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        key = (path, status.st_size, status.st_mtime_ns)
        if key not in self._hashes:
            self._hashes[key] = digest_of(path)
        return self._hashes[key]

    def missing(self, capture: str, entries: Sequence[SegmentEntry]) -> list[str]:
        """Return the names of segments in a manifest that are not staged with the stated SHA-256."""
        return [entry.name for entry in entries if self.digest(capture, entry.name) != entry.sha256]

    def fetch(self, capture: str, entries: Sequence[SegmentEntry]) -> None:
        """Make segments available to `open`."""

    def open(self, capture: str, entry: SegmentEntry) -> Segment:
        """Open a staged segment. Its blocks are read from its file.

        Raises:
            InvalidCaptureError: the segment is missing, or differs from the manifest.
        """
        digest = self.digest(capture, entry.name)
        if digest != entry.sha256:
            reason = "it has not arrived" if digest is None else f"its SHA-256 is {digest}, the manifest says {entry.sha256}"
            raise InvalidCaptureError(
                f"Segment {entry.name} of capture {capture} cannot be published: {reason}.",
                field=entry.name,
                hint="Send it again from the spool.",
            )
        return Segment.open(entry.name, self._path(capture, entry.name))

    def has(self, capture: str) -> bool:
        return (self._root / checked_capture(capture)).is_dir()

    def clear(self, capture: str) -> None:
        self._clear_here(capture)

    def _clear_here(self, capture: str) -> None:
        folder = self._root / checked_capture(capture)
        shutil.rmtree(folder, ignore_errors=True)  # the rest is removed when the capture is published again
        self._hashes = {key: value for key, value in self._hashes.items() if key[0].parent != folder}

    def clear_stale(self, before: float) -> int:
        """Delete captures without new segments since an instant (epoch seconds). Return their number.

        Their application ended before it sent a manifest. If the manifest still comes, the sender learns which segments are missing.
        """
        stale = 0
        for folder in self._root.iterdir() if self._root.exists() else ():
            try:
                latest = max((entry.stat().st_mtime for entry in (folder, *folder.iterdir())), default=0.0)
            except (FileNotFoundError, NotADirectoryError):
                continue  # published or deleted a moment ago
            if latest < before:
                self._clear_here(folder.name)
                stale += 1
        return stale

    def bytes_staged(self) -> int:
        total = 0
        for folder in self._root.iterdir() if self._root.exists() else ():
            with suppress(FileNotFoundError, NotADirectoryError):  # published or deleted a moment ago
                total += sum(entry.stat().st_size for entry in folder.iterdir())
        return total

    def _path(self, capture: str, name: str) -> Path:
        return self._root / checked_capture(capture) / checked_segment(name)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
