"""What MERGE did to a row of its table: told by what the row is made of, and only where that is sure.

For the path of a trace. A row of the target always has a reference, so what has none was inserted. A row that has one of the target alone
was carried over, if no row of the source could be without records.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.graph.associations import Behaviour
from headwater.graph.trace.links import datasets_of
from headwater.graph.trace.session import Capture, Session

_SURE = (Behaviour.SOURCE, Behaviour.KEPT)


def merged(session: Session, capture: Capture, begin: str, reached: Mapping[int, str]) -> str | None:
    """What happened to the rows of a table `begin`; None where that is not sure, or not the same for all. `reached` are records by scan."""
    sink = capture.manifest.sink
    if sink is None or sink.merge is None:
        return None
    output, inputs = datasets_of(capture)
    targets = [scan for scan, dataset in inputs.items() if dataset == output]
    if len(targets) > 1:
        return None  # the source reads the table, too: which of the scans is the target is not told
    there = {scan for scan, table in reached.items() if session.count(table)}
    if not there.intersection(targets):
        return "MERGE: inserted" if there else None
    if there.difference(targets):
        return _matched(capture) if session.count(begin) == 1 else None
    if not _has_records(capture, targets[0]):
        return None
    changed = " or changed, as no row of the source matched" if sink.merge == "by_source" else ""
    return f"MERGE: carried over{changed}"


def _matched(capture: Capture) -> str:
    """Of a row that matched: where no clause need take it, it may be as it was."""
    unsure = any(problem.kind == "superset" and problem.operator == "MergeIntoCommand" for problem in capture.manifest.problems)
    return "MERGE: matched, and updated or carried over" if unsure else "MERGE: matched and updated"


def _has_records(capture: Capture, target: int) -> bool:
    """Whether every row of the source is made of records: no part of it is made of nothing, as the sum of no rows is."""
    for operator in capture.plan.operators.values():
        leaf = not operator.children and operator.id != target
        if (leaf and operator.behaviour not in _SURE) or (operator.behaviour is Behaviour.GROUP and not operator.keys):
            return False
    return True
