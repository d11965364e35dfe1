"""Whether the durable files of a home are what was written: each looked at by itself, without opening what it belongs to.

For `headwater store check`, `headwater store repair` and `/readyz`, which must work when a file is damaged and say which. It changes
nothing but one small file that it makes and drops, to see that the disk takes more. It never raises for what it finds.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit
from uuid import uuid4

from headwater.backend.home import Home
from headwater.backend.intake.documents import document_key
from headwater.backend.settings import Settings
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.graph.associations.segment import Segment
from headwater.graph.records import AssociationStore
from headwater.graph.records.digests import DIGESTS, compare_anew, digests_of
from headwater.graph.records.layout import BRIEF, CATALOG, FILES, LISTS, MANIFEST, boundary_name, read_files, read_manifest
from headwater.graph.records.pruned import PRUNED, is_pruned, read_pruned
from headwater.graph.records.shared import is_brought
from headwater.graph.records.staging import FOLDER as STAGING

SPARE = 256 << 10  # bytes that the disk must still take: a few events, and what SQLite writes around them
_TABLES = {"log": {"entry", "dead_letter"}, "graph": {"node", "edge"}, "catalog": {"capture", "written"}}


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is not what it should be. `part` is log, graph, catalog, associations, segments, key or disk."""

    part: str
    path: Path
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"


def quick_faults(settings: Settings) -> Iterator[Fault]:
    """Faults that are found without reading every page twice: for `/readyz`. Files that are not there yet are none."""
    home = settings.folder
    yield from disk_faults(home)
    yield from key_faults(settings)
    for part, path in databases(settings).items():
        yield from database_faults(part, path, pragma="quick_check(1)")


def all_faults(settings: Settings) -> Iterator[Fault]:
    """Every fault of every durable file: reads all of them."""
    home = settings.folder
    yield from disk_faults(home)
    yield from key_faults(settings)
    damaged = False
    for part, path in databases(settings).items():
        for fault in database_faults(part, path, pragma="integrity_check(5)"):
            damaged = damaged or part == "log"
            yield fault
    if not damaged and settings.ingest_log is None:
        yield from entry_faults(home.log)
    yield from capture_faults(home.associations)
    yield from segment_faults(home.associations)


def databases(settings: Settings) -> dict[str, Path]:
    """The SQLite files of a home; of the graph, where it is one."""
    home = settings.folder
    found = {"catalog": home.associations / CATALOG}
    if settings.ingest_log is None:
        found = {"log": home.log, **found}
    store = urlsplit(settings.store_url)
    if store.scheme == "sqlite":
        found["graph"] = graph_file(settings)
    return found


def graph_file(settings: Settings) -> Path:
    """The file of the graph, in the home or where the settings name it."""
    from urllib.parse import unquote

    return Path(unquote(settings.store_url.removeprefix("sqlite:///")))


def disk_faults(home: Home) -> Iterator[Fault]:
    """Whether the disk takes more: a small file is made, given room, and dropped."""
    probe = home.path / f".probe-{uuid4().hex}"
    try:
        descriptor = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, SPARE)
        finally:
            os.close(descriptor)
            probe.unlink(missing_ok=True)
    except OSError as error:
        yield Fault("disk", home.path, f"the disk takes nothing more: {os.strerror(error.errno) if error.errno else error}")


def key_faults(settings: Settings) -> Iterator[Fault]:
    """Whether the key file holds a key. None is made here; with a key from the settings the file is not looked at."""
    path = settings.folder.key_file
    if settings.api_key is None and path.exists():
        try:
            Home.read_key(path)
        except ConfigurationError as error:
            yield Fault("key", path, error.message)


def database_faults(part: str, path: Path, *, pragma: str) -> Iterator[Fault]:
    """What SQLite finds in a file, and whether it has the tables that belong there."""
    if not path.exists():
        return
    try:
        with closing(open_to_read(path)) as database:
            result = [row[0] for row in database.execute(f"PRAGMA {pragma}")]
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        yield Fault(part, path, f"it cannot be read: {error}")
        return
    if result != ["ok"]:
        yield Fault(part, path, "; ".join(" ".join(str(each).split()) for each in result[:5]))
    elif lost := _TABLES[part] - tables:
        yield Fault(part, path, f"it has no table {', '.join(sorted(lost))}")


