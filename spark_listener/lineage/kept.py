"""Column lineage of rows that the program keeps, or takes out of Spark's sight: checkpoints, and DataFrames made of RDDs.

A later query knows such rows by their attributes alone. What they are made of is worked out when they are made, so that a program that
checkpoints in a loop keeps no plan of an earlier round. Through an RDD any column may have become any other; the steps say so (`opaque`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headwater.spark_listener.lineage.columns import Field, Step, column_lineage

Steps = Mapping[Field, frozenset[Step]]
_MOST = 10_000  # attributes
_UNKNOWN: Field = ("", "", "")  # stands among what a column is made of where the plan was too large to follow it


@dataclass(frozen=True, slots=True)
class Made:
    """Rows: of what each column is made, by its place, and what decides about rows."""

    columns: Sequence[Steps]
    rows: Steps

    def opaque(self) -> Steps:
        """What any column may be made of that a function makes of these."""
        return merged([*({at: _opaque(steps) for at, steps in column.items()} for column in self.columns)])


@dataclass(slots=True)
class KeptColumns:
    """By attribute. `within` puts what is known into the description of a plan that reads them."""

    _known: dict[int, tuple[Steps, Steps]] = field(default_factory=dict)

    def of_plan(self, plan: Mapping[str, Any]) -> Made:
        """What the rows are made of that a plan gives."""
        from headwater.spark_listener.lineage.datasets import sources_of  # not before the first one: most programs keep nothing

        plan = self.within(plan)
        output = [{"name": place, "attr": column["attr"]} for place, column in enumerate(plan.get("output") or ())]
        found = column_lineage({**plan, "sink": {"columns": output}}, sources_of(plan))
        if found.too_large:
            return Made([{_UNKNOWN: frozenset()}] * len(output), {})
        return Made([found.columns[column["name"]] for column in output], found.dataset)

    def keep(self, attributes: Iterable[int], columns: Iterable[Steps], rows: Steps) -> None:
        """The program goes on with these attributes, each made of what stands at its place."""
        if len(self._known) < _MOST:
            self._known.update({attribute: (column, rows) for attribute, column in zip(attributes, columns, strict=False)})

    def within(self, plan: Mapping[str, Any]) -> Mapping[str, Any]:
        """The plan, its leaves with what is known of the attributes that they read."""
        if not self._known:
            return plan
        operators = [self._leaf(operator) for operator in plan.get("operators") or ()]
        if any(_UNKNOWN in made for operator in operators for made in (operator.get("kept") or {}).values()):
            return {**plan, "left_out": True}
        return {**plan, "operators": operators}

    def _leaf(self, operator: Mapping[str, Any]) -> Mapping[str, Any]:
        if operator.get("children") or operator.get("source") is not None:
            return operator
        attributes = [column["attr"] for column in operator.get("columns") or ()]
        known = {attribute: self._known[attribute] for attribute in attributes if attribute in self._known}
        if not known:
            return operator
        return {
            **operator,
            "kept": {attribute: columns for attribute, (columns, _) in known.items()},
            "kept_rows": merged([rows for _, rows in known.values()]),
        }


def merged(all_steps: Iterable[Steps]) -> Steps:
    """The steps of several, put together."""
    found: dict[Field, frozenset[Step]] = {}
    for steps in all_steps:
        for at, known in steps.items():
            found[at] = found.get(at, frozenset()) | known
    return found


def _opaque(steps: frozenset[Step]) -> frozenset[Step]:
    return frozenset(replace(step, subtype="TRANSFORMATION" if step.subtype == "IDENTITY" else step.subtype, opaque=True) for step in steps)
