"""The input of an operator as a DuckDB query, to compute its rows again (docs: capture format, "Derived boundaries").

The query has scans, and filters, projections and joins (inner, left outer, semi, anti) over them. Each scan is a table `v<operator>` with
`ref` and the columns `a<attribute>`. The caller defines these tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.graph.associations import Behaviour, Operator
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.trace.plan import Plan
from headwater.graph.trace.translate import Translator

_EXISTS = {Behaviour.MATCH: "EXISTS", Behaviour.ABSENCE: "NOT EXISTS"}


@dataclass(frozen=True, slots=True)
class Relation:
    """A query in parts: `sql` goes into the FROM clause, `conditions` go into WHERE. `scans` are all sources that it reads."""

    sql: str
    conditions: Sequence[str]
    scans: Sequence[Operator]

    @property
    def format_conditions(self) -> str:
        return f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


class RelationTranslator(Translator):
    """Translates Spark expressions over a `Relation` to DuckDB."""

    def __init__(self, plan: Plan, scans: Sequence[Operator]) -> None:
        super().__init__(plan, {scan.id: "ref" for scan in scans})

    def _list_presence_conditions(self, side: Operator) -> list[str]:
        return [f"v{scan.id}.ref IS NOT NULL" for scan in self._plan.scans(side)]


def make_relation(plan: Plan, translator: Translator, operator: Operator) -> Relation:
    """Return the DuckDB query that computes the rows of an operator.

    Raises:
        Untranslatable: DuckDB may compute other rows than Spark did.
    """
    behaviour = operator.behaviour
    if behaviour is Behaviour.SOURCE:
        return Relation(f"v{operator.id}", (), (operator,))
    inputs = [make_relation(plan, translator, child) for child in plan.children(operator)]
    scans = [scan for part in inputs for scan in part.scans]
    if behaviour is Behaviour.DEFINES and len(inputs) == 1:
        return inputs[0]
    if behaviour is Behaviour.FILTER and len(inputs) == 1 and operator.condition is not None:
        filter_condition = translator.translate(operator.condition, plan.children(operator)[0])
        return Relation(inputs[0].sql, [*inputs[0].conditions, filter_condition], scans)
    if operator.condition is None or len(inputs) != 2:
        raise Untranslatable(operator.label)
    condition = translator.translate_condition(operator)
    if behaviour is Behaviour.JOIN and not operator.optional:
        return Relation(f"({inputs[0].sql} JOIN {inputs[1].sql} ON {condition})", [*inputs[0].conditions, *inputs[1].conditions], scans)
    if behaviour is Behaviour.JOIN and operator.optional == (1,):
        join_condition = " AND ".join([condition, *inputs[1].conditions])  # without a row on the right, the left row stays
        return Relation(f"({inputs[0].sql} LEFT JOIN {inputs[1].sql} ON {join_condition})", inputs[0].conditions, scans)
    if behaviour in _EXISTS and not operator.optional:
        matches = Relation(inputs[1].sql, [*inputs[1].conditions, condition], inputs[1].scans)
        filter_condition = f"{_EXISTS[behaviour]} (SELECT 1 FROM {matches.sql}{matches.format_conditions})"
        return Relation(inputs[0].sql, [*inputs[0].conditions, filter_condition], scans)
    raise Untranslatable(operator.label)
