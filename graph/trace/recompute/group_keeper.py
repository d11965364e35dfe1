"""Keeps groups that the job left to the trace: before their source changes, and if a trace took long to compute them.

The service does this in the background. The next run of a known job may overwrite its files, and the groups over them could not be computed
any more. So these groups are computed early, and kept as if the job had written them. Other files need not change. For them only groups are
kept that a trace computed slowly, or that may take longer than mode `auto` promises.
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
_SHARE = 10  # a table that is kept for speed may have one tenth of the size of its sources
_LITTLE = 1 << 20  # or this many bytes

StartTask = Callable[[Callable[[], None]], None]  # receives a function that interrupts the running statement from another thread


def _run_without_limit(_: Callable[[], None]) -> None:
    """Start a task that the caller never interrupts."""


def keep_groups(store: AssociationStore, tenant: str, capture: str, *, start_task: StartTask = _run_without_limit) -> int:
    """Keep the groups of a capture whose sources may change, and return the number of boundaries kept. Idempotent.

    Boundaries that a trace may not compute within the budget are requested, as a slow trace would request them.
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
    """Keep all rows of a boundary that a trace took long to compute, unless they are too large. Return whether they are kept."""
    with open_sparing_session(store, tables.tenant, memory=_MEMORY, max_temp_directory_size=_DISK) as session:
        start_task(session.database.interrupt)
        known_capture = session.get_capture(tables.capture)
        boundary = next(boundary for boundary in known_capture.manifest.boundaries if boundary.boundary == tables.boundary)
        if not BoundaryRows(session, known_capture, boundary).recomputed:
            return True
        source_bytes = sum(block.length for block in _list_blocks(known_capture, boundary))
        return _keep_boundary(session, known_capture, boundary, most_bytes=max(source_bytes // _SHARE, _LITTLE))


def _may_change(session: Session, capture: Capture, boundary: Boundary) -> bool:
    """Return whether a known run wrote the files of the groups."""
    return bool(session.store.catalog.writers(session.tenant, _list_blocks(capture, boundary)))


def _list_blocks(capture: Capture, boundary: Boundary) -> list[FileBlock]:
    """Return the source files of a boundary's groups."""
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