def entry_faults(path: Path) -> Iterator[Fault]:
    """Entries of the log whose bytes are not those that were accepted: their hash is their key."""
    if not path.exists():
        return
    try:
        with closing(open_to_read(path)) as database:
            for offset, kind, key, body in database.execute("SELECT offset, kind, key, body FROM entry ORDER BY offset"):
                if kind != "prov" and not has_key(body, key):
                    yield Fault("log", path, f"entry {offset} is not what was accepted")
    except sqlite3.Error as error:
        yield Fault("log", path, f"it cannot be read: {error}")


def capture_faults(root: Path) -> Iterator[Fault]:
    """Kept captures with a file that is damaged or missing."""
    for _, folder in AssociationStore.kept_folders(root):
        yield from faults_of_capture(folder)


def faults_of_capture(folder: Path) -> Iterator[Fault]:
    """The files of one kept capture that are damaged or missing."""
    if (fault := fault_of_file(folder / DIGESTS)) is not None:
        yield fault  # nothing can be compared until it is mended
        return
    if (fault := fault_of_file(folder / MANIFEST)) is not None:
        yield fault
        return
    listed = digests_of(folder) or {}
    there = {LISTS, BRIEF, PRUNED} & listed.keys()
    if (folder / BRIEF).exists():
        there |= {LISTS, BRIEF}
    for name in (FILES, *sorted(there)):
        if (fault := fault_of_file(folder / name)) is not None:
            yield fault
    try:
        boundaries = read_manifest(folder).boundaries
    except (HeadwaterError, FileNotFoundError):
        return  # it was taken away a moment ago
    for boundary in boundaries if not is_pruned(folder) else ():
        path = folder / boundary_name(boundary.boundary)
        if not path.exists() and (boundary.recomputed is not None or is_brought(path)):
            continue  # found again, or brought from the place that services share, by whoever asks
        if (fault := fault_of_file(path)) is not None:
            yield fault


def segment_faults(root: Path) -> Iterator[Fault]:
    """Staged segments that are damaged. They belong to captures that are not published yet."""
    for path in staged_segments(root):
        if (fault := fault_of_file(path)) is not None:
            yield fault


def staged_segments(root: Path) -> Iterator[Path]:
    """The files of segments that wait for their manifest, or to be published."""
    return iter(sorted(root.glob(f"*/{STAGING}/*/*.seg")))


def fault_of_file(path: Path) -> Fault | None:
    """What is wrong with one file of a capture by itself; None where nothing is."""
    from headwater.graph.records.kept import check_table
    from headwater.graph.records.lists import check_lists

    part = "segments" if path.suffix == ".seg" else "associations"
    try:
        if path.name != DIGESTS and path.suffix != ".seg":
            compare_anew(path)
        if path.suffix == ".seg":
            for _ in Segment.open(path.name, path).blocks():
                pass
        elif path.name == DIGESTS:
            digests_of(path.parent)
        elif path.name in {MANIFEST, BRIEF}:
            if (stated := read_manifest(path.parent, path.name).capture) != path.parent.name:
                return Fault(part, path, f"it is that of capture {stated}")
        elif path.name == PRUNED:
            read_pruned(path.parent)
        elif path.name == LISTS:
            check_lists(path)
        elif path.name == FILES:
            read_files(path.parent)
        else:
            check_table(path)
    except (HeadwaterError, FileNotFoundError) as error:
        return Fault(part, path, _text(error))
    except OSError as error:
        return Fault(part, path, f"it cannot be read: {error.strerror}")
    return None


def _text(error: Exception) -> str:
    """What is wrong, without the name of the file, which a fault tells by itself."""
    return (error.message if isinstance(error, HeadwaterError) else str(error)).partition(" is damaged: ")[2] or str(error)


def has_key(body: bytes, key: bytes) -> bool:
    """Whether the bytes of an entry are those that its key was made of."""
    try:
        return document_key(json.loads(body)) == key
    except (ValueError, TypeError, RecursionError, HeadwaterError):
        return False


def open_to_read(path: Path) -> sqlite3.Connection:
    """A reader that others may write beside; on a disk that takes no file, one that needs none."""
    address = f"file:{quote(str(path))}"
    database = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=5, isolation_level=None)
    try:
        database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.OperationalError as error:
        database.close()
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, isolation_level=None)
    return database
