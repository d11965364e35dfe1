"""`headwater store backup` and `restore`: the whole content of one home, in a folder.

A backup must be consistent while the service continues. The graph is read first, then the log, then the associations, so that each part
contains at least everything that the parts before it refer to. Applying log entries again to the same graph changes nothing. A backup must
contain no secret, so the key and the spool are left out. A backup must not name a program to run or data to read either, so the registry is
left out. A backup that contains a link is refused, because a link would import its target.

    backup.json                list of its content, with the digest of each file
    graph-<tenant>.ndjson.gz   docs/reference/graph-file.md
    ingest.db, associations/   as in the home
    triggers.db, workflows.db, policies.db, evidence.db  as in the home, if it has them; without the private key of the evidence
    audit.jsonl, audit-*.jsonl as in the home
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headwater.backend.audit.lines import earlier_files
from headwater.backend.home.folder import Home
from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.home.settings import Settings
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.operate.upkeep.backup_digests import check_backup, digests_of_folder, seal
from headwater.backend.operate.upkeep.graph_file import export_graph, import_graph
from headwater.backend.workspace import Workspace, graph_store
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.graph.records.staging import FOLDER as STAGING

_FORMAT, _VERSION = "headwater-backup", 1
_LONGEST_LINE = 1 << 20
_INDEX, _LOG, _ASSOCIATIONS, _CATALOG = "backup.json", "ingest.db", "associations", "catalog.db"


@dataclass(frozen=True, slots=True)
class TenantBackup:
    """The graph of a tenant in a backup."""

    nodes: int
    edges: int
    fingerprint: str


async def back_up(workspace: Workspace, folder: Path) -> dict[str, TenantBackup]:
    """Write a backup of a workspace into a new folder, and return its content by tenant.

    Raises:
        ConfigurationError: the folder exists and is not empty, or cannot be written; or replicas share the log.
    """
    _require_own_log(workspace.settings)
    _require_empty(folder, "Name a new one.")
    kept: dict[str, TenantBackup] = {}
    for tenant in workspace.log.tenants():
        tail = await export_graph(workspace.log, workspace.graph, tenant, folder / _graph_file(tenant))
        kept[tenant] = TenantBackup(tail.nodes, tail.edges, tail.fingerprint)
    await asyncio.to_thread(_copy_files, workspace.home, folder)
    index: dict[str, Any] = {"format": _FORMAT, "version": _VERSION, "made": datetime.now(UTC).isoformat(timespec="seconds")}
    index["tenants"] = {tenant: asdict(entry) for tenant, entry in kept.items()}
    index["files"] = await asyncio.to_thread(digests_of_folder, folder, without=_INDEX)
    text = json.dumps(index | {"check": seal(index)}, indent=2) + "\n"
    (folder / _INDEX).write_text(text, encoding="utf-8")  # written last, because a folder without it is not a backup
    return kept


async def restore(settings: Settings, folder: Path) -> Mapping[str, TenantBackup]:
    """Restore a backup into a home without a log, and into its graph store. Returns the restored content by tenant.

    Raises:
        ConfigurationError: the folder is not a backup, or was changed; or the home or the store is not empty.
        InvalidInputError: a graph file in it is damaged.
    """
    _require_own_log(settings)
    kept = _read_index(folder)
    home = settings.folder.create()
    if home.log.exists() or any(home.associations.glob("*/")):
        raise ConfigurationError(f"The home {home.path} holds a log already.", hint="Restore into a new home: --home FOLDER.")
    store = graph_store(settings)
    await store.open()
    try:
        for tenant in kept:
            if await store.counts(tenant) or await store.offset(tenant):
                raise ConfigurationError(
                    f"The graph store holds a graph of tenant {tenant} already.", hint="Restore into an empty one (HEADWATER_STORE)."
                )
        await asyncio.to_thread(_bring_files, folder, home)
        log = SqliteLog(home.log)
        try:
            for tenant, expected in kept.items():
                await import_graph(log, store, tenant, folder / _graph_file(tenant))
                found = await store.fingerprint(tenant)
                if found != expected.fingerprint:
                    raise HeadwaterError(
                        f"The graph of tenant {tenant} has the fingerprint {found} now; the backup says {expected.fingerprint}.",
                        hint="The log is restored: `headwater store check` compares, `headwater store rebuild` makes the graph again.",
                    )
        finally:
            log.close()
    finally:
        await store.close()
    return kept


def _require_own_log(settings: HomeSettings) -> None:
    if settings.ingest_log is not None:
        raise ConfigurationError(
            "The log and the associations of these replicas are not in this home (HEADWATER_INGEST_LOG).",
            hint="Back up the database (pg_dump) before the bucket; docs/operate/replicas.md says how to bring them back.",
        )


def _copy_files(home: Home, folder: Path) -> None:
    if home.evidence.exists():  # before the log: the log must have all entries of the evidence
        _copy_database(home.evidence, folder / home.evidence.name)
    _copy_database(home.log, folder / _LOG)
    target = folder / _ASSOCIATIONS
    target.mkdir(mode=0o700)
    for tenant in sorted(path for path in home.associations.iterdir() if path.is_dir() and not path.name.startswith(".")):
        # Staged captures are copied first. Captures that are published meanwhile are copied afterwards.
        sources = (path for path in tenant.iterdir() if path.is_dir() and not path.name.startswith("."))  # temporary folders are left out
        for source in sorted(sources, key=lambda path: path.name != STAGING):
            _copy_captures(source, target / tenant.name / source.name)
    if (home.associations / _CATALOG).exists():
        _copy_database(home.associations / _CATALOG, target / _CATALOG)
    for database in (home.triggers, home.ledger, home.policies):
        if database.exists():
            _copy_database(database, folder / database.name)
    _copy_audit(home.audit, folder)


def _copy_captures(source: Path, target: Path) -> None:
    """Copy a folder of the associations that contains captures or is one.

    A staged capture may vanish because it is published meanwhile. It is then among the stored captures.
    """
    try:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*", "*.damaged-*"))  # temporary files are left out
    except (FileNotFoundError, shutil.Error):
        if source.name != STAGING:
            raise


def _copy_audit(path: Path, target: Path) -> None:
    for source in (path, *earlier_files(path)):
        copy = target / source.name
        copy.touch(mode=0o600)
        try:
            shutil.copyfile(source, copy)
        except FileNotFoundError:  # the file does not exist, or was renamed or removed meanwhile
            copy.unlink()
            continue
        with copy.open("r+b") as lines:  # the service may have been writing a line
            start = max(0, lines.seek(0, os.SEEK_END) - _LONGEST_LINE)
            lines.seek(start)
            lines.truncate(start + lines.read().rfind(b"\n") + 1)


def _bring_files(folder: Path, home: Home) -> None:
    shutil.copytree(folder / _ASSOCIATIONS, home.associations, dirs_exist_ok=True)
    for source in (folder / home.audit.name, *earlier_files(folder / home.audit.name)):
        target = home.audit.with_name(source.name)
        if source.is_file() and not target.exists():
            shutil.copyfile(source, target)
            target.chmod(0o600)
    stated = json.loads((folder / _INDEX).read_text(encoding="utf-8")).get("files", ())  # backups of earlier releases have none
    # The log comes last: a home without a log can be restored again.
    for database in (home.triggers, home.ledger, home.policies, home.evidence, home.log):
        if database == home.log or database.name in stated:
            draft = database.with_name(f".{database.name}.restoring")
            shutil.copyfile(folder / database.name, draft)
            draft.chmod(0o600)
            draft.rename(database)


def _copy_database(source: Path, target: Path) -> None:
    origin, copy = sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True), sqlite3.connect(target)
    try:
        origin.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without side files
    finally:
        copy.close()
        origin.close()
    target.chmod(0o600)


def _read_index(folder: Path) -> Mapping[str, TenantBackup]:
    try:
        index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
        sound = index["format"] == _FORMAT
        kept = {tenant: TenantBackup(**entry) for tenant, entry in index["tenants"].items()}
        version = index["version"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"{folder} is no backup: {_INDEX} is missing or damaged ({type(error).__name__}).",
            hint="Name a folder that `headwater store backup` wrote.",
        ) from error
    if not sound or version != _VERSION:
        raise ConfigurationError(
            f"{folder} holds a backup of version {version!r}; this Headwater reads version {_VERSION}.", hint="Upgrade Headwater."
        )
    missing = [name for name in (_LOG, _ASSOCIATIONS, *map(_graph_file, kept)) if not (folder / name).exists()]
    if odd := next((path for path in folder.rglob("*") if path.is_symlink() or not (path.is_file() or path.is_dir())), None):
        raise ConfigurationError(
            f"{odd.relative_to(folder)} in {folder} is a link or no file.",
            hint="No backup does: see who put it there.",
        )
    if missing:
        raise ConfigurationError(f"The backup in {folder} lacks {', '.join(missing)}.", hint="Copy the whole folder.")
    check_backup(folder, index, index_name=_INDEX, log=_LOG, audit="audit.jsonl")
    return kept


def _require_empty(folder: Path, hint: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = next(folder.iterdir(), None)
    except OSError as error:
        raise ConfigurationError(f"The folder {folder} cannot be made: {error.strerror}.", hint=hint) from error
    if content is not None:
        raise ConfigurationError(f"The folder {folder} is not empty: {content.name} is in it.", hint=hint)


def _graph_file(tenant: str) -> str:
    return f"graph-{quote(tenant, safe='')}.ndjson.gz"
