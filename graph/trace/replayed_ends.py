"""Removes records of replays that no dataset has: outputs that were not committed, and commits that were undone.

A forward walk reaches them, because the programs of the replay really made them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from headwater.graph.model import NodeKind, node_id
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.stores.write_times import UNDONE_AT
from headwater.graph.trace.session import Capture, Session


async def drop_replayed_ends(
    session: Session, graph: GraphStore | None, captures: Sequence[Capture], end_tables: Sequence[str]
) -> Sequence[str]:
    """Return the ends of a forward walk without records that only a replay had. `captures` are the captures of the walk."""
    versions = [(capture, version) for capture in captures if (version := _version_of(capture)) is not None]
    if not versions:
        return end_tables
    asked = sorted({version for _, version in versions if version})
    undone = {node.id for node in await graph.get(session.tenant, asked) if UNDONE_AT in node.properties} if graph is not None else set()
    dropped = [capture for capture, version in versions if not version or version in undone]
    return await asyncio.to_thread(_without_files, session, end_tables, dropped) if dropped else end_tables


def _version_of(capture: Capture) -> str | None:
    """Return the version that a replay committed. Empty if the output was not committed, None if the capture is of no replay."""
    manifest = capture.manifest
    if manifest.sink is None or not isinstance(manifest.extra.get("replay"), Mapping):
        return None
    if manifest.sink.extra.get("uncommitted") is True:
        return ""
    return node_id(NodeKind.VERSION, manifest.sink.dataset.namespace, manifest.sink.dataset.name, manifest.run.run_id)


def _without_files(session: Session, tables: Sequence[str], captures: Sequence[Capture]) -> list[str]:
    numbers = {session.get_written_file(capture, place).number for capture in captures for place in range(len(capture.files))}
    kept = []
    for table in tables:
        dropped = sorted(numbers & session.list_files_of([table]))
        listed = ", ".join(map(str, dropped))
        kept.append(session.make_table(f"SELECT * FROM {table} WHERE file NOT IN ({listed})") if dropped else table)
    return kept
