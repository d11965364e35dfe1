"""Computes groups that the job did not write, and keeps them as if the job had written them.

The service does this in the background. If the next run of a job may overwrite the source files, the groups are computed before that. For
other sources, only groups that take a trace longer than the budget of mode `auto` are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from headwater.graph.associations import Boundary
from headwater.graph.records import AssociationStore, FileBlock, Wanted, block_at
from headwater.graph.records.compact import keep_sorted
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.recompute.large_groups import find_slow_boundaries
from headwater.graph.trace.recompute.spec import find_input
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.tracer import get_tracer, open_sparing_session

_MEMORY = "512MB"  # leaves room for traces at the same time; DuckDB spills above this size
_DISK = "8GB"  # for spilled data; larger groups stay with the trace
_SHARE = 10  # a table that is kept for speed may have one tenth of the bytes of its sources
_LITTLE = 1 << 20  # bytes; a smaller table is kept in any case

StartTask = Callable[[Callable[[], None]], None]  # receives a function that interrupts the running statement from another thread


def _run_without_limit(_: Callable[[], None]) -> None:
    """Start a task that the caller never interrupts."""


def keep_groups(store: AssociationStore, tenant: str, capture: str, *, start_task: StartTask = _run_without_limit) -> int:
    """Compute and keep the groups of a capture whose sources may change. Return the number of boundaries kept. Idempotent.

    Boundaries that would exceed the trace budget are queued, as if a slow trace had requested them.
    """
    with get_tracer(store).session(tenant) as session:
        start_task(session.database.interrupt)
        known_capture = session.get_capture(capture)
        boundaries = [
            boundary for boundary in known_capture.manifest.boundaries if BoundaryRows(session, known_capture, boundary).recomputed
        ]
        boundaries.sort(
            key=lambda boundary: (boundary.operator, boundary.kind != "semi")
        )  # semi-joins come last: other boundaries need the rows first
        kept_count = sum(
            _keep_boundary(session, known_capture, boundary) for boundary in boundaries if _may_change(session, known_capture, boundary)
        )
        for boundary in find_slow_boundaries(session, known_capture):
            store.wanted.add(Wanted(tenant, capture, boundary.boundary))
        return kept_count


def keep_wanted(store: AssociationStore, tables: Wanted, *, start_task: StartTask = _run_without_limit) -> bool:
    """Keep all rows of a boundary that took a trace long to compute. Return false if they are too large or a source has changed."""
    with open_sparing_session(store, tables.tenant, memory=_MEMORY, max_temp_directory_size=_DISK) as session:
        start_task(session.database.interrupt)
        known_capture = session.get_capture(tables.capture)
        boundary = next(boundary for boundary in known_capture.manifest.boundaries if boundary.boundary == tables.boundary)
        if not BoundaryRows(session, known_capture, boundary).recomputed:
            return True
        source_bytes = sum(block.length for block in _list_blocks(known_capture, boundary))
        return _keep_boundary(session, known_capture, boundary, most_bytes=max(source_bytes // _SHARE, _LITTLE))


def _may_change(session: Session, capture: Capture, boundary: Boundary) -> bool:
    return bool(session.store.catalog.writers(session.tenant, _list_blocks(capture, boundary)))


def _list_blocks(capture: Capture, boundary: Boundary) -> list[FileBlock]:
    sources = {scan.source for scan in capture.plan.scans(find_input(capture, boundary))}
    return [
        block_at(file.path, file.length, file.modified)
        for source in capture.manifest.sources
        if source.source in sources
        for file in capture.files_of(source)
    ]


def _keep_boundary(session: Session, capture: Capture, boundary: Boundary, *, most_bytes: int | None = None) -> bool:
    table = BoundaryRows(session, capture, boundary).try_read_all()
    if table is None:
        return False  # too late: the source has changed, and traces report it
    target = session.query_kept_table(capture, boundary.boundary)
    for old_file in target.parent.glob(f".{target.name}.*"):
        old_file.unlink()  # an unfinished file of a killed process
    draft = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        keep_sorted(boundary, session.database.holding(table), table, draft)
        if most_bytes is not None and draft.stat().st_size > most_bytes:
            return False
        session.store.put_table(session.tenant, capture.id, boundary.boundary, draft)
    finally:
        draft.unlink(missing_ok=True)
    return True
