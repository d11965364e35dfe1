"""Finds the rows that a semi-join, an existence join or a scalar subquery matched.

A row refers to the rows of equal key. If the join has another condition too, its values were recorded on both sides, and DuckDB checks the
condition again here. If that is not possible, all rows of equal key are returned, and the answer is a superset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb

from headwater.graph.associations import NONE, Behaviour, Boundary, Expression, Operator
from headwater.graph.duck.sql import Untranslatable, decoded
from headwater.graph.trace.plan import Plan
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.translate import Translator

_BRANCHES = frozenset({"||", "or", "if", "case", "casewhen", "case_when", "coalesce"})
ROW, MATCH = "l", "m"  # the aliases of a row of the semi-join and of a row that may match it
_KEYS = f"{ROW}.key = {MATCH}.key AND {ROW}.key <> {NONE}"  # a null key matches nothing


def find_matches(session: Session, capture: Capture, operator: Operator, make: Callable[[str], str]) -> str:
    """Call `make` with the join condition, as SQL over the kept tables `l` (rows of the semi-join) and `m` (its right side)."""
    try:
        return make(_check_condition(session, capture.plan, operator))
    except Untranslatable as reason:
        _report_superset(session, operator, str(reason))
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.BinderException) as error:
        _report_superset(session, operator, str(error))
    return make(_KEYS)


def is_branch(plan: Plan, operator: Operator) -> bool:
    """Return whether an existence join is part of an OR or a CASE. A row may then not need a match."""
    if operator.behaviour is not Behaviour.MATCH:
        return False  # a scalar subquery always has a part in the row
    attributes = {column.attr for column in operator.attributes}
    defining_expressions = (definition.expr for other_operator in plan.operators.values() for definition in other_operator.defines)
    read_expressions = [
        *defining_expressions,
        *(other_operator.condition for other_operator in plan.operators.values() if other_operator.condition is not None),
    ]
    return any(part.fn in _BRANCHES and attributes & part.attrs for expression in read_expressions for part in expression.walk())


def _report_superset(session: Session, operator: Operator, reason: str) -> None:
    session.report(operator.label, f"which rows of equal keys match cannot be told: {reason}; all are given", "superset")


def _check_condition(session: Session, plan: Plan, operator: Operator) -> str:
    rows, matches = plan.boundary(operator), plan.match(operator)
    if rows is None or matches is None or rows.compared is None:
        raise Untranslatable("its values were not recorded")
    session.require_values(f"Matching rows of {operator.label} by their values")
    types = {part.attr: part.type for part in rows.compared.walk() if part.fn == "attr"}
    values = _read_values(rows, ROW, types) | _read_values(matches, MATCH, types)
    return f"{_KEYS} AND {_RecordedTranslator(plan, values).translate(rows.compared, operator)}"


def _read_values(boundary: Boundary, alias: str, types: Mapping[int | None, str | None]) -> dict[int, str]:
    attributes = [column.attr for column in boundary.columns if column.role == "value"]
    return {
        attr: f"(CASE WHEN ({alias}.nulls >> {place}) & 1 = 0 THEN {decoded(f'{alias}.v{place}', types.get(attr))} END)"
        for place, attr in enumerate(attributes)
        if attr is not None
    }


class _RecordedTranslator(Translator):
    """Translates an expression whose attributes are recorded values."""

    def __init__(self, plan: Plan, values: Mapping[int, str]) -> None:
        super().__init__(plan, {})
        self._values = values

    def _translate_attribute(self, attr: int, operator: Operator, expression: Expression) -> str:
        if attr not in self._values:
            return super()._translate_attribute(attr, operator, expression)
        return self._values[attr]
