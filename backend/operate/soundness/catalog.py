"""Checks that the catalog of captures agrees with the stored captures.

A second catalog is made from the folders, in a temporary
file, and the two are compared row by row. This takes as long as rebuilding the catalog. Damaged captures are left
out, because they are reported separately.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.sqlite_reader import open_to_read
from headwater.errors import DamagedError
from headwater.graph.records import AssociationStore
from headwater.graph.records.catalog import Catalog, content_digest
from headwater.graph.records.digests import is_sealed
from headwater.graph.records.layout import CATALOG, FILES, MANIFEST, read_files, read_manifest
from headwater.graph.records.prune_note import is_pruned
from headwater.graph.records.schema import VERSION

_OUTPUT = "LEFT JOIN {0}.dataset o ON o.number = c.output"
# The content of each table, by names, because numbers differ between catalogs. Values that depend on the order of events are left out.
_OF_CAPTURE = {
    "capture": "SELECT c.tenant, c.capture, c.run, j.namespace, j.name, c.started, c.ended, c.status, o.namespace, o.name, c.derived, "
    f"c.content, c.at, c.replaces FROM {{0}}.capture c JOIN {{0}}.job j ON j.number = c.job {_OUTPUT}",
    "use": "SELECT c.tenant, c.capture, d.namespace, d.name, u.role, u.shaped, u.ended, u.scanned FROM {0}.use u "
    "JOIN {0}.capture c ON c.number = u.capture JOIN {0}.dataset d ON d.number = u.dataset",
    "written": "SELECT c.tenant, c.capture, p.uri, t.length, t.modified, t.ended, t.rows, t.name FROM {0}.written t "
    "JOIN {0}.capture c ON c.number = t.capture JOIN {0}.path p ON p.number = t.path AND p.tenant = c.tenant",
    "consumed": "SELECT c.tenant, c.capture, p.uri, t.length, t.modified, t.ended, t.output = c.output FROM {0}.consumed t "
    "JOIN {0}.capture c ON c.number = t.capture JOIN {0}.path p ON p.number = t.path AND p.tenant = c.tenant",
}
_FLOW = "JOIN {0}.dataset i ON i.number = t.input JOIN {0}.dataset o ON o.number = t.output"
# The catalog may have more of these than the stored captures.
_TOGETHER = {
    "dataset": "SELECT tenant, namespace, name, name_back, leaf FROM {0}.dataset",
    "alias": "SELECT a.tenant, a.name, d.namespace, d.name FROM {0}.alias a JOIN {0}.dataset d ON d.number = a.dataset",
    "flow": f"SELECT i.tenant, i.namespace, i.name, o.namespace, o.name, t.captures FROM {{0}}.flow t {_FLOW}",
    "handed": f"SELECT i.tenant, i.namespace, i.name, o.namespace, o.name FROM {{0}}.handed t {_FLOW}",
    "sourced": "SELECT p.tenant, p.uri, t.length, t.modified, t.name, d.namespace, d.name FROM {0}.sourced t "
    "JOIN {0}.path p ON p.number = t.path JOIN {0}.dataset d ON d.number = t.dataset",
    "taken": "SELECT d.tenant, d.namespace, d.name, j.namespace, j.name, t.captures, t.refused FROM {0}.taken t "
    "JOIN {0}.dataset d ON d.number = t.dataset JOIN {0}.job j ON j.number = t.job",
    "pruned": "SELECT tenant, capture FROM {0}.capture WHERE pruned > 0",
}


def catalog_faults(root: Path) -> Iterator[Fault]:
    """Yield differences between the catalog and the stored captures, in both directions. A missing catalog is no fault."""
    path = root / CATALOG
    if not path.exists():
        return
    try:
        with closing(open_to_read(path)) as catalog:
            if catalog.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                return  # the next start rebuilds it
            with TemporaryDirectory(prefix="headwater-check-") as folder:
                yield from _compared(root, catalog, Path(folder) / CATALOG)
    except sqlite3.Error as error:
        yield Fault("catalog", path, f"it cannot be compared with what is kept: {error}")


def _compared(root: Path, catalog: sqlite3.Connection, draft: Path) -> Iterator[Fault]:
    catalog.execute("BEGIN")
    entered = catalog.execute("SELECT tenant, capture, content FROM capture").fetchall()  # later changes by others are not compared
    contents = {(tenant, capture): bytes(content) for tenant, capture, content in entered}
    known, made = set(contents), _made_anew(root, draft, contents)
    catalog.execute("COMMIT")
    for folder in made.differing:
        yield Fault("associations", folder / _differing(catalog, folder), "it is not what the catalog knows of it, and it has no checksum")
    catalog.execute("ATTACH ? AS anew", [draft.as_uri() + "?mode=ro"])
    for tenant, capture in sorted(known - made.captures):
        if (fault := _absent(root, tenant, capture)) is not None:
            yield fault
    path = root / CATALOG
    if lacking := sorted(made.captures - made.damaged - known):
        yield Fault("catalog", path, f"it lacks {len(lacking):,} of the kept captures: {', '.join(capture for _, capture in lacking[:3])}")
        return
    compared = _OF_CAPTURE | ({} if made.damaged or known - made.captures else _TOGETHER)
    others = known & (made.captures - made.damaged)
    for table, rows in compared.items():
        ours, theirs = rows.format("main"), rows.format("anew")
        pairs = [(theirs, ours, "lacks")] + ([(ours, theirs, "has too much")] if table in _OF_CAPTURE else [])
        for left, right, what in pairs:
            differing = catalog.execute(f"{left} EXCEPT {right}").fetchall()
            if table in _OF_CAPTURE:
                differing = [row for row in differing if row[:2] in others]
            if differing:
                yield Fault("catalog", path, f"it is not what the kept captures say: table {table} {what}: {differing[0][1:4]!r}")
                return


class _Inventory:
    def __init__(self) -> None:
        self.captures: set[tuple[str, str]] = set()
        self.damaged: set[tuple[str, str]] = set()
        self.differing: list[Path] = []  # folders of captures without checksums, which cannot prove a fault of the catalog


def _differing(catalog: sqlite3.Connection, folder: Path) -> str:
    rows = catalog.execute(
        "SELECT p.uri, w.length, w.modified, w.rows FROM capture c JOIN written w ON w.capture = c.number "
        "JOIN path p ON p.number = w.path WHERE c.capture = ?", [folder.name],
    )  # fmt: skip
    return MANIFEST if set(rows) == {(*file.block, file.rows) for file in read_files(folder)} else FILES


def _made_anew(root: Path, draft: Path, contents: Mapping[tuple[str, str], bytes]) -> _Inventory:
    made, began = _Inventory(), time.time()
    with closing(Catalog(draft)) as catalog, catalog.brought_up_to_date():
        for tenant, folder in AssociationStore.kept_folders(root):
            try:
                if folder.stat().st_mtime >= began:
                    continue  # another process is publishing it now
                manifest, files = read_manifest(folder), read_files(folder)
            except (FileNotFoundError, DamagedError):
                made.damaged.add((tenant, folder.name))
            else:
                stated = contents.get((tenant, folder.name))
                if stated is not None and not is_sealed(folder) and content_digest(manifest, files) != stated:
                    made.damaged.add((tenant, folder.name))
                    made.differing.append(folder)
                else:
                    catalog.put(tenant, manifest, files, pruned=is_pruned(folder))
            made.captures.add((tenant, folder.name))
    return made


def _absent(root: Path, tenant: str, capture: str) -> Fault | None:
    """Return the fault of a capture that is in the catalog but was not found, unless it was removed from the catalog meanwhile."""
    with closing(open_to_read(root / CATALOG)) as catalog:
        known = catalog.execute("SELECT 1 FROM capture WHERE tenant = ? AND capture = ?", [tenant, capture]).fetchone()
    folder = root / tenant / capture[-2:] / capture
    return Fault("associations", folder, "it is missing; the catalog knows this capture") if known and not folder.exists() else None
