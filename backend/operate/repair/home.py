"""`headwater store repair`: repairs the damaged files of a home from its other files.

    key            a new one
    keys.db        moved aside: named keys no longer work, and are created again
    sessions.db    moved aside: all sessions are ended
    registered.db  moved aside: programs register again
    triggers.db    moved aside: triggers are created again
    policies.db    moved aside: policies are created again
    ingest.db      every intact entry in the damaged file, and the entries of a backup
    graph.db       rebuilt from the log
    catalog.db     rebuilt from the stored captures
    associations/  manifests from the log, lists of files from the catalog; tables that traces can recompute are dropped; else from a backup
    staged .seg    from a backup; else the sender sends it again

A damaged file is moved aside, never deleted. The result names unrepaired files and lost data. No other process may use the home meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from headwater.backend.access.people.ended_sessions import OwnEndedSessions
from headwater.backend.home.file_fault import Fault
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import DEFAULT_TENANT, Settings
from headwater.backend.operate.repair.captures import mended_capture, mended_segment
from headwater.backend.operate.repair.log import is_short, mended_log
from headwater.backend.operate.repair.result import Repair, put_aside
from headwater.backend.operate.soundness.files import all_faults, databases
from headwater.backend.projector.role import ProjectorRole
from headwater.backend.workspace import Workspace
from headwater.errors import ConfigurationError, UnavailableError


async def repair(settings: Settings, backup: Path | None = None) -> list[Repair]:
    """Repair the damaged files of a home, and return one result per damaged file.

    Raises:
        ConfigurationError: the folder is not a backup.
        UnavailableError: another process uses the home, or its disk is full.
    """
    home = settings.folder
    if backup is not None and not (backup / "backup.json").exists():
        raise ConfigurationError(
            f"{backup} is no backup: it has no backup.json.", hint="Name a folder that `headwater store backup` wrote."
        )
    if home.service() is not None:
        raise UnavailableError("A service runs on this home.", hint="Stop it (Ctrl-C), then try again.")
    home.create()
    role = ProjectorRole(home.projector_lock)
    if not role.take():
        raise UnavailableError("Another process projects the log of this home.", hint="Wait until it ends, then try again.")
    try:
        done = await asyncio.to_thread(lambda: list(_files(settings, backup)))
    finally:
        role.release()
    return [*done, *await _settled(settings, refold=any(each.path == home.log for each in done), rebuild=any(each.graph for each in done))]


def _files(settings: Settings, backup: Path | None) -> Iterator[Repair]:
    home, faults = settings.folder, list(all_faults(settings))
    if full := [fault for fault in faults if fault.part == "disk"]:
        raise UnavailableError(f"{full[0]}.", hint="Make room, or make the disk writable again, then try again.")
    parts = ("key", "keys", "sessions", "registered", "triggers", "policies", "log", "graph", "catalog")
    by_part = {part: [fault for fault in faults if fault.part == part] for part in parts}
    if by_part["key"]:
        yield _new_key(home)
    yield from _access(home, by_part)
    yield from _triggers(home, by_part["triggers"])
    yield from _policies(home, by_part["policies"])
    if by_part["log"] or (settings.ingest_log is None and is_short(home)):
        yield mended_log(home, backup)
    for fault in faults:
        if fault.part == "associations":
            yield mended_capture(home, fault, backup, has_catalog=not by_part["catalog"])
        elif fault.part == "segments":
            yield mended_segment(home, fault, backup)
    for part in ("graph", "catalog"):
        if by_part[part]:
            path = databases(settings)[part]
            aside = put_aside(path)
            source = "the log" if part == "graph" else "the kept captures"
            yield Repair(path, f"made again from {source}; the damaged file is {aside.name} now")


async def _settled(settings: Settings, *, refold: bool, rebuild: bool) -> Iterable[Repair]:
    """Open the home, which creates missing files, and project the whole log, including entries that were refused before."""
    async with await Workspace.open(settings) as workspace:
        if not workspace.role.take(alone=True):
            raise UnavailableError("Another process projects the log of this home.", hint="Wait until it ends, then try again.")
        offset = await workspace.graph.offset(DEFAULT_TENANT)
        short = workspace.log.given() < offset
        if short:
            workspace.log.go_on_after(offset).result()
        for tenant in dict.fromkeys([*workspace.log.tenants(), DEFAULT_TENANT]):
            if refold or short:
                await workspace.projector.refold(tenant)
            if rebuild:
                await workspace.projector.rebuild(tenant)
            await workspace.projector.catch_up()
            await workspace.projector.retry(tenant)
        lost = f"the entries up to {offset} that it does not hold; the graph keeps what they stated"
        path = workspace.home.log if settings.ingest_log is None else Path(workspace.log.name)
        return [Repair(path, f"goes on after entry {offset}, where the graph is", lost)] if short and not refold else []


def _access(home: Home, by_part: Mapping[str, Sequence[Fault]]) -> Iterator[Repair]:
    """Move files with rights aside. Holders must be granted their rights again, and nobody gains any."""
    if by_part["keys"]:
        aside = put_aside(home.named_keys)
        lost = "the named keys: make them anew (`headwater admin keys create`)"
        yield Repair(home.named_keys, f"no named key opens anything now; the damaged file is {aside.name} now", lost)
    if by_part["sessions"]:
        aside = put_aside(home.ended_sessions)
        OwnEndedSessions(home.ended_sessions).end_all()
        lost = "the sessions of the page: open it again, or sign in again"
        yield Repair(home.ended_sessions, f"all sessions are ended; the damaged file is {aside.name} now", lost)
    if by_part["registered"]:
        path = home.path / "registered.db"
        aside = put_aside(path)
        lost = "how programs are started: they register again when they run, or by `headwater jobs register`"
        yield Repair(path, f"a new one is made; the damaged file is {aside.name} now", lost)


def _triggers(home: Home, faults: Sequence[Fault]) -> Iterator[Repair]:
    if faults:
        aside = put_aside(home.triggers)
        lost = "the triggers and what they did: create them again (`headwater triggers create`)"
        yield Repair(home.triggers, f"a new one is made; the damaged file is {aside.name} now", lost)


def _policies(home: Home, faults: Sequence[Fault]) -> Iterator[Repair]:
    if faults:
        aside = put_aside(home.policies)
        lost = "the policies, their versions and their deviations: create the policies again"
        yield Repair(home.policies, f"a new one is made; the damaged file is {aside.name} now", lost)


def _new_key(home: Home) -> Repair:
    aside = put_aside(home.key_file)
    home.key()
    return Repair(
        home.key_file, f"a new key was made; the damaged file is {aside.name} now", "the old key: whoever shows it needs the new one"
    )
