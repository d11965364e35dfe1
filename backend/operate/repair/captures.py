"""Repair of damaged capture files: manifests, lists of files, tables of records, and unpublished segments."""

from __future__ import annotations

import json
import shutil
from contextlib import closing, nullcontext
from pathlib import Path

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.folder import Home
from headwater.backend.home.sqlite_reader import open_to_read
from headwater.backend.ingest.log import EntryKind
from headwater.backend.operate.repair.result import Repair, put_aside
from headwater.backend.operate.soundness.captures import fault_of_file, faults_of_capture
from headwater.errors import HeadwaterError
from headwater.graph.associations import Manifest
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.records.catalog import Catalog
from headwater.graph.records.digests import DIGESTS, changing, seal
from headwater.graph.records.layout import BRIEF, CATALOG, FILES, LISTS, MANIFEST, files_text, pack_manifest, read_files, read_manifest
from headwater.graph.records.lists import keep_lists
from headwater.graph.records.shared_store import is_brought


def mended_capture(home: Home, fault: Fault, backup: Path | None, *, has_catalog: bool) -> Repair:
    """Repair a file of a stored capture from the backup or from other files. If neither works, nothing changes."""
    path = fault.path
    if _is_capture(home, path):
        return _brought_folder(home, path, backup)
    if path.name == DIGESTS:
        return _sealed_again(home, path, has_catalog=has_catalog)
    if (brought := _from_backup(home, path, backup)) is not None:
        return brought
    tenant, capture = path.relative_to(home.associations).parts[0], path.parent.name
    if is_brought(path) or not path.parent.exists():
        if path.suffix == ".parquet":
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path.parent, ignore_errors=True)  # also removes its other damaged files
        return Repair(path, "taken away: who asks for it brings it again from the place that services share")
    if path.name == MANIFEST and (manifest := _manifest_of(home.log, tenant, capture)) is not None:
        with changing(path.parent, (path.name,)):
            aside = put_aside(path)
            write_durably(path, pack_manifest(manifest))
        return Repair(path, f"written again from the log; the damaged file is {aside.name} now")
    if path.name == FILES and has_catalog:
        return _files_of_catalog(home, path, tenant, capture)
    return _made_again(path)


def _files_of_catalog(home: Home, path: Path, tenant: str, capture: str) -> Repair:
    with closing(Catalog(home.associations / CATALOG)) as catalog:
        files = catalog.written_by(tenant, capture)
    with changing(path.parent, (path.name,)):
        aside = put_aside(path)
        write_durably(path, files_text(files))
    lost = "which task attempt wrote which file"
    return Repair(path, f"written again from the catalog; the damaged file is {aside.name} now", lost, graph=True)


def _made_again(path: Path) -> Repair:
    if path.name in {BRIEF, LISTS}:
        there = f"; the damaged file is {put_aside(path).name} now" if path.exists() else ""
        manifest, files = read_manifest(path.parent), read_files(path.parent)
        with changing(path.parent, (BRIEF, LISTS)):
            keep_lists(manifest, files, path.parent)
        return Repair(path, f"made again from the manifest{there}")
    if path.suffix == ".parquet" and _is_recomputed(path):
        with changing(path.parent, (path.name,)):
            aside = put_aside(path)
        return Repair(path, f"traces find its records again from their sources; the damaged file is {aside.name} now")
    return Repair(
        path,
        "nothing: it can only come from a backup (--from) or a new run of the job",
        f"which records capture {path.parent.name} joins",
        ok=False,
    )


def mended_segment(home: Home, fault: Fault, backup: Path | None) -> Repair:
    """Repair a staged segment from the backup, or remove it."""
    if (brought := _from_backup(home, fault.path, backup)) is not None:
        return brought
    aside = put_aside(fault.path)
    lost = "nothing if its manifest was not acknowledged yet: the sender sends it again; else the capture needs a backup or a new run"
    return Repair(fault.path, f"taken away, to be sent again; it is {aside.name} now", lost)


