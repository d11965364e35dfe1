"""The effect of MERGE on a row of its table, derived from the records of the row, and only where it is certain.

For the path of a trace. A row of the target always has a reference, so a row without one was inserted. A row with a reference to the target
only was carried over, if every row of the source has records.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.graph.associations import Behaviour
from headwater.graph.trace.links import list_datasets
from headwater.graph.trace.session import Capture, Session

_SURE = (Behaviour.SOURCE, Behaviour.KEPT)


def find_merge_action(session: Session, capture: Capture, begin: str, records_by_scan: Mapping[int, str]) -> str | None:
    """Return the effect on the rows of a table `begin`, or None if it is uncertain or not the same for all.

    `records_by_scan` are records by scan.
    """
    sink = capture.manifest.sink
    if sink is None or sink.merge is None:
        return None
    output, inputs = list_datasets(capture)
    targets = [scan for scan, dataset in inputs.items() if dataset == output]
    if len(targets) > 1:
        return None  # the source reads the table too: the target's scan is not known
    scans_with_records = {scan for scan, table in records_by_scan.items() if session.count_rows(table)}
    if not scans_with_records.intersection(targets):
        return "MERGE: inserted" if scans_with_records else None
    if scans_with_records.difference(targets):
        return _find_matched_action(capture) if session.count_rows(begin) == 1 else None
    if not _has_records(capture, targets[0]):
        return None
    changed = " or changed, as no row of the source matched" if sink.merge == "by_source" else ""
    return f"MERGE: carried over{changed}"


def _find_matched_action(capture: Capture) -> str:
    """Return the effect on a row that matched. The row may be unchanged if no clause has to apply to it."""
    is_uncertain = any(problem.kind == "superset" and problem.operator == "MergeIntoCommand" for problem in capture.manifest.problems)
    return "MERGE: matched, and updated or carried over" if is_uncertain else "MERGE: matched and updated"


def _has_records(capture: Capture, target: int) -> bool:
    """Return whether every row of the source is made from records. The sum of no rows, for example, is not."""
    for operator in capture.plan.operators.values():
        leaf = not operator.children and operator.id != target
        if (leaf and operator.behaviour not in _SURE) or (operator.behaviour is Behaviour.GROUP and not operator.keys):
            return False
    return True
