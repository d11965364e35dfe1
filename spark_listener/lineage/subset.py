"""The partitions of a dataset that a query reads or writes: the facets `subset` of inputs and outputs.

A read is described by comparisons of partition columns with values, in the filters directly above a scan. They hold for everything that was
read; there may be further conditions. A write is described by the partition that the program named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headwater.paths import partition_pairs
from headwater.spark_listener.lineage.facets import Facet, facet
from headwater.spark_listener.redact import redact

_COMPARISONS = {"=": "EQUAL", "<=>": "EQUAL", ">": "GREATER_THAN", ">=": "GREATER_EQUAL_THAN", "<": "LESS_THAN", "<=": "LESS_EQUAL_THAN"}
_MIRRORED = {"=": "=", "<=>": "<=>", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
_MOST_VALUES = 100


def inputs_of(plan: Mapping[str, Any]) -> dict[Any, Facet]:
    """Return the part that the plan reads of each source, by number. A source that is read whole, or in several ways, is absent."""
    sources = {source.get("source"): set(source.get("partition_columns") or ()) for source in plan.get("sources") or ()}
    if not any(sources.values()):
        return {}
    operators = {operator["id"]: operator for operator in plan.get("operators") or ()}
    above = {child: operator for operator in operators.values() for child in operator.get("children") or ()}
    found: dict[Any, list[dict[str, Any] | None]] = {}
    for scan in operators.values():
        if scan.get("op") == "Scan" and sources.get(scan.get("source")):
            found.setdefault(scan["source"], []).append(_condition(scan, above, sources[scan["source"]]))
    conditions = {source: of_scans[0] for source, of_scans in found.items() if len(of_scans) == 1}
    return {source: facet("input_subset", inputCondition=condition) for source, condition in conditions.items() if condition}


def output_of(sink: Mapping[str, Any]) -> Facet | None:
    """Return the partition that a write names. None without a complete one."""
    named = {str(column): redact(str(value)) for column, value in (sink.get("static_partitions") or {}).items()}
    if not named:
        return None
    return facet("output_subset", outputCondition={"type": "partition", "partitions": [{"dimensions": named}]})


def read_within(places: Sequence[str]) -> Facet:
    """Return the facet for a read of some paths within a dataset: partitions, or parts of its data."""
    return facet("input_subset", inputCondition=_places(places))


def written_within(place: str) -> Facet:
    return facet("output_subset", outputCondition=_places([place]))


def _places(places: Sequence[str]) -> dict[str, Any]:
    pairs = [partition_pairs(place) for place in places]
    if len(places) > _MOST_VALUES or not all(pairs):
        return {"type": "location", "locations": [redact(place) for place in places[:_MOST_VALUES]]}
    dimensions = [{column: redact(value) for column, value in each.items()} for each in pairs]
    return {"type": "partition", "partitions": [{"dimensions": each} for each in dimensions]}


def _condition(scan: Mapping[str, Any], above: Mapping[Any, Mapping[str, Any]], partitions: set[str]) -> dict[str, Any] | None:
    names = {column["attr"]: column["name"] for column in scan.get("columns") or () if column["name"] in partitions}
    asked: dict[str, Any] | None = None
    operator = above.get(scan["id"], {})
    while operator.get("op") == "Filter":
        for part in _conjuncts(operator.get("condition") or {}):
            condition = _comparison(part, names)
            if condition is not None:
                asked = condition if asked is None else _both("AND", asked, condition)
        operator = above.get(operator["id"], {})
    return asked


def _conjuncts(condition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if part.get("fn") in ("&&", "and"):
            waiting += reversed(part.get("args") or ())
        else:
            yield part


def _comparison(part: Mapping[str, Any], names: Mapping[Any, str]) -> dict[str, Any] | None:
    arguments = list(part.get("args") or ())
    function = str(part.get("fn"))
    if function == "in" and 1 < len(arguments) <= _MOST_VALUES and _name(arguments[0], names):
        values = [_comparison({"fn": "=", "args": [arguments[0], value]}, names) for value in arguments[1:]]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        whole = known[0]
        for value in known[1:]:
            whole = _both("OR", whole, value)
        return whole
    if function not in _COMPARISONS or len(arguments) != 2:
        return None
    column, given = _name(arguments[0], names), _value(arguments[1])
    if column is None:
        function, column, given = _MIRRORED[function], _name(arguments[1], names), _value(arguments[0])
    if column is None or given is None:
        return None
    literal = {"type": "literal", "value": redact(given)}
    return {"type": "compare", "left": {"type": "field", "field": column}, "right": literal, "comparison": _COMPARISONS[function]}


def _name(expression: Mapping[str, Any], names: Mapping[Any, str]) -> str | None:
    return names.get(expression.get("attr")) if expression.get("fn") == "attr" else None


def _value(expression: Mapping[str, Any]) -> str | None:
    value = expression.get("value")
    return str(value) if expression.get("fn") == "literal" and value is not None else None


def _both(operator: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "binary", "operator": operator, "left": left, "right": right}
