"""Removes records and hops of replays that no dataset has: outputs that were not committed, and commits that were undone.

A forward walk reaches them, because the programs of the replay really made them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.graph.model import NodeKind, node_id
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.stores.write_times import UNDONE_AT
from headwater.graph.trace.hops import Hops
from headwater.graph.trace.session import Capture, Session


async def find_discarded(session: Session, graph: GraphStore | None, captures: Sequence[Capture]) -> list[Capture]:
    """Return the captures of replays whose output was not committed, or whose commit was undone."""
    versions = [(capture, version) for capture in captures if (version := _version_of(capture)) is not None]
    asked = sorted({version for _, version in versions if version})
    nodes = await graph.get(session.tenant, asked) if graph is not None and asked else []
    undone = {node.id for node in nodes if UNDONE_AT in node.properties}
    return [capture for capture, version in versions if not version or version in undone]


def drop_replayed_ends(session: Session, discarded: Sequence[Capture], end_tables: Sequence[str]) -> Sequence[str]:
    """Return the ends of a forward walk without the records that discarded captures wrote."""
    return _without_files(session, end_tables, discarded) if discarded else end_tables


def drop_discarded_hops(session: Session, discarded: Sequence[Capture], hops: Hops) -> None:
    """Remove the hops of discarded captures that no other hop goes on from. A later run may have read an output before its undo."""
    removable = {capture.id: capture for capture in discarded}
    readers = {capture.id: _find_readers(session, capture) for capture in discarded}
    remaining = {capture.id for capture in hops.captures()}
    while unread := [capture for identifier, capture in removable.items() if not readers[identifier] & remaining - {identifier}]:
        hops.remove(unread)
        for capture in unread:
            del removable[capture.id]
            remaining.discard(capture.id)


def _find_readers(session: Session, capture: Capture) -> set[str]:
    blocks = [capture.files[place].block for place in range(len(capture.files))]
    readers = session.store.catalog.readers(session.tenant, blocks)
    return {reader for captures in readers.values() for reader in captures}


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
