"""The SQL that computes the rows of a boundary again from its sources (docs: capture format, "Derived boundaries")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.associations import NONE, Behaviour, Boundary, Expression, Operator
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.records.tables import value_name
from headwater.graph.trace.plan import Column, list_references
from headwater.graph.trace.recompute.relation import Relation, RelationTranslator, make_relation
from headwater.graph.trace.session import Capture
from headwater.graph.trace.translate import Translator

_MIXED = 0x3C6EF37200000000  # an integer key is mixed with this value, so that no usual key is the reference "none"
_NULL = 0x5DEECE66D1CE4E5B  # represents a null key


@dataclass(frozen=True, slots=True)
class RecomputeSpec:
    """The rows of a boundary, as SQL over the values `v<scan>.a<attribute>` of its scans."""

    relation: Relation
    columns: Mapping[str, str]  # the boundary's references, under the names in the kept table
    keys: Sequence[str]
    values: Mapping[str, str]  # other columns of the kept table: values that a semi-join compares in addition to its key
    needed: Mapping[int, Mapping[int, str]]  # scan → attribute → Spark's type
    key_in_reference: bool  # else a record of the group, or its check boundary, has the key

    @property
    def references(self) -> str:
        return ", ".join(f"{value} AS {name}" for name, value in self.columns.items())

    @property
    def computed(self) -> str:
        return "".join(f", {value} AS {name}" for name, value in self.values.items())

    @property
    def keyed(self) -> str:
        return "".join(f", {key} AS {make_key_name(place)}" for place, key in enumerate(self.keys))


def make_key_name(place: int) -> str:
    return f"k{place}"


def make_recompute_spec(capture: Capture, boundary: Boundary) -> RecomputeSpec:
    """Return the SQL for a boundary without a kept table.

    Raises:
        Untranslatable: DuckDB may compute other rows than Spark did.
    """
    plan = capture.plan
    operator, child = plan.operators[boundary.operator], find_input(capture, boundary)
    scans = plan.scans(child)
    translator = RelationTranslator(plan, scans)
    recomputed = boundary.recomputed
    keys = [translator.translate(key, child) for key in list_keys(boundary, operator)]
    values = [translator.translate(value, child) for value in recomputed.values] if recomputed else []
    columns = {column.name: _make_reference(capture, translator, column) for column in list_references(boundary)}
    relation = make_relation(plan, translator, child)
    key_in_reference = boundary.kind != "group" or (recomputed is not None and recomputed.key_in_reference)
    return RecomputeSpec(relation, columns, keys, _encode_value(values), translator.needed, key_in_reference)


def find_input(capture: Capture, boundary: Boundary) -> Operator:
    """Return the operator that produces the rows of the boundary. For matches, this is the right side of the semi-join."""
    return capture.plan.children(capture.plan.operators[boundary.operator])[-1 if boundary.kind == "match" else 0]


def list_keys(boundary: Boundary, operator: Operator) -> Sequence[Expression]:
    return boundary.recomputed.keys if boundary.recomputed and boundary.kind != "group" else operator.keys


def _make_reference(capture: Capture, translator: Translator, column: Column) -> str:
    plan, operator = capture.plan, capture.plan.operators[column.operator]
    if operator.behaviour is Behaviour.SOURCE:
        return f"coalesce(v{operator.id}.ref, {NONE})"  # an outer join may have no row on this side
    rows, matches = plan.boundary(operator), plan.match(operator)
    if rows is not None:
        return f"v{list_references(rows)[0].operator}.ref"
    if matches is None or matches.recomputed is None or len(matches.recomputed.left) != 1:
        raise Untranslatable(operator.label)
    return make_reference_to(translator.translate(matches.recomputed.left[0], plan.children(operator)[0]))


def make_key(reference: str) -> str:
    """Return SQL that maps a reference to its integer key. The same function maps a key to its reference. The key must not be null."""
    return f"xor(CAST({reference} AS BIGINT), {_MIXED})"


def make_reference_to(key: str) -> str:
    """Return SQL that maps a key to the reference to its matches. DuckDB raises for the key whose reference means "none"."""
    message = f"a key is {NONE ^ _MIXED}, which cannot be told from no record"
    return f"(CASE WHEN {key} = {NONE ^ _MIXED} THEN error('{message}') ELSE {make_key(key)} END)"


def make_group_reference(reference: str) -> str:
    """Return SQL that maps a group's reference to its key, which may be null."""
    return f"nullif({make_key(reference)}, {_NULL})"


def make_row_reference(key: str) -> str:
    """Return SQL that maps a group's key, which may be null, to its reference."""
    return make_key(f"coalesce({key}, {_NULL})")


def _encode_value(values: Sequence[str]) -> dict[str, str]:
    """Return values as integer columns of a capture: NONE for null, and a bit for each null in the column `nulls`."""
    if not values:
        return {}
    columns = {value_name(place): f"coalesce(CAST({value} AS BIGINT), {NONE})" for place, value in enumerate(values)}
    bits = " + ".join(f"(CASE WHEN {value} IS NULL THEN {1 << place} ELSE 0 END)" for place, value in enumerate(values))
    return columns | {"nulls": f"CAST({bits} AS BIGINT)"}
