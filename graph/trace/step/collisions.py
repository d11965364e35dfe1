"""Finds keys that share a hash: the records of both are given, and the answer says so.

Groups, the partitions of a limit of ranks and the matches of semi-joins are recorded by 64-bit hashes of their keys. A second hash of each
key was recorded beside (docs: capture format, role `check`); two keys of one hash differ in it, but for one chance in 2^64.
"""

from __future__ import annotations

from headwater.graph.associations import Boundary, Operator
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.lookup import Lookup

_BY_KEY = frozenset({"group", "match", "check"})  # kept in the order of their keys


def collided(session: Session, capture: Capture, operator: Operator, rows: str) -> bool:
    """Whether a hash among the references in `rows` (a table with the column `ref`) to an operator stands for two keys."""
    boundary = _checked(capture, operator)
    if boundary is None:
        return False
    refs = session.columns(rows) if boundary.kind in _BY_KEY else None
    if refs is not None and (two := Lookup(session, capture).second_hashes(boundary, refs)) is not None:
        return two
    query = (
        f"SELECT 1 FROM {session.rows(capture, boundary)} c WHERE c.key IN (SELECT ref FROM {rows}) "
        "GROUP BY c.key HAVING min(c.checked) <> max(c.checked) LIMIT 1"
    )
    return session.database.execute(query).fetchone() is not None


def say_collided(session: Session, capture: Capture, operator: Operator, rows: str) -> bool:
    """Like `collided`; adds to the answer that it is a superset."""
    found = collided(session, capture, operator, rows)
    if found:
        session.say(operator.label, "two of its keys have the same hash; the records of both are given", "superset")
    return found


def _checked(capture: Capture, operator: Operator) -> Boundary | None:
    """Return the boundary that has the second hashes: the check boundary of an aggregate, else that of the rows."""
    known = (capture.plan.match(operator), capture.plan.boundary(operator))
    own = (boundary for boundary in known if boundary and any(column.role == "check" for column in boundary.columns))
    return next(own, capture.plan.check(operator))
