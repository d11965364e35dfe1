"""The input of an operator whose rows are computed again, as one relation of DuckDB (docs: capture format, "Derived boundaries").

It is made of scans, and of filters, projections and joins (inner, left outer, semi, anti) over them. Each scan is a table `v<operator>`
with `ref` and the columns `a<attribute>`; whoever uses the relation defines these tables.
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
    """A relation in SQL: `sql` goes into a FROM, `conditions` into its WHERE. `scans` are all sources that it reads."""

    sql: str
    conditions: Sequence[str]
    scans: Sequence[Operator]

    @property
    def where(self) -> str:
        """The conditions, with WHERE."""
        return f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


class RelationTranslator(Translator):
    """Translates expressions over a `Relation`."""

    def __init__(self, plan: Plan, scans: Sequence[Operator]) -> None:
        super().__init__(plan, {scan.id: "ref" for scan in scans})

    def _present(self, side: Operator) -> list[str]:
        return [f"v{scan.id}.ref IS NOT NULL" for scan in self._plan.scans(side)]


def relation_of(plan: Plan, translator: Translator, operator: Operator) -> Relation:
    """Return the rows of an operator as a relation.

    Raises:
        Untranslatable: DuckDB may compute them otherwise than Spark did.
    """
    does = operator.behaviour
    if does is Behaviour.SOURCE:
        return Relation(f"v{operator.id}", (), (operator,))
    inputs = [relation_of(plan, translator, child) for child in plan.children(operator)]
    scans = [scan for part in inputs for scan in part.scans]
    if does is Behaviour.DEFINES and len(inputs) == 1:
        return inputs[0]
    if does is Behaviour.FILTER and len(inputs) == 1 and operator.condition is not None:
        kept = translator.sql(operator.condition, plan.children(operator)[0])
        return Relation(inputs[0].sql, [*inputs[0].conditions, kept], scans)
    if operator.condition is None or len(inputs) != 2:
        raise Untranslatable(operator.label)
    condition = translator.condition(operator)
    if does is Behaviour.JOIN and not operator.optional:
        return Relation(f"({inputs[0].sql} JOIN {inputs[1].sql} ON {condition})", [*inputs[0].conditions, *inputs[1].conditions], scans)
    if does is Behaviour.JOIN and operator.optional == (1,):
        on = " AND ".join([condition, *inputs[1].conditions])  # what the right side lacks leaves the row of the left
        return Relation(f"({inputs[0].sql} LEFT JOIN {inputs[1].sql} ON {on})", inputs[0].conditions, scans)
    if does in _EXISTS and not operator.optional:
        matches = Relation(inputs[1].sql, [*inputs[1].conditions, condition], inputs[1].scans)
        kept = f"{_EXISTS[does]} (SELECT 1 FROM {matches.sql}{matches.where})"
        return Relation(inputs[0].sql, [*inputs[0].conditions, kept], scans)
    raise Untranslatable(operator.label)
