"""The association store: keeps what captures recorded, and says which capture wrote or read a file block.

For the intake (which stages segments and publishes captures) and for tracing (which reads the kept tables). A capture counts from
the moment it is published, whole or not at all; publishing may be repeated, and may crash anywhere and be repeated. Nothing here
is named by a user's text. The tenant is required everywhere.

    <root>/<tenant>/<capture>/{manifest.json, files.json, b<boundary>.parquet}      what is kept
    <root>/<tenant>/staging/<capture>/*.seg                                         what arrived and is not published yet
    <root>/catalog.db                                                               made of the kept captures alone
"""

from __future__ import annotations

import json
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from headwater.errors import InvalidCaptureError, NotFoundError
from headwater.graph.associations import Manifest
from headwater.graph.records.catalog import Catalog
from headwater.graph.records.files import sync, write_durably
from headwater.graph.records.layout import MANIFEST, KeptFile, boundary_name, manifest_text, read_files
from headwater.graph.records.names import checked_capture, checked_tenant
from headwater.graph.records.staging import FOLDER, Staging
from headwater.graph.records.wanted import WantedTables

_KEPT_MANIFESTS = 512


class AssociationStore:
    """See the module's docstring. `root` is the folder `associations` of a home. Safe to use from several threads of one process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalog = Catalog(root / "catalog.db")
        self.wanted = WantedTables()
        self._publishing = threading.Lock()
        self._stagings: dict[str, Staging] = {}
        self._manifests: OrderedDict[Path, tuple[int, Manifest]] = OrderedDict()

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
        """Drop what is staged of captures of which nothing arrived since an instant (seconds since the epoch); how many there were."""
        folders = self.root.iterdir() if self.root.exists() else ()
        tenants = [folder.name for folder in folders if folder.is_dir() and not folder.name.startswith(".")]  # traces spill to .spill
        with self._publishing:
            return sum(self._staging(tenant).clear_stale(before) for tenant in tenants)

    def missing_segments(self, tenant: str, manifest: Manifest) -> list[str]:
        """Segments that the manifest lists and that are not here as it lists them; none once the capture is published."""
        kept = self._kept_manifest(tenant, manifest.capture)
        if kept is not None and kept.segments == manifest.segments:
            return []
        staging = self._staging(tenant)
        return [entry.name for entry in manifest.segments if staging.digest(manifest.capture, entry.name) != entry.sha256]

    def publish(self, tenant: str, manifest: Manifest) -> list[KeptFile]:
        """Make a capture count: keep its associations sorted, enter it into the catalog, drop its staged segments. The files that it wrote.

        A capture published again with the same segments and boundaries keeps its tables as they are. With others its groups are numbered
        anew: a number that was read of a group then means another one.

        Raises:
            InvalidCaptureError: a segment is missing, damaged, or not the one that the manifest lists. Nothing has changed then.
        """
        folder = self._folder(tenant, manifest.capture)
        with self._publishing:
            kept = self._kept_manifest(tenant, manifest.capture)
            if kept is None or (kept.segments, kept.boundaries) != (manifest.segments, manifest.boundaries):
                self._write(tenant, manifest, folder)
            elif kept != manifest:
                write_durably(folder / MANIFEST, manifest_text(manifest))
            files = read_files(folder)
            self.catalog.put(tenant, manifest, files)
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
        path = self._folder(tenant, capture) / MANIFEST
        try:
            written = path.stat().st_mtime_ns
            known = self._manifests.get(path)
            if known is None or known[0] != written:
                known = (written, Manifest.from_json(json.loads(path.read_bytes()), f"{capture}/{MANIFEST}"))
                self._manifests[path] = known
        except FileNotFoundError:
            raise NotFoundError(f"There is no capture {capture}.") from None
        while len(self._manifests) > _KEPT_MANIFESTS:
            self._manifests.popitem(last=False)
        return known[1]

    def files(self, tenant: str, capture: str) -> list[KeptFile]:
        """The files that a capture wrote, in the order of the `file` column of its sink."""
        return read_files(self._folder(tenant, capture))

    def table(self, tenant: str, capture: str, boundary: int) -> Path:
        """The Parquet file of a boundary (see `tables` for its columns)."""
        return self._folder(tenant, capture) / boundary_name(boundary)

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
        self.catalog.forget(tenant)
        kept = list(self._kept(tenant))
        for folder in kept:
            self.catalog.put(tenant, Manifest.from_json(json.loads((folder / MANIFEST).read_bytes()), folder.name), read_files(folder))
        return len(kept)

    def _write(self, tenant: str, manifest: Manifest, folder: Path) -> None:
        """Compact beside the final place, then move there in one step."""
        from headwater.graph.records.compact import compact  # DuckDB and numpy load with it: staging does without

        for left in folder.parent.glob(f".{manifest.capture}.*"):
            shutil.rmtree(left)  # half made, by a process that was killed
        staging = self._staging(tenant)
        draft = folder.with_name(f".{manifest.capture}.{uuid4().hex}")
        try:
            segments = [staging.open(manifest.capture, entry) for entry in manifest.segments]
            compact(manifest, segments, draft)
            if folder.exists():
                shutil.rmtree(folder)  # of an earlier manifest; were we to stop here, the staged segments are still there
            draft.rename(folder)
            sync(folder.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)  # it is gone already unless something failed

    def _kept_manifest(self, tenant: str, capture: str) -> Manifest | None:
        try:
            return self.manifest(tenant, capture)
        except NotFoundError:
            return None

    def _kept(self, tenant: str) -> Iterator[Path]:
        root = self.root / checked_tenant(tenant)
        for folder in sorted(root.iterdir()) if root.exists() else ():
            if folder.name == FOLDER or folder.name.startswith("."):
                continue
            try:
                checked_capture(folder.name)
            except InvalidCaptureError:
                continue  # not ours
            yield folder

    def _staging(self, tenant: str) -> Staging:
        if tenant not in self._stagings:
            self._stagings[tenant] = Staging(self.root / checked_tenant(tenant))
        return self._stagings[tenant]

    def _folder(self, tenant: str, capture: str) -> Path:
        return self.root / checked_tenant(tenant) / checked_capture(capture)
