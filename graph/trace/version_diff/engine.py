"""Compares the records of two versions of a dataset.

An answer is exact, or says which other records a version may have had. If the data of a version was deleted or replaced, the question is
refused. Files that both versions have are not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Origin
from headwater.graph.trace.datasets import Dataset, find_dataset
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.value_sources import list_origins
from headwater.graph.trace.version_diff.answer import Change, DiffRecord, DiffRequest, RecordChange, VersionDiff
from headwater.graph.trace.version_diff.compare import Place, compare, compared_columns, fetch_page
from headwater.graph.trace.version_diff.sides import Side, check_readable, find_side, leave_out_common, read_side


async def diff(graph: GraphStore | None, store: AssociationStore, tenant: str, request: DiffRequest) -> VersionDiff:
    """Return one page of the difference between two versions.

    Raises:
        NotFoundError: there is no such dataset or version.
        InvalidQueryError: the name of a version, or a column of the key, is invalid.
        UnsupportedError: the data of a version was deleted or replaced, or is not in files.
        SourceChangedError: a file changed while it was read.
    """
    with get_tracer(store).session(tenant) as session:
        dataset = await find_dataset(session, graph, request.dataset)
        before = await find_side(session, graph, dataset, request.before)
        after = await find_side(session, graph, dataset, request.after)
        return await asyncio.to_thread(_diff, session, dataset, before, after, request)


def _diff(session: Session, dataset: Dataset, whole_before: Side, whole_after: Side, request: DiffRequest) -> VersionDiff:
    before, after = leave_out_common(whole_before, whole_after)
    for side in (before, after):
        check_readable(dataset, side)
    session.deleted_rows.clear()
    tables = [read_side(session, side) for side in (before, after)]
    origins = _origins(session, [before, after]) if request.origins else ()
    answer = VersionDiff(
        dataset.id, before.stated, after.stated, compared_columns(session, tables, request.hidden), tuple(request.key),
        (), total=0, added=0, removed=0, changed=0, exact=session.is_whole, incomplete=list(session.incomplete), notes=(), origins=origins,
    )  # fmt: skip
    if request.first == 0:
        return answer
    found = compare(session, tables[0], tables[1], request.key, request.hidden)
    runs = _runs(session, [*before.files, *after.files])
    entries = [
        RecordChange(change, _record(session, old, runs), _record(session, new, runs))
        for change, old, new in fetch_page(session, found, request.changes, request.first, request.offset)
    ]
    return replace(
        answer,
        columns=found.columns,
        key=found.key,
        entries=entries,
        total=sum(found.counts[change] for change in set(request.changes)),
        added=found.counts[Change.ADDED],
        removed=found.counts[Change.REMOVED],
        changed=found.counts[Change.CHANGED],
        notes=found.notes,
    )


def _origins(session: Session, sides: Sequence[Side]) -> list[Origin]:
    """Return the files that were read, with the names of their columns in the shape of each version and in their own shape."""
    found: list[Origin] = []
    for side in sides:
        found += list_origins(session, [replace(file, shape=side.shape) for file in side.files])
        found += list_origins(session, [file for file in side.files if file.shape != side.shape])
    return found


def _record(session: Session, place: Place | None, runs: dict[int, str]) -> DiffRecord | None:
    if place is None:
        return None
    return DiffRecord(session.files[place.file].block.path, place.row, place.line, place.values, runs.get(place.file))


def _runs(session: Session, files: Sequence[KnownFile]) -> dict[int, str]:
    wrote = session.store.catalog.writers(session.tenant, [file.block for file in files])
    runs = {capture: node_id(NodeKind.RUN, session.get_capture(capture).manifest.run.run_id) for capture in set(wrote.values())}
    return {file.number: runs[wrote[file.block]] for file in files if file.block in wrote}
