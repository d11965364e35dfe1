"""The facet `columnLineage` of an output, within the size limits of an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from headwater.spark_listener.lineage.columns import WITHIN, ColumnLineage, Field, Step
from headwater.spark_listener.lineage.facets import Facet, facet

Value = TypeVar("Value")
_OPAQUE = "opaque: which columns this one is made of only the function knows; all that it sees are listed"
_ANY = "opaque: there are too many columns to list them one by one; this one may have a part in any of them"
_LONGEST_NAME = 8192  # of a column; services accept no longer name
_MOST_LISTED = 50_000  # pairs of a column and a source column: an event of some 10 MB


def is_too_long(lineage: ColumnLineage) -> bool:
    return sum(map(len, lineage.columns.values())) > _MOST_LISTED


def column_lineage_facet(lineage: ColumnLineage) -> Facet:
    """Return the facet. If there are too many pairs, it lists the source columns once, for all columns."""
    if is_too_long(lineage):
        return _listed_once(lineage)
    fields = {
        column: {"inputFields": [_input_field(field, steps) for field, steps in named(found).items()]}
        for column, found in lineage.columns.items()
        if found and is_name(column)
    }
    return facet("columnLineage", fields=fields, dataset=[_input_field(field, steps) for field, steps in named(lineage.dataset).items()])


def merge_column_facets(before: Facet | None, after: Facet | None) -> Facet | None:
    """Return the column lineage of two writes to one dataset. If it is too long, only the later one is returned."""
    if before is None or after is None or before == after:
        return after or before
    names = {**before["fields"], **after["fields"]}
    fields = {name: _input_fields(before["fields"].get(name), after["fields"].get(name)) for name in names}
    if sum(map(len, fields.values())) > _MOST_LISTED:
        return after
    rows = _input_fields({"inputFields": before["dataset"]}, {"inputFields": after["dataset"]})
    return {**after, "fields": {name: {"inputFields": made} for name, made in fields.items()}, "dataset": rows}


def _input_fields(*parts: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in (item for part in parts if part for item in part["inputFields"]):
        at = (item["namespace"], item["name"], item["field"])
        known = found.setdefault(at, {**item, "transformations": []})["transformations"]
        known += [step for step in item["transformations"] if step not in known]
    return list(found.values())


def _listed_once(lineage: ColumnLineage) -> Facet:
    distinct = {id(found): found for found in lineage.columns.values()}
    made_of = sorted({field for found in distinct.values() for field in named(found)})
    listed = [_input_field(field, frozenset({Step("DIRECT", "TRANSFORMATION", opaque=True)}), _ANY) for field in made_of]
    listed += [_input_field(field, steps) for field, steps in named(lineage.dataset).items()]
    return facet("columnLineage", fields={}, dataset=listed)


def is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME


def named(fields: Mapping[Field, Value]) -> dict[Field, Value]:
    """Return the fields that have names. Pivots and programs make columns without names, which an event cannot list."""
    return {field: value for field, value in fields.items() if is_name(field[2]) and field[2].partition(WITHIN)[0]}


def _input_field(field: Field, steps: frozenset[Step], opaque: str = _OPAQUE) -> dict[str, Any]:
    namespace, name, path = field
    column, within, _ = path.partition(WITHIN)
    transformations = [
        {"type": step.type, "subtype": step.subtype, "description": opaque if step.opaque else "", "masking": step.masking}
        for step in sorted(steps)
    ]
    stated = {"namespace": namespace, "name": name, "field": path.replace(WITHIN, "."), "transformations": transformations}
    return {**stated, "headwater_column": column} if within else stated
