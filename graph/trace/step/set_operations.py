"""INTERSECT ALL and EXCEPT ALL, which Spark runs as an aggregate over a union of both sides.

The aggregate counts; that is not the lineage. An intersection's row comes from all equal rows of both sides, in a witness from the first
of each; a difference's row from those of the left, in a witness from the first: the right side is an absence.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.graph.associations import NONE, Behaviour, Boundary, Operator
from headwater.graph.trace.plan import Column, Plan, references

INTERSECT, EXCEPT = "intersect all", "except all"


def is_set(operator: Operator) -> bool:
    """Whether an aggregate stands for a set operation."""
    return operator.behaviour is Behaviour.GROUP and operator.how in {INTERSECT, EXCEPT}


def sides(plan: Plan, operator: Operator, boundary: Boundary) -> list[list[Column]]:
    """The reference columns of each side that belongs to the lineage, by the branches of the union below."""
    union = next((one for one in plan.upstream(operator) if one.behaviour is Behaviour.UNION), None)
    columns = references(boundary)
    if union is None:
        return [columns]
    branches = [{one.id for one in plan.upstream(child)} for child in plan.children(union)]
    listed = [[column for column in columns if column.operator in branch] for branch in branches]
    return listed[:1] if operator.how == EXCEPT else listed


def on_side(alias: str, columns: Sequence[Column]) -> str:
    """SQL that is true for the rows of a side."""
    return " OR ".join(f"{alias}.{column.name} <> {NONE}" for column in columns) or "false"
