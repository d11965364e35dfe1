"""Staged segments of services that share a place.

They are on the object store, so each service can publish segments that another received.

An object's name ends with the SHA-256 of its bytes, so an object never changes. Segments that were staged in a home before it shared a
place are still found there.

    <place>/.staging/<tenant>/<capture>/<segment>.<sha256>
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from headwater.errors import InvalidCaptureError
from headwater.graph.associations import SegmentEntry
from headwater.graph.records.safe_names import checked_capture, checked_segment, checked_tenant
from headwater.graph.records.staging import Staging, digest_of
from headwater.graph.storage.object_folder import AlteredObjectError, Place

_FOLDER = ".staging"  # not a valid name of a tenant
_AT_ONCE = 8
_DIGITS = 64  # hexadecimal digits of a SHA-256


class SharedStaging(Staging):
    """The staged segments of one tenant on the shared place. `root` is the tenant's folder in the home."""

    def __init__(self, root: Path, place: Place, tenant: str) -> None:
        super().__init__(root)
        self._place = place
        self._tenant = checked_tenant(tenant)

    def put(self, capture: str, name: str, data: bytes | Path) -> str:
        digest = hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else digest_of(data)
        self._place.put(f"{self._at(capture)}/{checked_segment(name)}.{digest}", data)
        return digest

    def missing(self, capture: str, entries: Sequence[SegmentEntry]) -> list[str]:
        if not (absent_names := set(super().missing(capture, entries))):
            return []
        staged_names = set(self._place.names(self._at(capture), ""))
        return [entry.name for entry in entries if entry.name in absent_names and f"{entry.name}.{entry.sha256}" not in staged_names]

    def has(self, capture: str) -> bool:
        return super().has(capture) or bool(self._place.names(self._at(capture), ""))

    def fetch(self, capture: str, entries: Sequence[SegmentEntry]) -> None:
        absent_names = set(super().missing(capture, entries))
        wanted_entries = [entry for entry in entries if entry.name in absent_names]
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="headwater-staged") as threads:
            for _ in threads.map(partial(self._bring, capture), wanted_entries):
                pass

    def clear(self, capture: str) -> None:
        super().clear(capture)
        folder = self._at(capture)
        self._place.delete_all([f"{folder}/{name}" for name in self._place.names(folder, "")])

    def _bring(self, capture: str, entry: SegmentEntry) -> None:
        name = f"{self._at(capture)}/{checked_segment(entry.name)}.{entry.sha256}"
        length = self._place.length(name)
        if length is None:
            raise InvalidCaptureError(
                f"Segment {entry.name} of capture {capture} cannot be published: it has not arrived.",
                field=entry.name,
                hint="Send it again from the spool.",
            )
        try:
            self._place.bring(name, self._path(capture, entry.name), length, entry.sha256)
        except AlteredObjectError as error:  # a retry cannot help, and later captures must not wait
            raise InvalidCaptureError(error.message, field=entry.name, hint="Send it again from the spool.") from error

    def _at(self, capture: str) -> str:
        return f"{_FOLDER}/{self._tenant}/{checked_capture(capture)}"


def bytes_staged(place: Place) -> int:
    return sum(stat.length for _, stat in place.files(_FOLDER))


def clear_stale(place: Place, before: float) -> int:
    """Delete staged segments of captures without new segments since an instant (epoch seconds). Return the number of captures."""
    captures: defaultdict[str, list[str]] = defaultdict(list)
    latest: defaultdict[str, float] = defaultdict(float)
    for name, stat in place.files(_FOLDER):
        capture = name.rpartition("/")[0]
        captures[capture].append(name)
        latest[capture] = max(latest[capture], stat.modified / 1000)
    stale = [capture for capture in captures if latest[capture] < before]
    for capture in stale:
        place.delete_all(captures[capture])
    return len(stale)
