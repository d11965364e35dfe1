"""The SQL by which the rows of a boundary are computed again from the sources (docs: capture format, "Derived boundaries")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.associations import NONE, Behaviour, Boundary, Expression, Operator
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.records.tables import value_name
from headwater.graph.trace.plan import Column, references
from headwater.graph.trace.recompute.relation import Relation, RelationTranslator, relation_of
from headwater.graph.trace.session import Capture
from headwater.graph.trace.translate import Translator

_MIXED = 0x3C6EF37200000000  # what a key that is one whole number is mixed with, so that no key is the reference "none"
_NULL = 0x5DEECE66D1CE4E5B  # what stands for a key that is null


@dataclass(frozen=True, slots=True)
class RecomputeSpec:
    """The rows of a boundary, as SQL over the values `v<scan>.a<attribute>` of its scans."""

    relation: Relation
    columns: Mapping[str, str]  # the boundary's references, by the names that the kept table has
    keys: Sequence[str]
    values: Mapping[str, str]  # further columns of the kept table: what a semi-join compares beyond its key
    needed: Mapping[int, Mapping[int, str]]  # scan → attribute → Spark's type
    key_in_reference: bool  # else a record of the group, or its check boundary, has the key

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


def recompute_spec(capture: Capture, boundary: Boundary) -> RecomputeSpec:
    """The spec of a boundary whose rows are computed again.

    Raises:
        Untranslatable: DuckDB may compute it otherwise than Spark did.
    """
    plan = capture.plan
    operator, child = plan.operators[boundary.operator], input_of(capture, boundary)
    scans = plan.scans(child)
    translator = RelationTranslator(plan, scans)
    recomputed = boundary.recomputed
    keys = [translator.sql(key, child) for key in keys_of(boundary, operator)]
    values = [translator.sql(value, child) for value in recomputed.values] if recomputed else []
    columns = {column.name: _reference(capture, translator, column) for column in references(boundary)}
    relation = relation_of(plan, translator, child)
    key_in_reference = boundary.kind != "group" or (recomputed is not None and recomputed.key_in_reference)
    return RecomputeSpec(relation, columns, keys, _encoded(values), translator.needed, key_in_reference)


def input_of(capture: Capture, boundary: Boundary) -> Operator:
    """The operator whose rows a recomputed boundary has: of matches, the right side of the semi-join."""
    return capture.plan.children(capture.plan.operators[boundary.operator])[-1 if boundary.kind == "match" else 0]


def keys_of(boundary: Boundary, operator: Operator) -> Sequence[Expression]:
    """The expressions of the keys of a recomputed boundary."""
    return boundary.recomputed.keys if boundary.recomputed and boundary.kind != "group" else operator.keys


def _reference(capture: Capture, translator: Translator, column: Column) -> str:
    """SQL of a column of references: to a record; to the matches of a semi-join, by their key; to its row, by that row's record."""
    plan, operator = capture.plan, capture.plan.operators[column.operator]
    if operator.behaviour is Behaviour.SOURCE:
        return f"coalesce(v{operator.id}.ref, {NONE})"  # of a side that an outer join may lack
    rows, matches = plan.boundary(operator), plan.match(operator)
    if rows is not None:
        return f"v{references(rows)[0].operator}.ref"
    if matches is None or matches.recomputed is None or len(matches.recomputed.left) != 1:
        raise Untranslatable(operator.label)
    return reference_to(translator.sql(matches.recomputed.left[0], plan.children(operator)[0]))


def key_of(reference: str) -> str:
    """Maps a reference to the whole number that is the key, and back. Not for a key that is null."""
    return f"xor(CAST({reference} AS BIGINT), {_MIXED})"


def reference_to(key: str) -> str:
    """Maps a key to the reference to its matches. DuckDB raises for the one key whose reference would mean "no record"."""
    message = f"a key is {NONE ^ _MIXED}, which cannot be told from no record"
    return f"(CASE WHEN {key} = {NONE ^ _MIXED} THEN error('{message}') ELSE {key_of(key)} END)"


def group_of(reference: str) -> str:
    """Maps a group's reference to its key, which may be null."""
    return f"nullif({key_of(reference)}, {_NULL})"


def reference_of(key: str) -> str:
    """Maps a group's key, which may be null, to its reference."""
    return key_of(f"coalesce({key}, {_NULL})")


def _encoded(values: Sequence[str]) -> dict[str, str]:
    """The columns of whole numbers as captures record them: NONE for null, and a bit in `nulls`."""
    if not values:
        return {}
    columns = {value_name(place): f"coalesce(CAST({value} AS BIGINT), {NONE})" for place, value in enumerate(values)}
    bits = " + ".join(f"(CASE WHEN {value} IS NULL THEN {1 << place} ELSE 0 END)" for place, value in enumerate(values))
    return columns | {"nulls": f"CAST({bits} AS BIGINT)"}
