"""Checks that the files of stored captures, and staged segments, are undamaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from headwater.backend.home.file_fault import Fault
from headwater.errors import DamagedError, HeadwaterError
from headwater.graph.associations.segment import Segment
from headwater.graph.records import AssociationStore
from headwater.graph.records.digests import DIGESTS, compare_anew, digests_of
from headwater.graph.records.layout import BRIEF, FILES, LISTS, MANIFEST, boundary_name, read_files, read_manifest
from headwater.graph.records.prune_note import PRUNED, is_pruned, read_pruned
from headwater.graph.records.shared_store import is_brought
from headwater.graph.records.staging import FOLDER as STAGING


def capture_faults(root: Path) -> Iterator[Fault]:
    """Yield damaged and missing files of all stored captures."""
    for _, folder in AssociationStore.kept_folders(root):
        yield from faults_of_capture(folder)


def faults_of_capture(folder: Path) -> Iterator[Fault]:
    """Yield damaged and missing files of one stored capture."""
    if (fault := fault_of_file(folder / DIGESTS)) is not None:
        yield fault  # without this file, the others cannot be compared
        return
    if (fault := fault_of_file(folder / MANIFEST)) is not None:
        yield fault
        return
    listed = set(digests_of(folder) or ())
    there = {LISTS, BRIEF, PRUNED} & listed
    if (folder / BRIEF).exists():
        there |= {LISTS, BRIEF}
    for name in (FILES, *sorted(there)):
        if (fault := fault_of_file(folder / name)) is not None:
            yield fault
    try:
        boundaries = read_manifest(folder).boundaries
    except (HeadwaterError, FileNotFoundError):
        return  # the file was removed a moment ago
    for boundary in boundaries if not is_pruned(folder) else ():
        path = folder / boundary_name(boundary.boundary)
        if not path.exists() and (boundary.recomputed is not None or is_brought(path)):
            continue  # queries compute this table again, or fetch it from the shared storage
        if (fault := fault_of_file(path)) is not None:
            yield fault


def segment_faults(root: Path) -> Iterator[Fault]:
    for path in staged_segments(root):
        if (fault := fault_of_file(path)) is not None:
            yield fault


def staged_segments(root: Path) -> Iterator[Path]:
    """Yield the files of segments that wait for their manifest, or for publication."""
    return iter(sorted(root.glob(f"*/{STAGING}/*/*.seg")))


def fault_of_file(path: Path) -> Fault | None:
    part = "segments" if path.suffix == ".seg" else "associations"
    try:
        if part == "associations" and path.name != DIGESTS:
            compare_anew(path)
        _check(path)
    except (HeadwaterError, FileNotFoundError) as error:
        return Fault(part, path, _text(error))
    except OSError as error:
        return Fault(part, path, f"it cannot be read: {error.strerror}")
    return None


def _check(path: Path) -> None:
    from headwater.graph.records.key_lookup import check_table
    from headwater.graph.records.lists import check_lists

    by_name: dict[str, Callable[[Path], object]] = {
        MANIFEST: _check_manifest,
        BRIEF: _check_manifest,
        LISTS: check_lists,
        DIGESTS: lambda path: digests_of(path.parent),
        FILES: lambda path: read_files(path.parent),
        PRUNED: lambda path: read_pruned(path.parent),
    }
    by_name.get(path.name, _check_segment if path.suffix == ".seg" else check_table)(path)


def _check_segment(path: Path) -> None:
    for _ in Segment.open(path.name, path).blocks():
        pass


def _check_manifest(path: Path) -> None:
    if (stated := read_manifest(path.parent, path.name).capture) != path.parent.name:
        raise DamagedError(f"{path} is damaged: it is that of capture {stated}.", path=path)


def _text(error: Exception) -> str:
    return (error.message if isinstance(error, HeadwaterError) else str(error)).partition(" is damaged: ")[2] or str(error)
