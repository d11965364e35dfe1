"""The association store of services that share one place on object storage: what is local is a cache of it.

For several replicas of a service, which must answer alike. What one publishes, keeps besides or prunes the others learn from the journal of
the place, before they answer; where the place does not say, the answer does. A capture that was published on this machine before it shared
a place stays local until it is published again (`headwater store rebuild`). The catalog is local, and made of the place.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from headwater.errors import DamagedError
from headwater.graph.associations import Manifest
from headwater.graph.records.archive import KEPT, Archive, KeptObject, before, captures_in, content_of
from headwater.graph.records.files import write_durably
from headwater.graph.records.layout import MANIFEST, boundary_name, read_files, read_manifest
from headwater.graph.records.pruned import PRUNED, Pruned
from headwater.graph.records.roots import DataRoots
from headwater.graph.records.store import AssociationStore

_CLOCKS = 900.0  # seconds by which the clocks of services may differ
_GRACE = 900.0  # seconds for which a capture that was asked for is not evicted: a question that has found it is to read it
_TOUCHED = 60.0
_log = logging.getLogger("headwater.records")


class SharedAssociationStore(AssociationStore):
    """See the module's docstring. `cache_bytes` bounds what is local; `seconds` is how old what is known of other services may be."""

    def __init__(self, root: Path, *, sources: DataRoots, archive: Archive, cache_bytes: int, seconds: float = 2.0) -> None:
        self.archive = archive
        self._cache_bytes = cache_bytes
        self._brought = cache_bytes  # bytes since the last look at the cache: the first look is due
        self._seconds = seconds
        self._refreshing = threading.Lock()
        self._refreshed: dict[str, float] = {}
        self._seen: dict[str, set[str]] = {}
        super().__init__(root, sources=sources)

    def refresh(self, tenant: str, *, at_once: bool = False) -> None:
        """Learn what other services kept or changed, if the last look is not of a moment ago.

        Raises:
            UnavailableError: the place does not say.
        """
        with self._refreshing:
            if not at_once and time.monotonic() - self._refreshed.get(tenant, -self._seconds) < self._seconds:
                return
            entries = self.archive.journal(tenant, before(self.catalog.journal(tenant), _CLOCKS))
            seen = self._seen.get(tenant, set())
            for capture in captures_in([entry for entry in entries if entry not in seen]):
                try:
                    self._take(tenant, capture)
                except DamagedError as error:
                    _log.error("capture %s, which another service kept, is damaged: %s", capture, error)
            if entries:
                self.catalog.note_journal(tenant, entries[-1])
            self._seen[tenant] = set(entries)
            self._refreshed[tenant] = time.monotonic()

    def put_table(self, tenant: str, capture: str, boundary: int, draft: Path) -> None:
        super().put_table(tenant, capture, boundary, draft)
        folder = self._folder(tenant, capture)
        self.archive.add(tenant, capture, folder / boundary_name(boundary))
        self._note_kept(tenant, capture)

    def table(self, tenant: str, capture: str, boundary: int) -> Path:
        path = super().table(tenant, capture, boundary)
        if not path.exists() and (kept := _local(path.parent)) is not None and path.name in kept.files:
            self.archive.bring(tenant, capture, kept, path.name, path.parent)
            self._bound(kept.files[path.name][0])
        return path

    def note_pruned(self, tenant: str, capture: str, pruned: Pruned) -> None:
        self.archive.prune(tenant, capture, pruned)
        super().note_pruned(tenant, capture, pruned)
        self._note_kept(tenant, capture)

    def drop_tables(self, tenant: str, capture: str, pruned: Pruned) -> None:
        self.archive.prune(tenant, capture, pruned)  # as whoever noted it may have been stopped
        super().drop_tables(tenant, capture, pruned)

    def rebuild(self, tenant: str) -> int:
        entered = super().rebuild(tenant)
        self._seen.pop(tenant, None)
        self.refresh(tenant, at_once=True)
        return max(entered, self.catalog.count(tenant))

    def drop(self, tenant: str, capture: str | None = None) -> None:
        for one in [capture] if capture is not None else [entry.capture for entry in self.catalog.captures(tenant)]:
            self.archive.drop(tenant, one)
        super().drop(tenant, capture)

    def _present(self, tenant: str, capture: str) -> Path:
        folder = self._folder(tenant, capture)
        try:
            if (folder / KEPT).stat().st_mtime < time.time() - _TOUCHED:
                os.utime(folder / KEPT)
        except FileNotFoundError:
            if not (folder / MANIFEST).exists() and (found := self.archive.kept(tenant, capture)) is not None:
                self._bring(tenant, capture, found[0])
        return folder

    def _note_kept(self, tenant: str, capture: str) -> None:
        """Note here what is kept of a capture after a change."""
        folder = self._folder(tenant, capture)
        if folder.is_dir() and (found := self.archive.kept(tenant, capture)) is not None:
            write_durably(folder / KEPT, found[0].text())

    def _keep_elsewhere(self, tenant: str, manifest: Manifest, folder: Path) -> int:
        content, local = content_of(manifest), _local(folder)
        if local is not None and local.content == content:
            self.archive.announce(tenant, manifest.capture)  # this process may have been stopped before it did
            return local.table_bytes
        for name in local.files if local is not None else ():  # all of it is put again, and some of it may not be here
            if not (folder / name).exists():
                self.archive.bring(tenant, manifest.capture, local, name, folder)  # type: ignore[arg-type]
        kept, is_ours = self.archive.put(tenant, manifest.capture, folder, content)
        if is_ours:
            write_durably(folder / KEPT, kept.text())
            self._bound(kept.table_bytes)
        else:
            self._bring(tenant, manifest.capture, kept)
        return kept.table_bytes

    def _take(self, tenant: str, capture: str) -> None:
        """Enter a capture into the catalog as the place has it."""
        folder, found = self._folder(tenant, capture), self.archive.kept(tenant, capture)
        if found is None:
            if _local(folder) is not None or not folder.exists():
                super().drop(tenant, capture)
            return
        kept = found[0]
        if _local(folder) != kept:
            self._bring(tenant, capture, kept)
        self.catalog.put(tenant, read_manifest(folder), read_files(folder), size=kept.table_bytes, pruned=kept.pruned is not None)
        if kept.pruned is not None:
            self.catalog.prunable.pruned_elsewhere(tenant, capture)

    def _bring(self, tenant: str, capture: str, kept: KeptObject) -> None:
        """Have all but the tables of a capture here, as the place has it. Tables that are here and are still kept stay."""
        folder = self._folder(tenant, capture)
        local = _local(folder)
        if local is None or local.generation != kept.generation:
            self._replace(tenant, capture, kept, folder)
            return
        for name in local.files.keys() - kept.files.keys():
            (folder / name).unlink(missing_ok=True)
        if kept.pruned is not None:
            write_durably(folder / PRUNED, kept.pruned.text())
        write_durably(folder / KEPT, kept.text())

    def _replace(self, tenant: str, capture: str, kept: KeptObject, folder: Path) -> None:
        draft = self._drafts(tenant) / f"{capture}.{uuid4().hex}"
        try:
            for name in kept.files:
                if not name.endswith(".parquet"):
                    self.archive.bring(tenant, capture, kept, name, draft)
            draft.mkdir(parents=True, exist_ok=True)
            if kept.pruned is not None:
                (draft / PRUNED).write_bytes(kept.pruned.text())
            (draft / KEPT).write_bytes(kept.text())
            size = sum(file.stat().st_size for file in draft.iterdir())
            folder.parent.mkdir(parents=True, exist_ok=True)
            if folder.exists():
                shutil.rmtree(folder)
            with suppress(OSError):  # another process was quicker
                draft.rename(folder)
            self._bound(size)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _bound(self, size: int) -> None:
        """Evict the captures that were asked for least recently, once there is more than may be; those of a moment ago stay."""
        self._brought += size
        if self._brought * 20 < self._cache_bytes:
            return
        self._brought = 0
        found = []
        for _, folder in self.kept_folders(self.root):
            with suppress(FileNotFoundError):
                used = (folder / KEPT).stat().st_mtime
                found.append((used, sum(file.stat().st_size for file in folder.iterdir()), folder))
        total = sum(bytes_there for _, bytes_there, _ in found)
        for used, bytes_there, folder in sorted(found):
            if total <= self._cache_bytes or used > time.time() - _GRACE:
                break
            shutil.rmtree(folder, ignore_errors=True)
            total -= bytes_there


def _local(folder: Path) -> KeptObject | None:
    """What is here of a capture, as the place had it when it was brought; None where nothing is."""
    try:
        return KeptObject.of((folder / KEPT).read_bytes())
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
