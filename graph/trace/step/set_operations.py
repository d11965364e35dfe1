"""Lineage through INTERSECT ALL and EXCEPT ALL, which Spark runs as an aggregate over a union of both sides.

The aggregate only counts, so it is not the lineage. A row of an intersection comes from all equal rows of both sides, for a witness from
the first of each side. A row of a difference comes from the equal rows of the left side, for a witness from the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.graph.associations import NONE, Behaviour, Boundary, Operator
from headwater.graph.trace.plan import Column, Plan, list_references

INTERSECT, EXCEPT = "intersect all", "except all"


def is_set_operation(operator: Operator) -> bool:
    return operator.behaviour is Behaviour.GROUP and operator.how in {INTERSECT, EXCEPT}


def split_sides(plan: Plan, operator: Operator, boundary: Boundary) -> list[list[Column]]:
    """Return the reference columns of each side that belongs to the lineage. The right side of EXCEPT ALL does not."""
    union = next((upper_operator for upper_operator in plan.upstream(operator) if upper_operator.behaviour is Behaviour.UNION), None)
    columns = list_references(boundary)
    if union is None:
        return [columns]
    branches = [{upper_operator.id for upper_operator in plan.upstream(child)} for child in plan.children(union)]
    columns_by_branch = [[column for column in columns if column.operator in branch] for branch in branches]
    return columns_by_branch[:1] if operator.how == EXCEPT else columns_by_branch


def select_side(alias: str, columns: Sequence[Column]) -> str:
    """Return an SQL condition that is true for rows of one side."""
    return " OR ".join(f"{alias}.{column.name} <> {NONE}" for column in columns) or "false"
