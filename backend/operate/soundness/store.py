"""Checks a home: its files one by one, and its graph against its log.

`headwater store check` runs the checks, which never change the graph. The log is projected into a second graph, in a temporary
file, and the two fingerprints are compared. They do not depend on the order of arrival.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.settings import Settings
from headwater.backend.ingest.log import EntryKind, IngestLog, Stage
from headwater.backend.operate.soundness.files import all_faults
from headwater.backend.projector.missing_captures import absent_of
from headwater.backend.projector.projector import Projector
from headwater.backend.workspace import Workspace
from headwater.errors import DamagedError, HeadwaterError
from headwater.graph.integrity import violations
from headwater.graph.records import AssociationStore
from headwater.graph.records.digests import is_sealed
from headwater.graph.stores.registry import open_store

_SHOWN = 5
_PARTS = (
    "disk",
    "key",
    "keys",
    "sessions",
    "settings",
    "registered",
    "triggers",
    "policies",
    "audit",
    "log",
    "graph",
    "catalog",
    "associations",
    "segments",
)
_NAMES = {part: "log file" if part == "log" else "graph file" if part == "graph" else part for part in _PARTS}
_RUN = "stop the service, then run `headwater store repair`"
_REPAIRS = {
    "disk": "make room or make it writable again: nothing that was acknowledged is lost, and senders try again",
    "key": f"{_RUN}: it makes a new key",
    "keys": f"{_RUN}: named keys open nothing until then, and are made anew (`headwater admin keys`)",
    "sessions": f"{_RUN}: it ends all sessions, which open nothing until then",
    "settings": "mend the file: nothing that it allows is allowed until then",
    "registered": f"{_RUN}: programs register again when they run",
    "triggers": f"{_RUN}: triggers are created again",
    "policies": f"{_RUN}: policies are created again",
    "audit": "compare it with a copy that was kept elsewhere: a line that was changed cannot be brought back",
    "log": f"{_RUN} (`--from BACKUP` brings back what the file has lost)",
    "graph": f"{_RUN}: it makes the graph again from the log",
    "catalog": f"{_RUN}: it makes the catalog again from the captures",
    "associations": f"{_RUN} (`--from BACKUP` where the job cannot run again)",
    "segments": f"{_RUN} (`--from BACKUP`, or send them again from the spool)",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    check: str
    ok: bool
    detail: str


async def check_home(settings: Settings, tenant: str) -> list[Finding]:
    """Check every durable file of a home, then compare the files with each other. Faults are returned, not raised.

    The comparison is left out if the log or the graph is damaged, because it would only report the same damage again.
    """
    faults = list(await asyncio.to_thread(lambda: list(all_faults(settings))))
    findings = [_of_part(part, [fault for fault in faults if fault.part == part]) for part in _PARTS]
    findings.append(await asyncio.to_thread(_checksums, settings))
    if any(fault.part in {"log", "graph", "catalog", "disk"} for fault in faults):
        return findings
    try:
        async with await Workspace.open(settings) as workspace:
            await _settle(workspace)
            return [*findings, *await check_store(workspace, tenant)]
    except (HeadwaterError, OSError, sqlite3.Error) as error:
        return [*findings, Finding("home", ok=False, detail=str(error))]


async def _settle(workspace: Workspace) -> None:
    with suppress(DamagedError):  # unprojected entries are counted below
        await workspace.settle()


def _checksums(settings: Settings) -> Finding:
    folders = [folder for _, folder in AssociationStore.kept_folders(settings.folder.associations)]
    without = [folder for folder in folders if not is_sealed(folder)]
    if not without:
        return Finding("checksums", ok=True, detail=f"{len(folders):,} captures have them")
    hint = "`headwater store rebuild` adds them; until then damage to one of these files may not show"
    return Finding("checksums", ok=True, detail=f"{len(without):,} captures have none ({without[0]} is the first): {hint}")


def _of_part(part: str, faults: Sequence[Fault]) -> Finding:
    shown = [str(fault) for fault in faults[:_SHOWN]]
    more = [f"and {len(faults) - _SHOWN:,} more files"] if len(faults) > _SHOWN else []
    hint = [f"{_REPAIRS[part]}"] if faults else []
    return Finding(_NAMES[part], ok=not faults, detail="; ".join([*shown, *more, *hint]) or "sound")


async def check_store(workspace: Workspace, tenant: str) -> list[Finding]:
    """Compare the log, the dead letters and the graph of a tenant. Raises `UnavailableError`."""
    log, offset = workspace.log, await workspace.graph.offset(tenant)
    counts, latest = log.counts(tenant), log.latest(tenant)
    return [
        Finding("log", ok=True, detail=_counted(counts)),
        Finding("projected", ok=latest <= offset <= max(latest, log.given()), detail=_projected(offset, log, tenant)),
        _refused(log, tenant),
        _set_aside(log, tenant),
        _refused_at_intake(log, tenant),
        await _kept(workspace, tenant, offset),
        await _compare(workspace, tenant),
        await _integrity(workspace, tenant),
    ]


def _projected(offset: int, log: IngestLog, tenant: str) -> str:
    latest = log.latest(tenant)
    if offset <= max(latest, log.given()):
        return f"{offset} of {max(offset, latest)}"
    return f"{offset} of {latest}: {log.name} lacks entries that the graph has; {_REPAIRS['log']}"


def _refused(log: IngestLog, tenant: str) -> Finding:
    count = log.refused(tenant)
    shown = [f"entry {letter.offset}: {letter.reason}" for letter in log.dead_letters(tenant, first=_SHOWN, stage=Stage.PROJECTION)]
    more = [f"and {count - len(shown):,} more"] if count > len(shown) else []
    return Finding("refused", ok=not count, detail="; ".join([*shown, *more]) or "none")


def _set_aside(log: IngestLog, tenant: str) -> Finding:
    count = len(log.buried_at(tenant, Stage.QUARANTINE))
    shown = [f"entry {letter.offset}: {letter.reason}" for letter in log.dead_letters(tenant, first=_SHOWN, stage=Stage.QUARANTINE)]
    more = [f"and {count - len(shown):,} more"] if count > len(shown) else []
    hint = ["`headwater store retry` projects them once more"] if count else []
    return Finding("set aside", ok=not count, detail="; ".join([*shown, *more, *hint]) or "none")


async def _kept(workspace: Workspace, tenant: str, offset: int) -> Finding:
    absent = await asyncio.to_thread(absent_of, workspace.log, workspace.records, tenant, offset)
    lost = await asyncio.to_thread(workspace.records.catalog.lost, tenant)
    shown = [f"{capture} of entry {number} is missing" for capture, number in list(absent.items())[:_SHOWN]]
    shown += [f"{capture}: {reason}" for capture, reason in list(lost.items())[:_SHOWN] if capture not in absent]
    hint = [_REPAIRS["associations"]] if shown else []
    return Finding("captures", ok=not shown, detail="; ".join([*shown, *hint]) or "kept")


def _refused_at_intake(log: IngestLog, tenant: str) -> Finding:
    """Report the documents that intake refused, the latest last. They are no fault of the store, and their senders were informed."""
    count, after = 0, 0
    latest = deque[str](maxlen=_SHOWN)
    while letters := log.dead_letters(tenant, after=after, stage=Stage.INTAKE):
        latest.extend(f"{letter.received}, {letter.times}×: {letter.reason}" for letter in letters)
        count, after = count + len(letters), letters[-1].id
    earlier = [f"{count - len(latest):,} before these"] if count > len(latest) else []
    return Finding("refused at intake", ok=True, detail="; ".join([*earlier, *latest]) or "none")


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[kind]} {kind.replace('_', ' ').removesuffix('s')}s" for kind in (*EntryKind, "dead_letters"))


async def _integrity(workspace: Workspace, tenant: str) -> Finding:
    shown: list[str] = []
    broken = 0
    async for violation in violations(workspace.graph, tenant):
        broken += 1
        if len(shown) < _SHOWN:
            shown.append(f"{violation.rule}: {violation.node}: {violation.detail}")
    more = f"; and {broken - len(shown)} more" if broken > len(shown) else ""
    return Finding("integrity", ok=not broken, detail=("; ".join(shown) + more) or "containment keeps its rules")


async def _compare(workspace: Workspace, tenant: str) -> Finding:
    with TemporaryDirectory(prefix="headwater-check-") as folder:
        second = open_store(f"sqlite:///{quote(str(Path(folder) / 'graph.db'))}")
        await second.open()
        try:
            await Projector(workspace.log, second, workspace.records, buries=False).catch_up()
            expected, there = await second.fingerprint(tenant), await second.counts(tenant)
        finally:
            await second.close()
    found = await workspace.graph.fingerprint(tenant)
    if found == expected:
        return Finding("graph", ok=True, detail=f"fingerprint {found}")
    difference = _difference(await workspace.graph.counts(tenant), there)
    return Finding("graph", ok=False, detail=f"fingerprint {found}, the log gives {expected}. {difference}")


def _difference(kept: Mapping[str, int], expected: Mapping[str, int]) -> str:
    """Describe how a graph differs from the log, and what to do. A newer version of Headwater is a harmless reason."""
    kinds = sorted(kept.keys() | expected.keys())
    lacks = [f"{expected[kind] - kept.get(kind, 0):,} of kind {kind}" for kind in kinds if expected.get(kind, 0) > kept.get(kind, 0)]
    over = [f"{kept[kind] - expected.get(kind, 0):,} of kind {kind}" for kind in kinds if kept.get(kind, 0) > expected.get(kind, 0)]
    difference = []
    if lacks:
        difference.append(f"It lacks nodes that the log tells of ({', '.join(lacks)}); one that an older Headwater made does.")
    if over:
        difference.append(f"It has nodes that the log does not tell of ({', '.join(over)}); one that a graph file was imported into has.")
    if not difference:
        difference.append("Its nodes are those of the log; what is stated of them, or flows between them, is not.")
    lost = "those nodes are lost by it" if over else "nothing is lost by it"
    return " ".join([*difference, f"`headwater store rebuild` makes it again from the log; {lost}."])
