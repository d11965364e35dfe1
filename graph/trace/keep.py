"""Keeping groups that were left to the trace, while their source is still there.

For the service, off the user's time. Files that a known run wrote may be written again by its next run, and then the groups over them
could not be found again: so these are found now, and kept as if the job had written them. Over files that nobody known writes nothing
is kept, as nothing says that they will change.
"""

from __future__ import annotations

from uuid import uuid4

from headwater.graph.associations import Boundary
from headwater.graph.records import AssociationStore, FileBlock, uri_of
from headwater.graph.records.compact import keep_sorted
from headwater.graph.records.files import sync
from headwater.graph.trace.derive import all_groups, is_derived
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.sought import below
from headwater.graph.trace.tracer import tracer_of


def keep_groups(store: AssociationStore, tenant: str, capture: str) -> int:
    """Keep what may get lost of one capture; the number of boundaries that were kept. Doing it again changes nothing."""
    with tracer_of(store).session(tenant) as session:
        known = session.capture(capture)
        waiting = [boundary for boundary in known.manifest.boundaries if is_derived(session, known, boundary)]
        waiting.sort(key=lambda boundary: (boundary.operator, boundary.kind != "semi"))  # the rows first that others are asked by
        return sum(_keep(session, known, boundary) for boundary in waiting if _may_change(session, known, boundary))


def _may_change(session: Session, capture: Capture, boundary: Boundary) -> bool:
    """Whether a known run wrote what the groups are made of."""
    sources = {operator.source for operator in capture.plan.below(below(capture, boundary)) if operator.op == "Scan"}
    blocks = [
        FileBlock(uri_of(file.path), file.length, file.modified)
        for source in capture.manifest.sources
        if source.source in sources
        for file in source.files
    ]
    return bool(session.store.catalog.writers(session.tenant, blocks))


def _keep(session: Session, capture: Capture, boundary: Boundary) -> bool:
    table = all_groups(session, capture, boundary)
    if table is None:
        return False  # too late: the source has changed, and traces say so
    target = session.kept(capture, boundary.boundary)
    draft = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        keep_sorted(boundary, session.database.holding(table), table, draft)
        draft.rename(target)
        sync(target.parent)
    finally:
        draft.unlink(missing_ok=True)
    return True
