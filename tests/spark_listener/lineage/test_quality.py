"""A program's observations are attached to the rows that they are about, and to no others; subsets by the values of partitions."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.spark_listener.lineage import subset
from headwater.spark_listener.lineage.quality import quality_of
from headwater.spark_listener.lineage.tables import database_hierarchy, table_facets

WIND, DAY = {"attr": 1, "name": "wind"}, {"attr": 2, "name": "day"}
SCAN = {"id": 3, "op": "Scan", "children": [], "source": 0, "columns": [WIND, DAY]}
SINK = {"mode": "overwrite", "columns": [{"attr": 5, "name": "w"}]}


def attr(number: int) -> dict[str, Any]:
    return {"fn": "attr", "attr": number}


def metric(name: str, function: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "expr": {"fn": function, "args": list(arguments), "aggregate": True, "sql": f"{function}(…)"}}


def observed(below: int, *metrics: dict[str, Any]) -> dict[str, Any]:
    return {"id": 2, "op": "CollectMetrics", "children": [below], "observes": "o", "metrics": list(metrics)}


ROWS, KNOWN, MOST = metric("n", "count", {"fn": "literal", "value": "1"}), metric("k", "count", attr(1)), metric("m", "max", attr(1))
VALUES = {"o": {"n": 6, "k": 5, "m": 9.5}}
WRITE = {"id": 0, "op": "Write", "children": [1]}
RENAME = {"id": 1, "op": "Project", "children": [2], "defines": [{"attr": 5, "expr": attr(1)}]}


def test_numbers_about_all_rows_that_are_read_and_written_are_told_of_both() -> None:
    found = quality_of({"operators": [WRITE, RENAME, observed(3, ROWS, KNOWN, MOST), SCAN], "sink": SINK}, VALUES)
    read, written = found.inputs[0]["dataQualityMetrics"], found.output["dataQualityMetrics"]
    assert (read["rowCount"], read["columnMetrics"]) == (6, {"wind": {"count": 5.0, "max": 9.5, "nullCount": 1}})
    assert (written["rowCount"], written["columnMetrics"]) == (6, {"w": {"count": 5.0, "max": 9.5, "nullCount": 1}})
    assert read["_schemaURL"] != written["_schemaURL"]


@pytest.mark.parametrize("between", ["Filter", "Aggregate", "Join", "Limit", "Sample", "Generate"])
def test_numbers_about_rows_in_between_are_no_datasets(between: str) -> None:
    above = {"id": 1, "op": between, "children": [2]}
    below = {"id": 4, "op": between, "children": [3]}
    found = quality_of({"operators": [WRITE, above, observed(4, ROWS, MOST), below, SCAN], "sink": SINK}, VALUES)
    assert (found.inputs, found.output, found.run) == ({}, {}, {})


def test_truths_are_assertions_about_inputs_and_else_tests_of_the_run() -> None:
    truth, secret = metric("windy", "bool_and", attr(1)), metric("password=hunter2", "bool_or", attr(1), attr(2))
    values = {"o": {"windy": True, "password=hunter2": False}}
    plan = {"operators": [{"id": 0, "op": "Project", "children": [2]}, observed(3, truth, secret), SCAN]}
    first, second = quality_of(plan, values).inputs[0]["dataQualityAssertions"]["assertions"]
    assert (first["assertion"], first["success"], first["column"]) == ("windy", True, "wind")
    assert (second["success"], "column" in second, "hunter2" in str(second)) == (False, False, False)
    filtered = {
        "operators": [{"id": 0, "op": "Project", "children": [2]}, observed(4, truth), {"id": 4, "op": "Filter", "children": [3]}, SCAN]
    }
    (test,) = quality_of(filtered, values).run["test"]["tests"]
    assert (test["name"], test["status"]) == ("windy", "pass")


@pytest.mark.parametrize("values", [None, {}, {"o": None}, {"o": {}}, {"other": {"n": 1}}, {"o": {"n": "NaN", "k": None}}])
def test_what_was_not_observed_is_not_told(values: Any) -> None:
    found = quality_of({"operators": [WRITE, RENAME, observed(3, ROWS, KNOWN, MOST), SCAN], "sink": SINK}, values)
    assert (found.inputs, found.output, found.run) == ({}, {}, {})


def compared(function: str, value: str, number: int = 2) -> dict[str, Any]:
    return {"fn": function, "args": [attr(number), {"fn": "literal", "value": value}]}


def partitioned(*filters: dict[str, Any]) -> dict[str, Any]:
    chain = [
        {"id": 10 + place, "op": "Filter", "children": [3 if place == len(filters) - 1 else 11 + place], "condition": condition}
        for place, condition in enumerate(filters)
    ]
    return {"operators": [*chain, SCAN], "sources": [{"source": 0, "partition_columns": ["day"]}]}


def test_a_subset_is_what_filters_ask_of_partitions() -> None:
    condition = {"fn": "&&", "args": [compared(">=", "2026-01-01"), compared(">", "3", number=1)]}
    found = subset.inputs_of(partitioned({"fn": "<", "args": [{"fn": "literal", "value": "2026-02-01"}, attr(2)]}, condition))
    told = found[0]["inputCondition"]
    assert (told["operator"], told["left"]["comparison"], told["right"]["comparison"]) == ("AND", "GREATER_EQUAL_THAN", "GREATER_THAN")
    listed = {"fn": "in", "args": [attr(2), {"fn": "literal", "value": "a"}, {"fn": "literal", "value": "b"}]}
    assert subset.inputs_of(partitioned(listed))[0]["inputCondition"]["operator"] == "OR"


@pytest.mark.parametrize(
    "condition",
    [
        {"fn": "or", "args": [compared("=", "a"), compared("=", "b", number=1)]}, {"fn": "not", "args": [compared("=", "a")]}, {},
        compared("=", "a", number=1), {"fn": "=", "args": [attr(2), {"fn": "literal", "value": None}]},
        {"fn": "in", "args": [attr(2), attr(1)]},
    ],
)  # fmt: skip
def test_what_does_not_hold_for_all_that_is_read_is_no_subset(condition: dict[str, Any]) -> None:
    assert subset.inputs_of(partitioned(condition)) == {}
    twice = partitioned(compared("=", "a"))
    again = {**SCAN, "id": 9}
    assert subset.inputs_of({**twice, "operators": [*twice["operators"], again]}) == {}


def test_the_catalog_of_a_table_is_told_without_secrets() -> None:
    known = {"name": "lake", "type": "rest", "warehouse": "s3://app:hunter2@b/w", "uri": "https://app:hunter2@host:8181/x?token=hunter2"}
    found = table_facets({"table": "lake.db.t", "path": "s3://b/db/t", "format": "iceberg", "catalog_of": known})
    assert [level["name"] for level in found["hierarchy"]["hierarchy"]] == ["lake", "db", "t"]
    catalog = found["catalog"]
    assert (catalog["framework"], catalog["type"], catalog["name"]) == ("iceberg", "rest", "lake")
    assert (catalog["warehouseUri"], "hunter2" in str(found)) == ("s3://b/w", False)
    levels = database_hierarchy("postgres://db:5432", '"shop.eu".public."a ""b"""')
    assert levels is not None
    assert [(level["type"], level["name"]) for level in levels["hierarchy"]] == [
        ("DATABASE", "shop.eu"), ("SCHEMA", "public"), ("TABLE", 'a "b"'),
    ]  # fmt: skip
