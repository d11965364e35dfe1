"""The association store: keeps what captures recorded, and finds the captures that wrote or read a file block.

The intake stages segments and publishes captures. Traces read the kept tables. A capture counts from the moment it is published, as a whole
or not at all. Publishing may crash at any point and be repeated. No name comes from a user's text. Every call requires the tenant.

    <root>/<tenant>/<two>/<capture>/{manifest.json, files.json, digests.json, b<boundary>.parquet}   a kept capture
    <root>/<tenant>/staging/<capture>/*.seg                                                          segments that are not published yet
    <root>/catalog.db                                                                                made from the kept captures

A capture with many files also has `brief.json` and `lists.db` (see `lists`). A pruned capture has `pruned.json` and no tables.

<two> are the last two digits of the capture's id, so that no folder has millions of entries. Earlier releases kept a capture at
<root>/<tenant>/<capture>; such captures stay and are read there.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from headwater.errors import DamagedError, InvalidCaptureError, NotFoundError
from headwater.graph.associations import Manifest
from headwater.graph.damage import REPAIR, damaged
from headwater.graph.records.atomic_files import sync, write_durably
from headwater.graph.records.bounded_cache import Bounded
from headwater.graph.records.catalog import Catalog
from headwater.graph.records.digests import changing, digests_of, seal
from headwater.graph.records.layout import (
    BRIEF,
    CATALOG,
    FILES,
    LISTS,
    MANIFEST,
    KeptFile,
    boundary_name,
    pack_manifest,
    read_files,
    read_manifest,
    read_sized_manifest,
    reading,
)
from headwater.graph.records.lists import (
    FewSourceFiles,
    FewWrittenFiles,
    ManySourceFiles,
    ManyWrittenFiles,
    SourceFiles,
    WrittenFiles,
    keep_lists,
    keep_missing_lists,
    rows_of_segments,
    stated_rows,
)
from headwater.graph.records.prune_note import PRUNED, Pruned, is_pruned, read_pruned, table_bytes
from headwater.graph.records.roots import DataRoots
from headwater.graph.records.safe_names import checked_capture, checked_tenant
from headwater.graph.records.slow_tables import WantedTables
from headwater.graph.records.staging import Staging

_MANIFEST_BYTES = 16 << 20  # bytes of JSON; in memory a manifest takes about ten times as much
INCOMING = ".incoming-"  # prefix of the names of segments that are being received
DRAFTS = ".drafts"
_FAN = re.compile(r"[0-9a-f]{2}")
_log = logging.getLogger("headwater.records")


class AssociationStore:
    """The store in one home. `root` is its folder `associations`. Safe to use from several threads of one process.

    `sources` states where traces may read the data that captures read and wrote.
    """

    def __init__(self, root: Path, *, sources: DataRoots) -> None:
        self.root = root
        self.sources = sources
        self.catalog = Catalog(root / CATALOG)
        with self.catalog.brought_up_to_date() as self.was_filled:
            if self.was_filled:
                self._fill()
        self.wanted = WantedTables()
        self._publishing = threading.Lock()
        self._stagings: dict[str, Staging] = {}
        self._manifests: Bounded[tuple[str, str, str], tuple[Path, int, Manifest]] = Bounded(_MANIFEST_BYTES)

    def close(self) -> None:
        self.catalog.close()

    def stage_segment(self, tenant: str, capture: str, name: str, data: bytes | Path) -> str:
        """Store a segment durably until its capture is published. Return its SHA-256. Idempotent.

        Raises:
            InvalidCaptureError: the id of the capture or the name of the segment is invalid.
        """
        return self._staging(tenant).put(capture, name, data)

    def clear_stale(self, before: float) -> int:
        """Delete staged segments of captures without new segments since an instant (epoch seconds). Return the number of captures."""
        for file in self.root.glob(f"{INCOMING}*"):
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < before:
                    file.unlink()  # left by a process that was killed while it received a segment
        with self._publishing:
            return sum(self._staging(tenant).clear_stale(before) for tenant in self._tenants())

    def bytes_staged(self) -> int:
        """Return the bytes of segments that wait for a manifest, including those that are being received."""
        incoming = 0
        for file in self.root.glob(f"{INCOMING}*"):
            with suppress(FileNotFoundError):
                incoming += file.stat().st_size
        return incoming + sum(self._staging(tenant).bytes_staged() for tenant in self._tenants())

    def _tenants(self) -> list[str]:
        return [folder.name for folder in _folders(self.root) if not folder.name.startswith(".")]  # traces spill to .spill

    def missing_segments(self, tenant: str, manifest: Manifest) -> list[str]:
        """Return the segments of a manifest that have not arrived. A published capture has none."""
        kept_manifest = self._kept_manifest(tenant, manifest.capture)
        if kept_manifest is not None and kept_manifest.segments == manifest.segments:
            return []
        return self._staging(tenant).missing(manifest.capture, manifest.segments)

    def publish(self, tenant: str, manifest: Manifest) -> list[KeptFile]:
        """Keep the associations of a capture, enter it into the catalog, and drop its staged segments. Return the written files.

        A capture that is published again with the same segments and boundaries keeps its tables. With others, its groups get new numbers,
        so earlier references to groups become invalid.

        Raises:
            InvalidCaptureError: a segment is missing, damaged, or differs from the manifest. Nothing has changed then.
        """
        folder = self._folder(tenant, manifest.capture)
        with self._publishing:
            kept_manifest = self._kept_manifest(tenant, manifest.capture)
            if kept_manifest is None or (kept_manifest.segments, kept_manifest.boundaries) != (manifest.segments, manifest.boundaries):
                self._write_known(tenant, manifest, folder)
            elif kept_manifest != manifest:
                files = read_files(folder)
                with changing(folder, (LISTS, BRIEF, MANIFEST)):
                    keep_lists(manifest, files, folder)
                    write_durably(folder / MANIFEST, pack_manifest(manifest))  # last, because publishing is repeated until this file exists
            self._seal(tenant, manifest.capture, folder)
            size = self._keep_elsewhere(tenant, manifest, folder)
            files = read_files(folder)
            self.catalog.put(tenant, manifest, files, size=size, pruned=is_pruned(folder))
            self._staging(tenant).clear(manifest.capture)
        return files

    def count(self, tenant: str) -> int:
        return self.catalog.count(tenant)

    def manifest(self, tenant: str, capture: str) -> Manifest:
        """Return the manifest of a published capture.

        Raises:
            NotFoundError: there is no such capture.
        """
        return self._read(tenant, capture, MANIFEST)

    def brief(self, tenant: str, capture: str) -> Manifest:
        """Return the manifest of a published capture, without long lists of files, splits and segments.

        Raises:
            NotFoundError: there is no such capture.
            DamagedError: the catalog has the capture, and its folder is missing.
        """
        folder = self._present(tenant, capture)
        if not folder.exists() and self.catalog.has(tenant, capture):
            raise damaged(folder, "The association folder", "it is missing")
        return self._read(tenant, capture, BRIEF if (folder / BRIEF).exists() else MANIFEST)

    def source_files(self, tenant: str, brief: Manifest) -> dict[int, SourceFiles]:
        """Return the files that each source of a capture read, by the source's number. The manifest comes from `brief`."""
        folder = self._present(tenant, brief.capture)
        if (folder / BRIEF).exists():
            return {source.source: ManySourceFiles(folder / LISTS, source.source) for source in brief.sources}
        return {source.source: FewSourceFiles(source) for source in brief.sources}

    def written_files(self, tenant: str, capture: str) -> WrittenFiles:
        folder = self._present(tenant, capture)
        return ManyWrittenFiles(folder / LISTS) if (folder / BRIEF).exists() else FewWrittenFiles(read_files(folder))

    def boundary_rows(self, tenant: str, capture: str) -> dict[int, int]:
        is_long = (self._present(tenant, capture) / BRIEF).exists()
        stated_counts = stated_rows(self.brief(tenant, capture)) if is_long else None
        return rows_of_segments(self.manifest(tenant, capture)) if stated_counts is None else stated_counts

    def _read(self, tenant: str, capture: str, name: str) -> Manifest:
        path = self._present(tenant, capture) / name
        try:
            with reading(path, absent=path.parent.is_dir()):
                status = path.stat()
            cached_manifest = self._manifests.get((tenant, capture, name))
            if cached_manifest is None or cached_manifest[:2] != (path, status.st_mtime_ns):
                manifest, size = read_sized_manifest(path.parent, name)
                cached_manifest = (path, status.st_mtime_ns, manifest)
                self._manifests.put((tenant, capture, name), cached_manifest, size)
        except FileNotFoundError:
            raise NotFoundError(f"There is no capture {capture}.") from None
        return cached_manifest[2]

    def files(self, tenant: str, capture: str) -> list[KeptFile]:
        return read_files(self._present(tenant, capture))

    def table(self, tenant: str, capture: str, boundary: int) -> Path:
        """Return the path of a boundary's Parquet file (see `tables` for its columns)."""
        return self._present(tenant, capture) / boundary_name(boundary)

    def shared_uri(self, tenant: str, capture: str, boundary: int) -> str | None:
        """Return the URI at which other machines find a boundary's Parquet file. None if the file is only on this machine."""
        del tenant, capture, boundary
        return None

    def put_table(self, tenant: str, capture: str, boundary: int, draft: Path) -> None:
        """Keep the table of a boundary that the job did not write. `draft` must be a file in the capture's folder."""
        target = self._folder(tenant, capture) / boundary_name(boundary)
        with changing(target.parent, (target.name,)):
            draft.rename(target)
            sync(target.parent)

    def refresh(self, tenant: str, *, at_once: bool = False) -> None:
        """Read which captures other services published, if the store is shared. `at_once` forces it.

        Raises:
            UnavailableError: the shared place does not answer.
            DamagedError: the catalog is damaged; or a published capture cannot be read, so its sources and outputs are unknown.
        """
        del at_once
        self.catalog.check()
        for capture, reason in self.catalog.lost(tenant).items():
            path = self._folder(tenant, capture)
            raise DamagedError(f"Capture {capture} of {path} cannot be read: {reason}", path=path, hint=REPAIR)

    def take_lost_again(self, tenant: str) -> None:
        """Enter captures into the catalog that could not be read before and can be read now."""
        for capture in self.catalog.lost(tenant):
            folder = self._folder(tenant, capture)
            with suppress(FileNotFoundError, DamagedError):
                self._enter(tenant, folder)

    def is_there(self, tenant: str, capture: str) -> bool:
        """Return whether a capture is kept or staged, without the catalog."""
        return (
            self._staging(tenant).has(capture) or self._folder(tenant, capture).is_dir()
        )  # in the order of publishing, so that no capture is missed

    def generation(self) -> int | None:
        """Return the number of changes to the catalog. None if a shared place brings an older catalog up to date."""
        return self.catalog.generation()

    def fill_again(self, generation: int) -> None:
        """Replace an older copy of the catalog by one made from the kept captures. Count its changes from `generation` on."""
        with self.catalog.together():
            for tenant in {*self.catalog.tenants(), *self._tenants()}:
                self.catalog.forget(tenant)
            self._fill()
            self.catalog.go_on_from(generation)
        self.was_filled = True

    def pruned(self, tenant: str, captures: Collection[str]) -> dict[str, Pruned]:
        return {capture: read_pruned(self._present(tenant, capture)) for capture in self.catalog.prunable.pruned_among(tenant, captures)}

    def note_pruned(self, tenant: str, capture: str, pruned: Pruned) -> None:
        """Write the note that the tables of a capture will be pruned. They exist until `drop_tables`."""
        folder = self._folder(tenant, capture)
        if folder.is_dir():  # else the capture was dropped meanwhile
            with changing(folder, (PRUNED,)):
                write_durably(folder / PRUNED, pruned.text())

    def drop_tables(self, tenant: str, capture: str, pruned: Pruned) -> None:
        """Delete the tables of a pruned capture. Write the note first, if it is missing. Idempotent."""
        folder = self._folder(tenant, capture)
        if not is_pruned(folder):
            self.note_pruned(tenant, capture, pruned)
        if tables := list(folder.glob("b*.parquet")):
            with changing(folder, [table.name for table in tables]):
                for table in tables:
                    table.unlink(missing_ok=True)

    def drop(self, tenant: str, capture: str | None = None) -> None:
        if capture is None:
            self.catalog.forget(tenant)
            shutil.rmtree(self.root / checked_tenant(tenant), ignore_errors=True)  # a missing folder is fine
        else:
            self.catalog.forget(tenant, checked_capture(capture))
            shutil.rmtree(self._folder(tenant, capture), ignore_errors=True)

    def rebuild(self, tenant: str) -> int:
        """Replace the tenant's catalog by one made from the kept captures. Return the number of captures."""
        with self.catalog.together():
            self.catalog.forget(tenant)
            return self._enter_all(tenant)

    def _fill(self) -> None:
        """Enter the kept captures of every tenant into the catalog. Damaged captures are left out and reported."""
        tenants = [folder.name for folder in self.root.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
        if next(self.kept_folders(self.root), None) is None:
            return
        _log.info("the catalog of captures is made anew from what is kept; with many captures that takes minutes")
        entered_count = sum(self._enter_all(tenant, report=True) for tenant in tenants)
        _log.info("the catalog has %d captures", entered_count)

    def _enter_all(self, tenant: str, *, report: bool = False) -> int:
        entered_count = 0
        for folder in self._kept(tenant):
            try:
                self._enter(tenant, folder)
            except (FileNotFoundError, DamagedError) as error:
                if not report:
                    raise
                _log.error("capture %s is damaged and not in the catalog: %s", folder, error)
                self.catalog.note_lost(tenant, folder.name, str(error))
                continue
            entered_count += 1
        return entered_count

    def _enter(self, tenant: str, folder: Path) -> None:
        manifest, files = read_manifest(folder), read_files(folder)
        keep_missing_lists(manifest, files, folder)
        self.catalog.put(tenant, manifest, files, size=table_bytes(folder), pruned=is_pruned(folder))

    def _write_known(self, tenant: str, manifest: Manifest, folder: Path) -> None:
        try:
            self._write(tenant, manifest, folder)
        except InvalidCaptureError as error:
            if not folder.exists() and self.catalog.has(tenant, manifest.capture):  # the segments of a published capture no longer exist
                self.catalog.note_lost(tenant, manifest.capture, f"its folder is missing. {error.message}")
            raise

    def _write(self, tenant: str, manifest: Manifest, folder: Path) -> None:
        """Compact a capture in a draft folder, then move the folder to its place in one step."""
        from headwater.graph.records.compact import compact  # loads DuckDB and numpy, which staging does not need

        drafts = self._drafts(tenant)
        for old_draft in drafts.glob(f"{manifest.capture}.*"):
            shutil.rmtree(old_draft)  # left by a killed process
        staging = self._staging(tenant)
        draft = drafts / f"{manifest.capture}.{uuid4().hex}"
        try:
            staging.fetch(manifest.capture, manifest.segments)
            segments = [staging.open(manifest.capture, entry) for entry in manifest.segments]
            compact(manifest, segments, draft)
            if not folder.parent.exists():
                folder.parent.mkdir()
                sync(folder.parent.parent)
            if folder.exists():
                shutil.rmtree(folder)  # made from an earlier manifest; after a crash here, the staged segments still exist
            draft.rename(folder)
            sync(folder.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)  # the draft exists only after a failure

    def _seal(self, tenant: str, capture: str, folder: Path) -> None:
        """Add checksums to a capture of an earlier release, and complete checksums that an interrupted write left open.

        Raises:
            DamagedError: a file differs from the catalog, or cannot be read.
        """
        digests = digests_of(folder)
        if digests is not None and all(digests.values()):
            return
        known_files, files = self.catalog.written_by(tenant, capture), read_files(folder)
        if self.catalog.has(tenant, capture) and {(file.block, file.rows) for file in files} != {
            (file.block, file.rows) for file in known_files
        }:
            raise damaged(folder / FILES, "The association file", "it does not list the files that the catalog knows")
        from headwater.graph.records.key_lookup import check_table  # loads numpy and pyarrow

        for table in folder.glob("b*.parquet"):
            check_table(table)
        seal(folder, capture)

    def _drafts(self, tenant: str) -> Path:
        """Return the folder for drafts of captures. It is separate, because a search among all captures would take long."""
        return self.root / checked_tenant(tenant) / DRAFTS

    def _present(self, tenant: str, capture: str) -> Path:
        """Return the folder of a capture. A shared store first copies the small files into it."""
        return self._folder(tenant, capture)

    def _keep_elsewhere(self, tenant: str, manifest: Manifest, folder: Path) -> int:
        """Copy a published capture to the shared place, if there is one. Return the bytes of its tables."""
        del tenant, manifest
        return table_bytes(folder)

    def _kept_manifest(self, tenant: str, capture: str) -> Manifest | None:
        try:
            return self.manifest(tenant, capture)
        except NotFoundError:
            return None

    @staticmethod
    def kept_folders(root: Path) -> Iterator[tuple[str, Path]]:
        """Yield each tenant with the folder of each of its captures, without the catalog."""
        for tenant in _folders(root):
            for folder in _folders(tenant) if not tenant.name.startswith(".") else ():
                if _is_capture(folder.name):
                    yield tenant.name, folder  # kept by an earlier release
                elif _FAN.fullmatch(folder.name):
                    yield from ((tenant.name, capture) for capture in _folders(folder) if _is_capture(capture.name))

    def _kept(self, tenant: str) -> Iterator[Path]:
        checked_tenant(tenant)
        return (folder for owner, folder in self.kept_folders(self.root) if owner == tenant)

    def _staging(self, tenant: str) -> Staging:
        if tenant not in self._stagings:
            self._stagings[tenant] = self._new_staging(tenant)
        return self._stagings[tenant]

    def _new_staging(self, tenant: str) -> Staging:
        return Staging(self.root / checked_tenant(tenant))

    def _folder(self, tenant: str, capture: str) -> Path:
        root = self.root / checked_tenant(tenant)
        folder = root / checked_capture(capture)[-2:] / capture
        if not folder.exists() and (earlier := root / capture).exists():
            return earlier
        return folder


def _folders(root: Path) -> list[Path]:
    return sorted(entry for entry in root.iterdir() if entry.is_dir()) if root.exists() else []


def _is_capture(name: str) -> bool:
    try:
        return checked_capture(name) == name
    except InvalidCaptureError:
        return False
