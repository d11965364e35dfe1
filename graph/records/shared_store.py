"""The association store of services that share one place on object storage. The local folder is a cache of the place.

Replicas of a service use it and must give the same answers. Before an answer, a replica reads from the journal of the place which captures
others published or pruned. If the place does not answer, the replica's answers report it. A damaged capture affects only questions that
read it, as long as its sources and outputs are known. A capture that was published on this machine before it shared a place stays local
until it is published again (`headwater store rebuild`). The catalog is local, and is made from the place.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from headwater.errors import DamagedError, InvalidCaptureError, UnavailableError
from headwater.graph.associations import Manifest
from headwater.graph.records.archive import KEPT, Archive, KeptObject, before, capture_in, content_of
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.records.batches import batched
from headwater.graph.records.digests import changing, seal
from headwater.graph.records.layout import MANIFEST, KeptFile, boundary_name, read_files, read_manifest
from headwater.graph.records.prune_note import PRUNED, Pruned
from headwater.graph.records.roots import DataRoots
from headwater.graph.records.safe_names import checked_tenant
from headwater.graph.records.shared_staging import SharedStaging, bytes_staged, clear_stale
from headwater.graph.records.staging import Staging
from headwater.graph.records.store import DRAFTS, AssociationStore
from headwater.graph.storage.object_folder import AlteredObjectError

_CLOCKS = 900.0  # greatest difference between the clocks of services, in seconds
_GRACE = 900.0  # seconds for which a requested capture is not evicted, so that the question can read it
_TOUCHED = 60.0
_LEFT = 3600.0  # seconds after which a draft counts as abandoned
_BROUGHT = "brought-"  # prefix of the names of cache drafts
_TRIES = 3  # of reading a capture that another thread may evict at the same moment
_AT_ONCE = 8  # captures that are read in parallel


class SharedAssociationStore(AssociationStore):
    """An association store with a shared place. `cache_bytes` limits the local cache; after `seconds`, the journal is read again."""

    def __init__(self, root: Path, *, sources: DataRoots, archive: Archive, cache_bytes: int, seconds: float = 2.0) -> None:
        self.archive = archive
        self._cache_bytes = cache_bytes
        self._brought = cache_bytes  # bytes since the size of the cache was last checked; the first check is due
        self._seconds = seconds
        self._refreshing = threading.Lock()
        self._refreshed: dict[str, float] = {}
        self._damaged: dict[tuple[str, str], DamagedError] = {}  # damaged captures with known sources and outputs
        super().__init__(root, sources=sources)

    def refresh(self, tenant: str, *, at_once: bool = False) -> None:
        """Read the journal of the place, unless it was read a moment ago. Entries before a fault count.

        Raises:
            UnavailableError: the place does not answer.
            DamagedError: a capture is damaged, and its sources and outputs are unknown. All other captures are known.
                With `at_once`, also raised if they are known.
        """
        self.catalog.check()
        with self._refreshing:
            if not at_once and time.monotonic() - self._refreshed.get(tenant, -self._seconds) < self._seconds:
                return
            noted_entries = self.catalog.journal(tenant)
            entries = self.archive.journal(tenant, min(noted_entries, default=""))
            damaged: dict[str, DamagedError] = {}
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="headwater-shared") as threads:
                for part in batched([entry for entry in entries if entry not in noted_entries], _AT_ONCE * 4):
                    captures = list(dict.fromkeys(map(capture_in, part)))
                    take_results = zip(captures, threads.map(lambda capture: self._try_take(tenant, capture), captures), strict=True)
                    damaged |= {capture: fault for capture, fault in take_results if fault is not None}
                    # A process that ends need not begin again. Damaged captures are checked again, because they may be repaired.
                    looked_at = [entry if capture_in(entry) not in damaged else before(entry, 0) for entry in part]
                    self.catalog.note_journal(tenant, looked_at)
            other_faults = {key: fault for key, fault in self._damaged.items() if key[0] != tenant}
            self._damaged = other_faults | {(tenant, capture): fault for capture, fault in damaged.items()}
            unknown_faults = [fault for capture, fault in damaged.items() if at_once or not self.catalog.has(tenant, capture)]
            if unknown_faults:
                raise unknown_faults[0]
            if entries and not damaged:
                self.catalog.note_journal(tenant, [], since=before(entries[-1], _CLOCKS))
            self._refreshed[tenant] = time.monotonic()

    def is_there(self, tenant: str, capture: str) -> bool:
        return super().is_there(tenant, capture) or self.archive.kept(tenant, capture) is not None

    def generation(self) -> int | None:
        return None

    def publish(self, tenant: str, manifest: Manifest) -> list[KeptFile]:
        try:
            return super().publish(tenant, manifest)
        except InvalidCaptureError:
            # Another service may have published the capture meanwhile, and deleted its segments.
            existing = self.archive.kept(tenant, manifest.capture)
            if existing is None or existing[0].content != content_of(manifest):
                raise
            self._bring(tenant, manifest.capture, existing[0])
            return super().publish(tenant, manifest)

    def clear_stale(self, before: float) -> int:
        return super().clear_stale(before) + clear_stale(self.archive.place, before)

    def bytes_staged(self) -> int:
        return super().bytes_staged() + bytes_staged(self.archive.place)

    def put_table(self, tenant: str, capture: str, boundary: int, draft: Path) -> None:
        super().put_table(tenant, capture, boundary, draft)
        folder = self._folder(tenant, capture)
        self.archive.add(tenant, capture, folder / boundary_name(boundary))
        self._note_kept(tenant, capture)

    def table(self, tenant: str, capture: str, boundary: int) -> Path:
        path = super().table(tenant, capture, boundary)
        if (
            not path.exists()
            and (kept_object := self._find_kept(tenant, capture, path.parent)) is not None
            and path.name in kept_object.files
        ):
            with changing(path.parent, (path.name,)):
                self.archive.bring(tenant, capture, kept_object, path.name, path.parent)
            self._limit_cache(kept_object.files[path.name][0])
        return path

    def shared_uri(self, tenant: str, capture: str, boundary: int) -> str | None:
        cached_object = _read_cached(self._present(tenant, capture))
        name = boundary_name(boundary)
        return self.archive.uri(tenant, capture, cached_object, name) if cached_object is not None and name in cached_object.files else None

    def note_pruned(self, tenant: str, capture: str, pruned: Pruned) -> None:
        self.archive.prune(tenant, capture, pruned)
        super().note_pruned(tenant, capture, pruned)
        self._note_kept(tenant, capture)

    def drop_tables(self, tenant: str, capture: str, pruned: Pruned) -> None:
        self.archive.prune(tenant, capture, pruned)  # the service that noted it may have been stopped before it finished
        super().drop_tables(tenant, capture, pruned)

    def rebuild(self, tenant: str) -> int:
        entered_count = super().rebuild(tenant)  # the rebuild also resets the position in the journal
        self.refresh(tenant, at_once=True)
        return max(entered_count, self.catalog.count(tenant))

    def drop(self, tenant: str, capture: str | None = None) -> None:
        for dropped_capture in [capture] if capture is not None else [entry.capture for entry in self.catalog.captures(tenant)]:
            self.archive.drop(tenant, dropped_capture)
        super().drop(tenant, capture)

    def _new_staging(self, tenant: str) -> Staging:
        return SharedStaging(self.root / checked_tenant(tenant), self.archive.place, tenant)

    def _present(self, tenant: str, capture: str) -> Path:
        folder = self._folder(tenant, capture)
        if (fault := self._damaged.get((tenant, capture))) is not None:
            raise DamagedError(fault.message, path=folder / KEPT, hint=fault.hint)
        try:
            if (folder / KEPT).stat().st_mtime < time.time() - _TOUCHED:
                os.utime(folder / KEPT)
        except FileNotFoundError:
            if not (folder / MANIFEST).exists() and (kept_object := self.archive.kept(tenant, capture)) is not None:
                self._bring(tenant, capture, kept_object[0])
        return folder

    def _find_kept(self, tenant: str, capture: str, folder: Path) -> KeptObject | None:
        """Return the `kept.json` of a capture from the cache, or from the place if the cached object is damaged."""
        if (
            (kept_object := _read_cached(folder)) is None
            and (folder / KEPT).exists()
            and (found_object := self.archive.kept(tenant, capture)) is not None
        ):
            kept_object = found_object[0]
            self._bring(tenant, capture, kept_object)
        return kept_object

    def _note_kept(self, tenant: str, capture: str) -> None:
        """Update the cached `kept.json` of a capture after a change."""
        folder = self._folder(tenant, capture)
        if folder.is_dir() and (kept_object := self.archive.kept(tenant, capture)) is not None:
            write_durably(folder / KEPT, kept_object[0].text())

    def _keep_elsewhere(self, tenant: str, manifest: Manifest, folder: Path) -> int:
        content, local = content_of(manifest), _read_cached(folder)
        if local is not None and local.content == content:
            self.archive.announce(tenant, manifest.capture)  # the process that kept it may have been stopped before
            return local.table_bytes
        for name in local.files if local is not None else ():  # all files are written again, and some may be missing here
            if not (folder / name).exists():
                self.archive.bring(tenant, manifest.capture, local, name, folder)  # type: ignore[arg-type]
        kept_object, is_ours = self.archive.put(tenant, manifest.capture, folder, content)
        if is_ours:
            write_durably(folder / KEPT, kept_object.text())
            self._limit_cache(kept_object.table_bytes)
        else:
            self._bring(tenant, manifest.capture, kept_object)
        return kept_object.table_bytes

    def _try_take(self, tenant: str, capture: str) -> DamagedError | None:
        """Enter a capture of the place into the catalog. Return the error if the capture is damaged."""
        try:
            self._take(tenant, capture)
        except AlteredObjectError as error:
            return DamagedError(error.message, hint="Bring it back from a version of the bucket.")
        except DamagedError as error:
            self._enter_damaged(tenant, capture)
            return error
        return None

    def _enter_damaged(self, tenant: str, capture: str) -> None:
        draft = self._drafts(tenant) / f"{_BROUGHT}{uuid4().hex}"
        try:
            size = self.archive.left(tenant, capture, draft)
            if size is not None and (manifest := read_manifest(draft)).capture == capture:
                self.catalog.put(tenant, manifest, read_files(draft), size=size)
        except (DamagedError, ValueError, TypeError, OverflowError):
            pass  # the copy is damaged too, so the original content is unknown
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _take(self, tenant: str, capture: str) -> None:
        folder, found_object = self._folder(tenant, capture), self.archive.kept(tenant, capture)
        if found_object is None:
            if _read_cached(folder) is not None or not folder.exists():
                super().drop(tenant, capture)
            return
        kept_object = found_object[0]
        manifest, files = self._read_small_files(tenant, capture, kept_object)
        self.catalog.put(tenant, manifest, files, size=kept_object.table_bytes, pruned=kept_object.pruned is not None)
        if kept_object.pruned is not None:
            self.catalog.prunable.pruned_elsewhere(tenant, capture)

    def _read_small_files(self, tenant: str, capture: str, kept: KeptObject) -> tuple[Manifest, list[KeptFile]]:
        """Read the manifest and the list of files of a capture, and bring the capture first if the cache does not have it."""
        folder = self._folder(tenant, capture)
        for tries_left in reversed(range(_TRIES)):
            if _read_cached(folder) != kept:
                self._bring(tenant, capture, kept)
            try:
                return read_manifest(folder), read_files(folder)
            except (FileNotFoundError, DamagedError):  # or another thread or process of this home evicts or replaces the capture
                if not tries_left and (folder / KEPT).exists():
                    raise
        raise UnavailableError(f"Capture {capture} is being replaced.", hint="Ask again.")

    def _bring(self, tenant: str, capture: str, kept: KeptObject) -> None:
        """Copy the small files of a capture from the place. Valid cached tables stay."""
        folder = self._folder(tenant, capture)
        local = _read_cached(folder)
        if local is None or local.generation != kept.generation:
            self._replace(tenant, capture, kept, folder)
            return
        removed_names = local.files.keys() - kept.files.keys()
        with changing(folder, {*removed_names, PRUNED}):
            for name in removed_names:
                (folder / name).unlink(missing_ok=True)
            if kept.pruned is not None:
                write_durably(folder / PRUNED, kept.pruned.text())
        write_durably(folder / KEPT, kept.text())

    def _replace(self, tenant: str, capture: str, kept: KeptObject, folder: Path) -> None:
        draft = self._drafts(tenant) / f"{_BROUGHT}{uuid4().hex}"
        try:
            for name in kept.files:
                if not name.endswith(".parquet"):
                    self.archive.bring(tenant, capture, kept, name, draft)
            draft.mkdir(parents=True, exist_ok=True)
            if kept.pruned is not None:
                (draft / PRUNED).write_bytes(kept.pruned.text())
            seal(draft, capture)
            write_durably(draft / KEPT, kept.text())
            size = sum(file.stat().st_size for file in draft.iterdir())
            folder.parent.mkdir(parents=True, exist_ok=True)
            with self._open_alone():
                if _read_cached(folder) == kept:
                    return  # another process of this home has done it
                self._evict(tenant, folder)
                draft.rename(folder)
            self._limit_cache(size)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _limit_cache(self, size: int) -> None:
        """Evict the captures that were used least recently if the cache is too large. Recently used captures stay."""
        self._brought += size
        if self._brought * 20 < self._cache_bytes:
            return
        self._brought = 0
        cached_folders = []
        for tenant, folder in self.kept_folders(self.root):
            with suppress(FileNotFoundError):
                last_used = (folder / KEPT).stat().st_mtime
                cached_folders.append((last_used, sum(file.stat().st_size for file in folder.iterdir()), tenant, folder))
        total = sum(bytes_there for _, bytes_there, _, _ in cached_folders)
        for last_used, bytes_there, tenant, folder in sorted(cached_folders):
            if total <= self._cache_bytes or last_used > time.time() - _GRACE:
                break
            self._evict(tenant, folder)
            total -= bytes_there
        for old_draft in self.root.glob(f"*/{DRAFTS}/{_BROUGHT}*"):
            with suppress(FileNotFoundError):
                if old_draft.stat().st_mtime < time.time() - _LEFT:
                    shutil.rmtree(old_draft, ignore_errors=True)

    @contextmanager
    def _open_alone(self) -> Iterator[None]:
        """Lock the cache, so that no other thread or process of this home replaces a folder."""
        with (self.root / ".shared.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _evict(self, tenant: str, folder: Path) -> None:
        """Delete a folder of the cache. It is renamed first, so that no reader finds half of it."""
        moved_folder = self._drafts(tenant) / f"{_BROUGHT}{uuid4().hex}"
        moved_folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            folder.rename(moved_folder)
        shutil.rmtree(moved_folder, ignore_errors=True)


def is_brought(path: Path) -> bool:
    """Return whether a file of a capture is at the shared place. It may then be missing in the home."""
    local = _read_cached(path.parent)
    return local is not None and path.name in local.files


def _read_cached(folder: Path) -> KeptObject | None:
    """Return the cached `kept.json` of a capture. None if there is none, or it is damaged."""
    try:
        return KeptObject.of((folder / KEPT).read_bytes())
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
