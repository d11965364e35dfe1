"""Whether a home's graph is what its log says.

For `headwater store check`. It never touches the graph that it checks: the log is folded into a second one, in a temporary file, and
the two fingerprints, which no order of arrival changes, are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from headwater.backend.ingest_log import EntryKind, Stage
from headwater.backend.projector import Projector
from headwater.backend.workspace import Workspace
from headwater.graph.integrity import violations
from headwater.graph.stores.registry import open_store

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    check: str
    ok: bool
    detail: str


async def check_store(workspace: Workspace, tenant: str) -> list[Finding]:
    """Check the log, the dead letters and the graph of a tenant. Raises `UnavailableError`."""
    log, offset = workspace.log, await workspace.graph.offset(tenant)
    counts, latest = log.counts(tenant), log.latest(tenant)
    refused = [letter for letter in log.dead_letters(tenant) if letter.stage is Stage.PROJECTION]
    return [
        Finding("log", ok=True, detail=_counted(counts)),
        Finding("projected", ok=offset == latest, detail=f"{offset} of {latest}"),
        Finding("refused", ok=not refused, detail="; ".join(f"entry {letter.offset}: {letter.reason}" for letter in refused[:5]) or "none"),
        await _compare(workspace, tenant),
        await _integrity(workspace, tenant),
    ]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[kind]} {kind.replace('_', ' ').removesuffix('s')}s" for kind in (*EntryKind, "dead_letters"))


async def _integrity(workspace: Workspace, tenant: str) -> Finding:
    """The rules of containment (`headwater.graph.integrity`)."""
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
            await Projector(workspace.log, second, workspace.records).catch_up()
            expected, there = await second.fingerprint(tenant), await second.counts(tenant)
        finally:
            await second.close()
    found = await workspace.graph.fingerprint(tenant)
    if found == expected:
        return Finding("graph", ok=True, detail=f"fingerprint {found}")
    said = _difference(await workspace.graph.counts(tenant), there)
    return Finding("graph", ok=False, detail=f"fingerprint {found}, the log gives {expected}. {said}")


def _difference(kept: Mapping[str, int], told: Mapping[str, int]) -> str:
    """In what a graph differs from the log, and what to do, in words that frighten nobody who has but installed a newer version."""
    kinds = sorted(kept.keys() | told.keys())
    lacks = [f"{told[kind] - kept.get(kind, 0):,} of kind {kind}" for kind in kinds if told.get(kind, 0) > kept.get(kind, 0)]
    over = [f"{kept[kind] - told.get(kind, 0):,} of kind {kind}" for kind in kinds if kept.get(kind, 0) > told.get(kind, 0)]
    said = []
    if lacks:
        said.append(f"It lacks nodes that the log tells of ({', '.join(lacks)}); one that an older Headwater made does.")
    if over:
        said.append(f"It has nodes that the log does not tell of ({', '.join(over)}); one that a graph file was imported into has.")
    if not said:
        said.append("Its nodes are those of the log; what is stated of them, or flows between them, is not.")
    lost = "those nodes are lost by it" if over else "nothing is lost by it"
    return " ".join([*said, f"`headwater store rebuild` makes it again from the log; {lost}."])
