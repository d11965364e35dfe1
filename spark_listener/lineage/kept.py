"""Column lineage of rows that leave a plan: checkpoints, DataFrames made from RDDs, batches of streams.

A later query refers to such rows by their attributes only. Their lineage is computed when they are made, so that a program that checkpoints
in a loop keeps no earlier plan. An RDD may mix all columns; such steps are `opaque`.

The plan of a batch is known at the end of the batch. Until then the lineage of its rows names their attributes (`ROWS`), which are replaced
afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headwater.spark_listener.lineage.columns import ROWS, Field, Step, column_lineage, compose

Steps = Mapping[Field, frozenset[Step]]
_MOST = 10_000  # attributes
_SAME = frozenset({Step("DIRECT", "IDENTITY")})
UNKNOWN: Field = ("", "", "")  # a source of columns in plans that were too large to follow


@dataclass(frozen=True, slots=True)
class RowSources:
    """The sources of each column of some rows, by position, and the fields that decide about rows."""

    columns: Sequence[Steps]
    rows: Steps

    def opaque(self) -> Steps:
        """Return the sources of any column that a function makes from these columns."""
        return merged([*({at: _opaque(steps) for at, steps in column.items()} for column in self.columns)])


@dataclass(slots=True)
class KeptColumns:
    """The lineage of rows that left a plan, by attribute. `within` adds it to the description of a plan that reads them."""

    _known: dict[int, tuple[Steps, Steps]] = field(default_factory=dict)

    def of_plan(self, plan: Mapping[str, Any]) -> RowSources:
        from headwater.spark_listener.lineage.datasets import sources_of  # loaded on demand: most programs keep no rows

        plan = self.within(plan)
        output = [{"name": place, "attr": column["attr"]} for place, column in enumerate(plan.get("output") or ())]
        found = column_lineage({**plan, "sink": {"columns": output}}, sources_of(plan))
        if found.too_large:
            return RowSources([{UNKNOWN: frozenset()}] * len(output), {})
        return RowSources([found.columns[column["name"]] for column in output], found.dataset)

    def keep(self, attributes: Iterable[int], columns: Iterable[Steps], rows: Steps) -> None:
        """Store the sources of some attributes, by position."""
        for attribute, column in zip(attributes, columns, strict=False):
            is_itself = (ROWS, str(attribute), "") in column  # the rows of a checkpoint have the attributes of its plan
            if not is_itself and (len(self._known) < _MOST or attribute in self._known):
                self._known[attribute] = (column, rows)

    def awaits(self, plan: Mapping[str, Any]) -> bool:
        """Return whether a plan reads rows whose origin is not known yet."""
        rows = [self._leaf(operator).get("kept", {}) for operator in plan.get("operators") or () if _is_of_unknown_rows(operator)]
        return any(namespace == ROWS for kept in rows for made in kept.values() for namespace, _, _ in made)

    def within(self, plan: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the plan with the stored lineage of attributes at its leaves."""
        operators = [self._leaf(operator) for operator in plan.get("operators") or ()]
        if any(UNKNOWN in made for operator in operators for made in (operator.get("kept") or {}).values()):
            return {**plan, "left_out": True}
        return {**plan, "operators": operators}

    def _leaf(self, operator: Mapping[str, Any]) -> Mapping[str, Any]:
        if operator.get("children") or operator.get("source") is not None:
            return operator
        attributes = [column["attr"] for column in operator.get("columns") or ()]
        known = {attribute: self._resolve(*self._known[attribute]) for attribute in attributes if attribute in self._known}
        kept = {attribute: columns for attribute, (columns, _) in known.items()}
        if _is_of_unknown_rows(operator):
            kept |= {attribute: {(ROWS, str(attribute), ""): _SAME} for attribute in attributes if attribute not in known}
        if not kept:
            return operator
        return {**operator, "kept": kept, "kept_rows": merged([rows for _, rows in known.values()])}

    def _resolve(self, column: Steps, rows: Steps, above: frozenset[str] = frozenset()) -> tuple[Steps, Steps]:
        read = {name for fields in (column, rows) for namespace, name, _ in fields if namespace == ROWS} - above
        below = {name: self._resolve(*self._known[int(name)], above | read) for name in read if int(name) in self._known}
        if not below:
            return column, rows
        columns = {name: made for name, (made, _) in below.items()}
        return _replaced(column, columns), merged([_replaced(rows, columns), *(more for _, more in below.values())])


def _is_of_unknown_rows(operator: Mapping[str, Any]) -> bool:
    """Return whether an operator reads an RDD that is not the program's own rows. The plan does not show the RDD's origin."""
    return operator.get("op") == "LogicalRDD" and not operator.get("own")


def _replaced(fields: Steps, known: Mapping[str, Steps]) -> Steps:
    found: list[Steps] = []
    for (namespace, name, path), steps in fields.items():
        if namespace != ROWS or name not in known:
            found.append({(namespace, name, path): steps})
            continue
        for (of, dataset, column), made in known[name].items():
            within = path if made == _SAME else ""  # a field is followed only within an unchanged column
            found.append({(of, dataset, f"{column}{within}"): frozenset(compose(one, then) for one in made for then in steps)})
    return merged(found)


def merged(all_steps: Iterable[Steps]) -> Steps:
    found: dict[Field, frozenset[Step]] = {}
    for steps in all_steps:
        for at, known in steps.items():
            found[at] = found.get(at, frozenset()) | known
    return found


def _opaque(steps: frozenset[Step]) -> frozenset[Step]:
    return frozenset(replace(step, subtype="TRANSFORMATION" if step.subtype == "IDENTITY" else step.subtype, opaque=True) for step in steps)
