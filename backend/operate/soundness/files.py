"""Checks that each durable file of a home is undamaged, without opening a store.

`headwater store check`, `headwater store repair` and `/readyz` use the checks, which must work with a damaged file and name
it. They change nothing, except for one small file that is made and removed to see whether the disk has
space. Faults are returned, not raised.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import Settings
from headwater.backend.home.sqlite_reader import open_to_read
from headwater.backend.operate.soundness.access_files import access_faults, audit_faults
from headwater.backend.operate.soundness.captures import capture_faults, segment_faults
from headwater.backend.operate.soundness.catalog import catalog_faults
from headwater.backend.projector.catalog_age import age_faults
from headwater.backend.projector.entry_hashes import entry_faults
from headwater.backend.projector.missing_captures import absence_faults
from headwater.errors import ConfigurationError
from headwater.graph.records.file_digest import FileAtRest
from headwater.graph.records.layout import CATALOG

SPARE = 256 << 10  # bytes that must be free on the disk: for a few events, with SQLite's overhead
_TABLES = {
    "log": {"entry", "dead_letter"},
    "graph": {"node", "edge"},
    "catalog": {"capture", "written"},
    "registered": {"program", "run", "root"},
    "triggers": {"trigger_lock", "trigger_definition", "trigger_cause", "trigger_execution"},
    "policies": {"policy_lock", "policy_version", "policy_deviation", "policy_subject"},
}


def quick_faults(settings: Settings) -> Iterator[Fault]:
    """Yield faults that are found without reading each page twice, for `/readyz`. A missing file is no fault."""
    yield from disk_faults(settings.folder)
    yield from key_faults(settings)
    yield from access_faults(settings)
    yield from database_faults("triggers", settings.folder.triggers, pragma="quick_check(1)")
    yield from database_faults("policies", settings.folder.policies, pragma="quick_check(1)")
    yield from databases_faults(settings, pragma="quick_check(1)")


def all_faults(settings: Settings) -> Iterator[Fault]:
    """Yield every fault of every durable file. All files are read, missing files are found, and related files are compared."""
    home = settings.folder
    yield from disk_faults(home)
    yield from key_faults(settings)
    yield from access_faults(settings)
    yield from audit_faults(home.audit)
    yield from database_faults("registered", home.path / "registered.db", pragma="integrity_check(5)")
    yield from database_faults("triggers", home.triggers, pragma="integrity_check(5)")
    yield from database_faults("policies", home.policies, pragma="integrity_check(5)")
    found = list(databases_faults(settings, pragma="integrity_check(5)"))
    yield from found
    broken = {fault.part for fault in found}
    yield from capture_faults(home.associations)
    yield from segment_faults(home.associations)
    absent: set[Path] = set()
    if settings.ingest_log is None and "log" not in broken:
        yield from entry_faults(home.log)
        for fault in absence_faults(home.log, home.associations) if settings.associations is None else ():
            absent.add(fault.path)
            yield fault
    if settings.associations is None and "catalog" not in broken:
        yield from (fault for fault in catalog_faults(home.associations) if fault.path not in absent)


def databases_faults(settings: Settings, *, pragma: str) -> Iterator[Fault]:
    is_sound = True
    for part, path in databases(settings).items():
        for fault in database_faults(part, path, pragma=pragma):
            is_sound = False
            yield fault
    if is_sound and settings.ingest_log is None and settings.associations is None:
        yield from age_faults(settings.folder.log, settings.folder.associations / CATALOG)


def databases(settings: Settings) -> dict[str, Path]:
    """Return the SQLite files of a home. The graph is included if it is in SQLite."""
    home = settings.folder
    found = {"catalog": home.associations / CATALOG}
    if settings.ingest_log is None:
        found = {"log": home.log, **found}
    store = urlsplit(settings.store_url)
    if store.scheme == "sqlite":
        found["graph"] = graph_file(settings)
    return found


def graph_file(settings: Settings) -> Path:
    from urllib.parse import unquote

    return Path(unquote(settings.store_url.removeprefix("sqlite:///")))


def disk_faults(home: Home) -> Iterator[Fault]:
    """Check that the disk has space: a small file is made, filled, and removed."""
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
    """Check that the key file contains a key. The file is not created, and is ignored if the settings have a key."""
    path = settings.folder.key_file
    if settings.api_key is None and path.exists():
        try:
            Home.read_key(path)
        except ConfigurationError as error:
            yield Fault("key", path, error.message)


def database_faults(part: str, path: Path, *, pragma: str) -> Iterator[Fault]:
    """Yield the faults that SQLite finds in a file, and missing tables."""
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
    elif part == "catalog" and not FileAtRest(path).is_sound():
        yield Fault(part, path, "its checksum is not that of what was written")
    elif lost := _TABLES[part] - tables:
        yield Fault(part, path, f"it has no table {', '.join(sorted(lost))}")
