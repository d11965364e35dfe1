"""Keeps groups that were left to the trace: before their source changes, and once a trace took long to compute them.

For the service, off the user's time. Files that a known run wrote may be written again by its next run, and then the groups over them
could not be found again: so these are found now, and kept as if the job had written them. Over files that nobody known writes, as
nothing says that they will change, only that is kept which a trace asked for and found slowly, or may find more slowly than `auto`
promises.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from headwater.graph.associations import Boundary
from headwater.graph.records import AssociationStore, FileBlock, Wanted, block_at
from headwater.graph.records.compact import keep_sorted
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.recompute.large_groups import beyond_budget
from headwater.graph.trace.recompute.spec import input_of
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.tracer import sparing_session, tracer_of

_MEMORY = "512MB"  # beside the traces that are asked meanwhile; beyond it DuckDB spills
_DISK = "8GB"  # for that; what needs more is left to be found again
_SHARE = 10  # what is kept for speed alone may take this part of the bytes that it can be found from, one tenth
_LITTLE = 1 << 20  # or this many bytes

Begun = Callable[[Callable[[], None]], None]  # is given what ends, from another thread, the statement that is at work


def _alone(_: Callable[[], None]) -> None:
    """For a caller that never interrupts."""


def keep_groups(store: AssociationStore, tenant: str, capture: str, *, begun: Begun = _alone) -> int:
    """Keep the groups of a capture whose sources may change, and return the number of boundaries kept. Idempotent.

    What a trace may not find within the budget is asked for, as a trace would ask after it found it at length.
    """
    with tracer_of(store).session(tenant) as session:
        begun(session.database.interrupt)
        known = session.capture(capture)
        waiting = [boundary for boundary in known.manifest.boundaries if BoundaryRows(session, known, boundary).recomputed]
        waiting.sort(key=lambda boundary: (boundary.operator, boundary.kind != "semi"))  # the rows first that others are asked by
        kept = sum(_keep(session, known, boundary) for boundary in waiting if _may_change(session, known, boundary))
        for boundary in beyond_budget(session, known):
            store.wanted.add(Wanted(tenant, capture, boundary.boundary))
        return kept


def keep_wanted(store: AssociationStore, wanted: Wanted, *, begun: Begun = _alone) -> bool:
    """Keep all rows of a boundary that a trace took long to compute, unless they are too large. Return whether they are kept."""
    with sparing_session(store, wanted.tenant, memory=_MEMORY, max_temp_directory_size=_DISK) as session:
        begun(session.database.interrupt)
        known = session.capture(wanted.capture)
        boundary = next(boundary for boundary in known.manifest.boundaries if boundary.boundary == wanted.boundary)
        if not BoundaryRows(session, known, boundary).recomputed:
            return True
        read = sum(block.length for block in _blocks(known, boundary))
        return _keep(session, known, boundary, most_bytes=max(read // _SHARE, _LITTLE))


def _may_change(session: Session, capture: Capture, boundary: Boundary) -> bool:
    """Whether a known run wrote the files that the groups are made of."""
    return bool(session.store.catalog.writers(session.tenant, _blocks(capture, boundary)))


def _blocks(capture: Capture, boundary: Boundary) -> list[FileBlock]:
    """The source files of a boundary's groups."""
    sources = {scan.source for scan in capture.plan.scans(input_of(capture, boundary))}
    return [
        block_at(file.path, file.length, file.modified)
        for source in capture.manifest.sources
        if source.source in sources
        for file in capture.files_of(source)
    ]


def _keep(session: Session, capture: Capture, boundary: Boundary, *, most_bytes: int | None = None) -> bool:
    table = BoundaryRows(session, capture, boundary).all_if_possible()
    if table is None:
        return False  # too late: the source has changed, and traces say so
    target = session.kept(capture, boundary.boundary)
    for left in target.parent.glob(f".{target.name}.*"):
        left.unlink()  # half made, by a process that was killed
    draft = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        keep_sorted(boundary, session.database.holding(table), table, draft)
        if most_bytes is not None and draft.stat().st_size > most_bytes:
            return False
        session.store.put_table(session.tenant, capture.id, boundary.boundary, draft)
    finally:
        draft.unlink(missing_ok=True)
    return True
