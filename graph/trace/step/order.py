"""The order of "first": source records by path, then position; joined rows left to right; derived rows by their first source record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headwater.graph.associations import NONE, Behaviour
from headwater.graph.associations.references import POSITION_MASK
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.records.decode import Longs
from headwater.graph.records.lists import SourceFiles
from headwater.graph.trace.plan import Column, names, references
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.lookup import Lookup

_LAST = 2**63 - 1


def order_of(session: Session, capture: Capture, columns: Sequence[Column], rows: str, alias: str) -> tuple[list[str], str]:
    """SQL keys by which the references in `rows` order, null for none, and the joins that these keys need.

    A key for each of `placed(columns)`: what joins a row (a match, a subquery's row) gives it no other place.
    """
    keys, joins = [], ""
    for column in placed(capture, columns):
        value = f"{alias}.{column.name}"
        operator = capture.plan.operators[column.operator]
        if operator.behaviour is Behaviour.SOURCE:
            keys.append(_by_path(capture.files_of(capture.source(operator.source)), value))
            continue
        wanted = session.table(f"SELECT DISTINCT {column.name} AS ref FROM {rows} WHERE {column.name} <> {NONE}")
        joins += f" LEFT JOIN {_first_records(session, capture, column, wanted)} k{column.name} ON k{column.name}.ref = {value}"
        keys.append(f"k{column.name}.first")
    return keys, joins


def placed(capture: Capture, columns: Sequence[Column]) -> list[Column]:
    """The columns that name rows, not matches or a subquery's row."""
    return [column for column in columns if capture.plan.has_own_rows(capture.plan.operators[column.operator])]


def _first_records(session: Session, capture: Capture, column: Column, wanted: str) -> str:
    """A table `ref, first`: for each derived row of an operator the keys of its first source record, as a list."""
    operator = capture.plan.operators[column.operator]
    boundary = capture.plan.boundary(operator)
    if boundary is None:
        return session.table(f"SELECT ref, [ref] AS first FROM {wanted}")
    inner = references(boundary)
    own = "key" if boundary.kind == "group" else "ref"
    rows = Lookup(session, capture).grouped(boundary, wanted, names(inner), by=own)
    keys, joins = order_of(session, capture, inner, rows, "i")
    lists = [_as_list(capture, entry, key) for entry, key in zip(placed(capture, inner), keys, strict=True)]
    return session.table(f"SELECT i.grp AS ref, min({' || '.join(lists) or '[]'}) AS first FROM {rows} i{joins} GROUP BY i.grp")


def _as_list(capture: Capture, column: Column, key: str) -> str:
    if capture.plan.operators[column.operator].behaviour is Behaviour.SOURCE:
        return f"[coalesce({key}, {_LAST})]"
    return f"coalesce({key}, [{_LAST}])"


def order_in_memory(capture: Capture, columns: Sequence[Column], rows: Columns) -> list[Longs] | None:
    """Like `order_of`, for rows in memory; None if references alone do not give the order."""
    keys: list[Longs] = []
    for column in placed(capture, columns):
        operator = capture.plan.operators[column.operator]
        if operator.behaviour is not Behaviour.SOURCE or not capture.files_of(capture.source(operator.source)).by_path:
            return None
        keys.append(np.where(rows[column.name] >= 0, rows[column.name], _LAST))
    return keys


def _by_path(files: SourceFiles, value: str) -> str:
    """Ordinals follow the paths within one listing; where several listings mixed them, the paths are put in order here."""
    if files.by_path:
        return f"CASE WHEN {value} >= 0 THEN {value} END"
    ordered = sorted(files, key=lambda file: file.path)
    ordinals = [file.ordinal + step for file in ordered for step in range(file.ordinals)]
    return f"CASE WHEN {value} >= 0 THEN (list_position({ordinals}, {value} >> 40)::BIGINT << 40) | ({value} & {POSITION_MASK}) END"
