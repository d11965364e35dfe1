"""The order that defines the "first" row of a group.

Sources are ordered by path, then position; joined rows from left to right; derived rows by their first source record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headwater.graph.associations import NONE, Behaviour
from headwater.graph.associations.references import POSITION_MASK
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.records.decode import Longs
from headwater.graph.records.lists import SourceFiles
from headwater.graph.trace.plan import Column, list_names, list_references
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.lookup import Lookup

_LAST = 2**63 - 1


def make_order(session: Session, capture: Capture, columns: Sequence[Column], rows: str, alias: str) -> tuple[list[str], str]:
    """Return SQL keys that order the references in `rows`, and the joins that these keys need. A key is null for a missing reference.

    There is a key for each of `list_placing_columns(columns)`. A joined match or a subquery's row does not change the place of a row.
    """
    keys, joins = [], ""
    for column in list_placing_columns(capture, columns):
        value = f"{alias}.{column.name}"
        operator = capture.plan.operators[column.operator]
        if operator.behaviour is Behaviour.SOURCE:
            keys.append(_rank_by_path(capture.files_of(capture.source(operator.source)), value))
            continue
        wanted_references = session.make_table(f"SELECT DISTINCT {column.name} AS ref FROM {rows} WHERE {column.name} <> {NONE}")
        joins += (
            f" LEFT JOIN {_find_first_records(session, capture, column, wanted_references)} k{column.name} ON k{column.name}.ref = {value}"
        )
        keys.append(f"k{column.name}.first")
    return keys, joins


def list_placing_columns(capture: Capture, columns: Sequence[Column]) -> list[Column]:
    """Return the columns that refer to rows or groups. References to matches and to rows of subqueries are left out."""
    return [column for column in columns if capture.plan.has_own_rows(capture.plan.operators[column.operator])]


def _find_first_records(session: Session, capture: Capture, column: Column, wanted_references: str) -> str:
    """Return a table `ref, first` of the derived rows of an operator. `first` is the list of order keys of the first source record."""
    operator = capture.plan.operators[column.operator]
    boundary = capture.plan.boundary(operator)
    if boundary is None:
        return session.make_table(f"SELECT ref, [ref] AS first FROM {wanted_references}")
    inner = list_references(boundary)
    key_column = "key" if boundary.kind == "group" else "ref"
    rows = Lookup(session, capture).find_groups(boundary, wanted_references, list_names(inner), by=key_column)
    keys, joins = make_order(session, capture, inner, rows, "i")
    lists = [_make_sort_keys(capture, entry, key) for entry, key in zip(list_placing_columns(capture, inner), keys, strict=True)]
    return session.make_table(f"SELECT i.grp AS ref, min({' || '.join(lists) or '[]'}) AS first FROM {rows} i{joins} GROUP BY i.grp")


def _make_sort_keys(capture: Capture, column: Column, key: str) -> str:
    if capture.plan.operators[column.operator].behaviour is Behaviour.SOURCE:
        return f"[coalesce({key}, {_LAST})]"
    return f"coalesce({key}, [{_LAST}])"


def make_order_in_memory(capture: Capture, columns: Sequence[Column], rows: Columns) -> list[Longs] | None:
    """Return the order keys of rows in memory. None if references alone do not determine the order."""
    keys: list[Longs] = []
    for column in list_placing_columns(capture, columns):
        operator = capture.plan.operators[column.operator]
        if operator.behaviour is not Behaviour.SOURCE or not capture.files_of(capture.source(operator.source)).by_path:
            return None
        keys.append(np.where(rows[column.name] >= 0, rows[column.name], _LAST))
    return keys


def _rank_by_path(files: SourceFiles, value: str) -> str:
    """Return SQL that ranks references by the path of their file. Ordinals follow the paths within one listing only."""
    if files.by_path:
        return f"CASE WHEN {value} >= 0 THEN {value} END"
    ordered_files = sorted(files, key=lambda file: file.path)
    ordinals = [file.ordinal + step for file in ordered_files for step in range(file.ordinals)]
    return f"CASE WHEN {value} >= 0 THEN (list_position({ordinals}, {value} >> 40)::BIGINT << 40) | ({value} & {POSITION_MASK}) END"
