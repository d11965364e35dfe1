"""Derives what MERGE did to a row of its table from the records of the row.

A row of the target always has a reference to the target, so a row without one was inserted. A row that refers only to the target was not
changed, if every row of the source has records. Uncertain cases have no result.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.graph.associations import Behaviour
from headwater.graph.trace.links import list_datasets
from headwater.graph.trace.session import Capture, Session

_SURE = (Behaviour.SOURCE, Behaviour.KEPT)


def find_merge_action(session: Session, capture: Capture, begin: str, records_by_scan: Mapping[int, str]) -> str | None:
    """Return what MERGE did to the rows of a table `begin`. None if that is uncertain or differs among the rows.

    `records_by_scan` are tables of the records that each scan read for these rows.
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
    """Return the action for a row that matched. If no clause has to apply, the row may be unchanged."""
    is_uncertain = any(problem.kind == "superset" and problem.operator == "MergeIntoCommand" for problem in capture.manifest.problems)
    return "MERGE: matched, and updated or carried over" if is_uncertain else "MERGE: matched and updated"


def _has_records(capture: Capture, target: int) -> bool:
    """Return whether every row of MERGE's source is made from records. A global sum over no rows, for example, is not."""
    for operator in capture.plan.operators.values():
        leaf = not operator.children and operator.id != target
        if (leaf and operator.behaviour not in _SURE) or (operator.behaviour is Behaviour.GROUP and not operator.keys):
            return False
    return True
