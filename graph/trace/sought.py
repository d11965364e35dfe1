"""What has to be computed of a source's records to find those of a boundary again (docs: capture format, "Derived boundaries")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headwater.graph.associations import NONE, Boundary, Operator
from headwater.graph.records.tables import value_name
from headwater.graph.trace.plan import references
from headwater.graph.trace.session import Capture
from headwater.graph.trace.translate import Translator

_MIXED = 0x3C6EF37200000000  # what a key that is one whole number is mixed with, so that no key is the reference "none"


@dataclass(frozen=True, slots=True)
class Sought:
    """The rows of a boundary, as SQL over the values `v<scan>.a<attribute>` of its one scan."""

    scan: Operator
    column: str  # the boundary's one reference
    keys: Sequence[str]
    conditions: Sequence[str]
    values: dict[str, str]  # further columns of the kept table: what a semi-join compares beyond its key
    needed: dict[int, str]  # attribute → Spark's type
    told: bool  # whether the reference to a key tells the key (matches); else it is a record that has the key (groups)

    @property
    def where(self) -> str:
        """The filters below the operator, as a WHERE."""
        return f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""

    @property
    def computed(self) -> str:
        """The columns of `values`, each after a comma."""
        return "".join(f", {value} AS {name}" for name, value in self.values.items())

    def named(self, alias: str) -> str:
        """The same, of a table that has them."""
        return "".join(f", {alias}.{name}" for name in self.values)


def sought(capture: Capture, boundary: Boundary) -> Sought:
    """What a derived boundary was made of.

    Raises:
        Untranslatable: DuckDB may compute it otherwise than Spark did.
    """
    plan = capture.plan
    column = references(boundary)[0]
    scan, operator = plan.operators[column.operator], plan.operators[boundary.operator]
    translator = Translator(plan, {column.operator: column.name})
    child = plan.children(operator)[-1]  # of a semi-join its right side
    matches = boundary.kind == "match"
    told = boundary.derived.keys if matches and boundary.derived else operator.keys
    keys = [translator.sql(key, child) for key in told]
    values = [translator.sql(value, child) for value in boundary.derived.values] if matches and boundary.derived else []
    conditions = [
        translator.sql(below.condition, plan.children(below)[0])
        for below in _down(capture, child)
        if below.op == "Filter" and below.condition is not None
    ]
    return Sought(scan, column.name, keys, conditions, _encoded(values), translator.needed.get(scan.id, {}), matches)


def key_of(reference: str) -> str:
    """The key that a reference tells, or the reference of a key: SQL, its own inverse."""
    return f"xor(CAST({reference} AS BIGINT), {_MIXED})"


def _encoded(values: Sequence[str]) -> dict[str, str]:
    """Whole numbers as they are recorded: none where null, and a bit of `nulls`."""
    if not values:
        return {}
    columns = {value_name(place): f"coalesce(CAST({value} AS BIGINT), {NONE})" for place, value in enumerate(values)}
    bits = " + ".join(f"(CASE WHEN {value} IS NULL THEN {1 << place} ELSE 0 END)" for place, value in enumerate(values))
    return columns | {"nulls": f"CAST({bits} AS BIGINT)"}


def _down(capture: Capture, operator: Operator) -> Iterator[Operator]:
    while operator.op != "Scan":
        yield operator
        operator = capture.plan.children(operator)[0]
