"""Finds keys that share a hash. A trace then returns the records of both keys, and the answer is a superset.

Groups, partitions of a limit of ranks, and matches of semi-joins are recorded by 64-bit hashes of their keys. A second hash of each key is
recorded too (docs: capture format, role `check`). Two keys with the same first hash have different second hashes, except for one chance in
2^64.
"""

from __future__ import annotations

from headwater.graph.associations import Boundary, Operator
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.lookup import Lookup

_BY_KEY = frozenset({"group", "match", "check"})  # kept in the order of their keys


def find_collisions(session: Session, capture: Capture, operator: Operator, rows: str) -> bool:
    """Return whether a reference in the column `ref` of `rows` is the hash of two keys of the operator."""
    boundary = _find_check_boundaries(capture, operator)
    if boundary is None:
        return False
    refs = session.get_columns(rows) if boundary.kind in _BY_KEY else None
    if refs is not None and (two := Lookup(session, capture).find_second_hashes(boundary, refs)) is not None:
        return two
    query = (
        f"SELECT 1 FROM {session.query_rows(capture, boundary)} c WHERE c.key IN (SELECT ref FROM {rows}) "
        "GROUP BY c.key HAVING min(c.checked) <> max(c.checked) LIMIT 1"
    )
    return session.database.execute(query).fetchone() is not None


def report_collisions(session: Session, capture: Capture, operator: Operator, rows: str) -> bool:
    """Return whether there are collisions, and report that the answer is a superset."""
    collisions = find_collisions(session, capture, operator, rows)
    if collisions:
        session.report(operator.label, "two of its keys have the same hash; the records of both are given", "superset")
    return collisions


def _find_check_boundaries(capture: Capture, operator: Operator) -> Boundary | None:
    candidates = (capture.plan.match(operator), capture.plan.boundary(operator))
    check_boundaries = (boundary for boundary in candidates if boundary and any(column.role == "check" for column in boundary.columns))
    return next(check_boundaries, capture.plan.check(operator))
