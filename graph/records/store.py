"""The association store: keeps what captures recorded, and says which capture wrote or read a file block.

For the intake (which stages segments and publishes captures) and for tracing (which reads the kept tables). A capture counts from
the moment it is published, whole or not at all; publishing may be repeated, and may crash anywhere and be repeated. Nothing here
is named by a user's text. The tenant is required everywhere.

    <root>/<tenant>/<two>/<capture>/{manifest.json, files.json, digests.json, b<boundary>.parquet}   what is kept
    <root>/<tenant>/staging/<capture>/*.seg                                                          what arrived and is not published yet
    <root>/catalog.db                                                                                made of the kept captures alone

A capture with many files has `brief.json` and `lists.db` besides (see `lists`); one that was pruned has `pruned.json` and no tables.

<two> are the last two digits of the capture's id, so that no folder has to hold millions. Earlier releases kept a capture at
<root>/<tenant>/<capture>; what they kept stays there and is read there.
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
    manifest_text,
    read_files,
    read_manifest,
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

_MANIFEST_BYTES = 16 << 20  # of JSON; in memory a manifest takes some ten times that
INCOMING = ".incoming-"  # what the names of segments on their way here begin with
DRAFTS = ".drafts"
_FAN = re.compile(r"[0-9a-f]{2}")
_log = logging.getLogger("headwater.records")


class AssociationStore:
    """See the module's docstring. `root` is the folder `associations` of a home. Safe to use from several threads of one process.

    `sources` says where traces over this store may read the data that captures read and wrote.
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
        """Give the catalog free."""
        self.catalog.close()

    def stage_segment(self, tenant: str, capture: str, name: str, data: bytes | Path) -> str:
        """Keep a segment durably until its capture is published; its SHA-256. Doing it again changes nothing.

        Raises:
            InvalidCaptureError: the capture or the name has not the form that the format prescribes.
        """
        return self._staging(tenant).put(capture, name, data)

    def clear_stale(self, before: float) -> int:
        """Drop staged segments of captures without new segments since an instant (epoch seconds). Return the number of captures."""
        for file in self.root.glob(f"{INCOMING}*"):
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < before:
                    file.unlink()  # left by a process that was killed while it took a segment
        with self._publishing:
            return sum(self._staging(tenant).clear_stale(before) for tenant in self._tenants())

    def bytes_staged(self) -> int:
        """Return the bytes that wait for a manifest, including those that are being received."""
        incoming = 0
        for file in self.root.glob(f"{INCOMING}*"):
            with suppress(FileNotFoundError):
                incoming += file.stat().st_size
        return incoming + sum(self._staging(tenant).bytes_staged() for tenant in self._tenants())

    def _tenants(self) -> list[str]:
        return [folder.name for folder in _folders(self.root) if not folder.name.startswith(".")]  # traces spill to .spill

    def missing_segments(self, tenant: str, manifest: Manifest) -> list[str]:
        """Segments that the manifest lists and that are not here as it lists them; none once the capture is published."""
        kept_manifest = self._kept_manifest(tenant, manifest.capture)
        if kept_manifest is not None and kept_manifest.segments == manifest.segments:
            return []
        return self._staging(tenant).missing(manifest.capture, manifest.segments)

    def publish(self, tenant: str, manifest: Manifest) -> list[KeptFile]:
        """Make a capture count: keep its associations sorted, enter it into the catalog, drop its staged segments. The files that it wrote.

        A capture published again with the same segments and boundaries keeps its tables as they are. With others its groups are numbered
        anew: a number that was read of a group then means another one.

        Raises:
            InvalidCaptureError: a segment is missing, damaged, or not the one that the manifest lists. Nothing has changed then.
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
                    write_durably(folder / MANIFEST, manifest_text(manifest))  # after what is made of it: till then this is done again
            self._seal(tenant, manifest.capture, folder)
            size = self._keep_elsewhere(tenant, manifest, folder)
            files = read_files(folder)
            self.catalog.put(tenant, manifest, files, size=size, pruned=is_pruned(folder))
            self._staging(tenant).clear(manifest.capture)
        return files

    def count(self, tenant: str) -> int:
        """Number of published captures."""
        return self.catalog.count(tenant)

    def manifest(self, tenant: str, capture: str) -> Manifest:
        """The manifest of a published capture.

        Raises:
            NotFoundError: there is no such capture.
        """
        return self._read(tenant, capture, MANIFEST)

    def brief(self, tenant: str, capture: str) -> Manifest:
        """The manifest of a published capture; of one with many files without the lists that grow with these.

        Raises:
            NotFoundError: there is no such capture.
            DamagedError: the catalog knows it, and its folder is missing.
        """
        folder = self._present(tenant, capture)
        if not folder.exists() and self.catalog.has(tenant, capture):
            raise damaged(folder, "The association folder", "it is missing")
        return self._read(tenant, capture, BRIEF if (folder / BRIEF).exists() else MANIFEST)

    def source_files(self, tenant: str, brief: Manifest) -> dict[int, SourceFiles]:
        """By its number, the files that each source of a capture read; the manifest is as `brief` gives it."""
        folder = self._present(tenant, brief.capture)
        if (folder / BRIEF).exists():
            return {source.source: ManySourceFiles(folder / LISTS, source.source) for source in brief.sources}
        return {source.source: FewSourceFiles(source) for source in brief.sources}

    def written_files(self, tenant: str, capture: str) -> WrittenFiles:
        """The files that a capture wrote, by the `file` column of its sink."""
        folder = self._present(tenant, capture)
        return ManyWrittenFiles(folder / LISTS) if (folder / BRIEF).exists() else FewWrittenFiles(read_files(folder))

    def boundary_rows(self, tenant: str, capture: str) -> dict[int, int]:
        """Return the number of written rows of each boundary of a capture, without reading tables."""
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
                cached_manifest = (path, status.st_mtime_ns, read_manifest(path.parent, name))
                self._manifests.put((tenant, capture, name), cached_manifest, status.st_size)
        except FileNotFoundError:
            raise NotFoundError(f"There is no capture {capture}.") from None
        return cached_manifest[2]

    def files(self, tenant: str, capture: str) -> list[KeptFile]:
        """The files that a capture wrote, in the order of the `file` column of its sink."""
        return read_files(self._present(tenant, capture))

    def table(self, tenant: str, capture: str, boundary: int) -> Path:
        """The Parquet file of a boundary (see `tables` for its columns)."""
        return self._present(tenant, capture) / boundary_name(boundary)

    def shared_uri(self, tenant: str, capture: str, boundary: int) -> str | None:
        """Where other machines find the Parquet file of a boundary; None where that is this machine's alone."""
        del tenant, capture, boundary
        return None

    def put_table(self, tenant: str, capture: str, boundary: int, draft: Path) -> None:
        """Keep the table of a boundary that was left to be found again; `draft` lies in the same folder."""
        target = self._folder(tenant, capture) / boundary_name(boundary)
        with changing(target.parent, (target.name,)):
            draft.rename(target)
            sync(target.parent)

    def refresh(self, tenant: str, *, at_once: bool = False) -> None:
        """Learn what other services kept, where associations are shared; `at_once`: even if the last look was a moment ago.

        Raises:
            UnavailableError: the place that they share does not say.
            DamagedError: a capture that counts cannot be read, so that nobody knows what it read and wrote, all others being known; or
                the catalog is damaged.
        """
        del at_once
        self.catalog.check()
        for capture, reason in self.catalog.lost(tenant).items():
            path = self._folder(tenant, capture)
            raise DamagedError(f"Capture {capture} of {path} cannot be read: {reason}", path=path, hint=REPAIR)

    def take_lost_again(self, tenant: str) -> None:
        """Enter captures into the catalog that could not be read before, where they can be read now."""
        for capture in self.catalog.lost(tenant):
            folder = self._folder(tenant, capture)
            with suppress(FileNotFoundError, DamagedError):
                self._enter(tenant, folder)

    def is_there(self, tenant: str, capture: str) -> bool:
        """Whether a capture is kept, or still waits to be published. No catalog is asked."""
        return self._staging(tenant).has(capture) or self._folder(tenant, capture).is_dir()  # in the order of publishing

    def generation(self) -> int | None:
        """How often the catalog was changed; None where what others keep brings an older copy up to date."""
        return self.catalog.generation()

    def fill_again(self, generation: int) -> None:
        """Make the catalog of every tenant anew from the kept captures, and count its generations from one on. For an older copy of it."""
        with self.catalog.together():
            for tenant in {*self.catalog.tenants(), *self._tenants()}:
                self.catalog.forget(tenant)
            self._fill()
            self.catalog.go_on_from(generation)
        self.was_filled = True

    def pruned(self, tenant: str, captures: Collection[str]) -> dict[str, Pruned]:
        """Return the captures whose tables were pruned, with the notes."""
        return {capture: read_pruned(self._present(tenant, capture)) for capture in self.catalog.prunable.pruned_among(tenant, captures)}

    def note_pruned(self, tenant: str, capture: str, pruned: Pruned) -> None:
        """Note durably that the tables of a capture will be pruned. They exist until `drop_tables`."""
        folder = self._folder(tenant, capture)
        if folder.is_dir():  # else the capture was dropped meanwhile
            with changing(folder, (PRUNED,)):
                write_durably(folder / PRUNED, pruned.text())

    def drop_tables(self, tenant: str, capture: str, pruned: Pruned) -> None:
        """Remove the tables of a pruned capture. Write the note first, if it is missing. Idempotent."""
        folder = self._folder(tenant, capture)
        if not is_pruned(folder):
            self.note_pruned(tenant, capture, pruned)
        if tables := list(folder.glob("b*.parquet")):
            with changing(folder, [table.name for table in tables]):
                for table in tables:
                    table.unlink(missing_ok=True)

    def drop(self, tenant: str, capture: str | None = None) -> None:
        """Forget a capture, or everything of a tenant, for good."""
        if capture is None:
            self.catalog.forget(tenant)
            shutil.rmtree(self.root / checked_tenant(tenant), ignore_errors=True)  # a folder that is not there is as good as gone
        else:
            self.catalog.forget(tenant, checked_capture(capture))
            shutil.rmtree(self._folder(tenant, capture), ignore_errors=True)

    def rebuild(self, tenant: str) -> int:
        """Make the tenant's catalog anew from the kept captures; their number."""
        with self.catalog.together():
            self.catalog.forget(tenant)
            return self._enter_all(tenant)

    def _fill(self) -> None:
        """Enter the kept captures of every tenant into a catalog of an earlier release. Damaged captures are left out and reported."""
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
            if not folder.exists() and self.catalog.has(tenant, manifest.capture):  # it was published, and its segments are gone
                self.catalog.note_lost(tenant, manifest.capture, f"its folder is missing. {error.message}")
            raise

    def _write(self, tenant: str, manifest: Manifest, folder: Path) -> None:
        """Compact next to the final place, then move there in one step."""
        from headwater.graph.records.compact import compact  # DuckDB and numpy load with it: staging does without

        drafts = self._drafts(tenant)
        for old_draft in drafts.glob(f"{manifest.capture}.*"):
            shutil.rmtree(old_draft)  # half made, by a process that was killed
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
                shutil.rmtree(folder)  # of an earlier manifest; were we to stop here, the staged segments are still there
            draft.rename(folder)
            sync(folder.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)  # it is gone already unless something failed

    def _seal(self, tenant: str, capture: str, folder: Path) -> None:
        """Give checksums to the files of a capture of an earlier release, or see that no write of them was stopped.

        Raises:
            DamagedError: a file is not what the catalog knows of it, or cannot be read.
        """
        digests = digests_of(folder)
        if digests is not None and all(digests.values()):
            return
        known_files, files = self.catalog.written_by(tenant, capture), read_files(folder)
        if self.catalog.has(tenant, capture) and {(file.block, file.rows) for file in files} != {
            (file.block, file.rows) for file in known_files
        }:
            raise damaged(folder / FILES, "The association file", "it does not list the files that the catalog knows")
        from headwater.graph.records.key_lookup import check_table  # numpy and pyarrow load with it

        for table in folder.glob("b*.parquet"):
            check_table(table)
        seal(folder, capture)

    def _drafts(self, tenant: str) -> Path:
        """Where folders of captures are made. Apart: to look for drafts among all captures would take long."""
        return self.root / checked_tenant(tenant) / DRAFTS

    def _present(self, tenant: str, capture: str) -> Path:
        """The folder of a capture, with all but its tables, where there is such a capture."""
        return self._folder(tenant, capture)

    def _keep_elsewhere(self, tenant: str, manifest: Manifest, folder: Path) -> int:
        """Keep a capture that was published into a folder where other services find it, too; the bytes of its tables."""
        del tenant, manifest
        return table_bytes(folder)

    def _kept_manifest(self, tenant: str, capture: str) -> Manifest | None:
        try:
            return self.manifest(tenant, capture)
        except NotFoundError:
            return None

    @staticmethod
    def kept_folders(root: Path) -> Iterator[tuple[str, Path]]:
        """Every tenant of a folder of associations with the folder of each of its captures; no catalog is asked."""
        for tenant in _folders(root):
            for folder in _folders(tenant) if not tenant.name.startswith(".") else ():
                if _is_capture(folder.name):
                    yield tenant.name, folder  # kept by an earlier release
                elif _FAN.fullmatch(folder.name):
                    yield from ((tenant.name, capture) for capture in _folders(folder) if _is_capture(capture.name))

    def _kept(self, tenant: str) -> Iterator[Path]:
        """The folders of the kept captures."""
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
