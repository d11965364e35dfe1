"""What has to be computed of the records of sources to find those of a boundary again (docs: capture format, "Derived boundaries")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.associations import NONE, Behaviour, Boundary, Expression, Operator
from headwater.graph.records.tables import value_name
from headwater.graph.trace.database.sql import Untranslatable
from headwater.graph.trace.plan import Column, references
from headwater.graph.trace.recomputed.relation import Again, Relation, relation_of
from headwater.graph.trace.session import Capture
from headwater.graph.trace.translate import Translator

_MIXED = 0x3C6EF37200000000  # what a key that is one whole number is mixed with, so that no key is the reference "none"
_NULL = 0x5DEECE66D1CE4E5B  # what stands for a key that is null


@dataclass(frozen=True, slots=True)
class Sought:
    """The rows of a boundary, as SQL over the values `v<scan>.a<attribute>` of its scans."""

    relation: Relation
    columns: Mapping[str, str]  # the boundary's references, by the names that the kept table has
    keys: Sequence[str]
    values: Mapping[str, str]  # further columns of the kept table: what a semi-join compares beyond its key
    needed: Mapping[int, Mapping[int, str]]  # scan → attribute → Spark's type
    told: bool  # whether the reference to a key tells the key; else a record, or what was written of the group, does

    @property
    def references(self) -> str:
        """The columns of references, in a SELECT."""
        return ", ".join(f"{value} AS {name}" for name, value in self.columns.items())

    @property
    def computed(self) -> str:
        """The columns of `values`, each after a comma."""
        return "".join(f", {value} AS {name}" for name, value in self.values.items())

    @property
    def keyed(self) -> str:
        """The keys, each after a comma."""
        return "".join(f", {key} AS {key_name(place)}" for place, key in enumerate(self.keys))


def key_name(place: int) -> str:
    """The column of a key."""
    return f"k{place}"


def sought(capture: Capture, boundary: Boundary) -> Sought:
    """What a derived boundary was made of.

    Raises:
        Untranslatable: DuckDB may compute it otherwise than Spark did.
    """
    plan = capture.plan
    operator, child = plan.operators[boundary.operator], below(capture, boundary)
    scans = plan.scans(child)
    translator = Again(plan, scans)
    derived = boundary.derived
    keys = [translator.sql(key, child) for key in keys_of(boundary, operator)]
    values = [translator.sql(value, child) for value in derived.values] if derived else []
    columns = {column.name: _reference(capture, translator, column) for column in references(boundary)}
    relation = relation_of(plan, translator, child)
    told = boundary.kind != "group" or (derived is not None and derived.told)
    return Sought(relation, columns, keys, _encoded(values), translator.needed, told)


def below(capture: Capture, boundary: Boundary) -> Operator:
    """What the rows of a derived boundary are rows of: of matches the right side of the semi-join."""
    return capture.plan.children(capture.plan.operators[boundary.operator])[-1 if boundary.kind == "match" else 0]


def keys_of(boundary: Boundary, operator: Operator) -> Sequence[Expression]:
    """What makes the keys of a derived boundary."""
    return boundary.derived.keys if boundary.derived and boundary.kind != "group" else operator.keys


def _reference(capture: Capture, translator: Translator, column: Column) -> str:
    """What a row has in a column of references: to a record; to what a semi-join matches, by its key; to its row, by the record of that."""
    plan, operator = capture.plan, capture.plan.operators[column.operator]
    if operator.behaviour is Behaviour.SOURCE:
        return f"coalesce(v{operator.id}.ref, {NONE})"  # of a side that an outer join may lack
    rows, matches = plan.boundary(operator), plan.match(operator)
    if rows is not None:
        return f"v{references(rows)[0].operator}.ref"
    if matches is None or matches.derived is None or len(matches.derived.left) != 1:
        raise Untranslatable(operator.label)
    return reference_to(translator.sql(matches.derived.left[0], plan.children(operator)[0]))


def key_of(reference: str) -> str:
    """The key that is one whole number and that a reference tells; or the reference of such a key that is not null."""
    return f"xor(CAST({reference} AS BIGINT), {_MIXED})"


def reference_to(key: str) -> str:
    """The reference to the matches of a key: the inverse. No error but of the one key that cannot be told from no record."""
    said = f"a key is {NONE ^ _MIXED}, which cannot be told from no record"
    return f"(CASE WHEN {key} = {NONE ^ _MIXED} THEN error('{said}') ELSE {key_of(key)} END)"


def group_of(reference: str) -> str:
    """The key of a group, which may be null."""
    return f"nullif({key_of(reference)}, {_NULL})"


def reference_of(key: str) -> str:
    """The reference to a group by its key: the inverse."""
    return key_of(f"coalesce({key}, {_NULL})")


def _encoded(values: Sequence[str]) -> dict[str, str]:
    """Whole numbers as they are recorded: none where null, and a bit of `nulls`."""
    if not values:
        return {}
    columns = {value_name(place): f"coalesce(CAST({value} AS BIGINT), {NONE})" for place, value in enumerate(values)}
    bits = " + ".join(f"(CASE WHEN {value} IS NULL THEN {1 << place} ELSE 0 END)" for place, value in enumerate(values))
    return columns | {"nulls": f"CAST({bits} AS BIGINT)"}