def _from_backup(home: Home, path: Path, backup: Path | None) -> Repair | None:
    """Replace a damaged file with the backup's. Returns None if the backup has no intact file of the same capture."""
    if backup is None:
        return None
    kept = backup / "associations" / path.relative_to(home.associations)
    if not kept.exists() or fault_of_file(kept) is not None or not _is_of_same(path.parent, kept.parent):
        return None
    with nullcontext() if path.suffix == ".seg" else changing(path.parent, (path.name,)):
        aside = put_aside(path)
        shutil.copyfile(kept, path)
    return Repair(path, f"brought back from the backup; the damaged file is {aside.name} now")


def _is_capture(home: Home, path: Path) -> bool:
    return path.parent.name == path.name[-2:] and path.parent.parent.parent == home.associations


def _brought_folder(home: Home, path: Path, backup: Path | None) -> Repair:
    kept = backup / "associations" / path.relative_to(home.associations) if backup is not None else None
    lost = f"which records capture {path.name} joins"
    if kept is None or not kept.is_dir():
        return Repair(path, "nothing: it can only come from a backup (--from) or a new run of the job", lost, ok=False)
    if faults := list(faults_of_capture(kept)):
        return Repair(path, f"nothing: in the backup it is damaged, too ({faults[0]})", lost, ok=False)
    draft = path.with_name(f".{path.name}.bringing")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(kept, draft)
    draft.rename(path)
    return Repair(path, "brought back from the backup", graph=True)


def _sealed_again(home: Home, path: Path, *, has_catalog: bool) -> Repair:
    """Write `digests.json` again, after the files were compared with log, catalog and their own checksums."""
    folder = path.parent
    tenant, capture = path.relative_to(home.associations).parts[0], folder.name
    aside = f"; the damaged file is {put_aside(path).name} now" if path.exists() else ""
    if faults := list(faults_of_capture(folder)):
        return Repair(path, "nothing: repair again once the other files are mended", f"sound checksums; {faults[0]}", ok=False)
    manifest = _manifest_of(home.log, tenant, capture)
    if manifest is not None and read_manifest(folder) != manifest:
        write_durably(folder / MANIFEST, pack_manifest(manifest))
    if has_catalog:
        with closing(Catalog(home.associations / CATALOG)) as catalog:
            known = {(file.block, file.rows) for file in catalog.written_by(tenant, capture)}
        if {(file.block, file.rows) for file in read_files(folder)} != known:
            return Repair(path, "nothing", f"{folder / FILES} does not list the files that the catalog knows", ok=False)
    seal(folder, capture)
    return Repair(path, f"made again of the files, which are what log and catalog say{aside}")


def _is_of_same(folder: Path, kept: Path) -> bool:
    """Whether two folders have the same publication of a capture. A later publication has other numbers."""
    try:
        mine, theirs = read_manifest(folder), read_manifest(kept)
    except (HeadwaterError, OSError):
        return True  # the manifest is damaged, or nothing is published yet
    return (mine.segments, mine.boundaries) == (theirs.segments, theirs.boundaries)


def _manifest_of(path: Path, tenant: str, capture: str) -> Manifest | None:
    found: Manifest | None = None
    with closing(open_to_read(path)) as log:
        rows = log.execute("SELECT body FROM entry WHERE tenant = ? AND kind = ? ORDER BY offset", [tenant, EntryKind.CAPTURE])
        for (body,) in rows:
            if capture.encode() in body:
                manifest = Manifest.from_json(json.loads(body))
                found = manifest if manifest.capture == capture else found
    return found


def _is_recomputed(path: Path) -> bool:
    try:
        boundaries = read_manifest(path.parent).boundaries
    except (HeadwaterError, OSError):
        return False
    return any(each.recomputed is not None and path.name == f"b{each.boundary}.parquet" for each in boundaries)
