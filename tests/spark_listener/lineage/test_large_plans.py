"""Plans of thousands of operators and columns: what is followed grows with the plan, is bounded, and what is left out is said."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from headwater.spark_listener.lineage import columns
from headwater.spark_listener.lineage.columns import Sources, Step, column_accesses, column_lineage
from headwater.spark_listener.lineage.kept import KeptColumns
from headwater.spark_listener.lineage.queries import query_of
from tests.spark_listener.lineage.test_columns import attr, call
from tests.spark_listener.lineage.test_events import CONTEXT, STARTED, ended

SOURCES: Sources = {0: [("file", "/wide")]}
OPAQUE = Step("DIRECT", "TRANSFORMATION", opaque=True)


def chain(depth: int, width: int) -> dict[str, Any]:
    """So many projections above each other, each of which computes so many columns."""

    def plus_one(level: int, place: int) -> dict[str, Any]:
        return {"attr": level * width + place, "expr": call("+", attr((level - 1) * width + place), call("literal"))}

    projections = [
        {"id": depth - level, "op": "Project", "children": [depth - level + 1], "defines": [plus_one(level, i) for i in range(width)]}
        for level in range(depth, 0, -1)
    ]
    return {"operators": [*projections, scan(depth, width)], "sink": sink([depth * width + i for i in range(width)])}


def function(width: int) -> dict[str, Any]:
    """A function of the program's that makes as many columns as it sees."""
    seen, made = range(width), range(width, 2 * width)
    operator = {"id": 1, "op": "MapInPandas", "children": [2], "sees": [*seen], "makes": [{"attr": number} for number in made]}
    return {"operators": [operator, scan(2, width)], "sink": sink(list(made))}


def computed(width: int) -> dict[str, Any]:
    """Its result, computed from the given columns."""
    plan = function(width)
    defines = [{"attr": 2 * width + i, "expr": call("+", attr(width + i), call("literal"))} for i in range(width)]
    operators = [{"id": 0, "op": "Project", "children": [1], "defines": defines}, *plan["operators"]]
    return {"operators": operators, "sink": sink([2 * width + i for i in range(width)])}


def scan(identifier: int, width: int) -> dict[str, Any]:
    return {
        "id": identifier, "op": "Scan", "children": [], "source": 0, "columns": [{"attr": i, "name": f"c{i}"} for i in range(width)],
    }  # fmt: skip


def sink(attributes: list[int]) -> dict[str, Any]:
    listed = [{"attr": number, "name": f"c{place}", "type": "int"} for place, number in enumerate(attributes)]
    return {"path": "file:/out/wide", "format": "parquet", "mode": "append", "columns": listed}


def test_what_is_read_grows_with_the_plan_and_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Counted(columns._AttributeSources):
        def count(self, fields: int) -> None:
            read[-1] += fields
            super().count(fields)

    monkeypatch.setattr(columns, "_AttributeSources", Counted)
    for depth, width in ((50, 20), (100, 20), (50, 40)):
        read.append(0)
        found = column_lineage(chain(depth, width), SOURCES)
        assert found.columns["c7"] == {("file", "/wide", "c7"): {Step("DIRECT", "TRANSFORMATION")}}
    assert max(read[1] / read[0], read[2] / read[0]) < 2.1, read


def test_a_plan_that_would_take_too_long_has_its_datasets_and_says_that_its_columns_are_left_out() -> None:
    plan = computed(600)
    assert column_lineage(plan, SOURCES).too_large
    columns_of_wide = [{"name": f"c{number}", "type": "int"} for number in range(600)]
    plan["sources"] = [{"source": 0, "path": "file:/wide", "format": "parquet", "columns": columns_of_wide}]
    read = {**plan, "sink": None, "output": plan["sink"]["columns"]}
    for described in (plan, {**chain(1, 2), "sources": plan["sources"], "left_out": 3}, read):
        query = query_of(ended(plan=described), STARTED, CONTEXT, run_id=str(uuid4()), segments=None)
        assert query is not None
        assert [item.name for item in query.work.inputs] == ["/wide"]
        assert all("columnLineage" not in item.facets and item.facets["schema"] for item in query.work.outputs)
        assert "the plan is too large for its columns to be followed" in str(query.work.ledger.problems)
    assert column_accesses(read, SOURCES) is None


def test_columns_that_are_made_of_too_many_list_them_once_for_all() -> None:
    plan = {**function(1000), "sources": [{"source": 0, "path": "file:/wide", "format": "parquet", "columns": []}]}
    query = query_of(ended(plan=plan), STARTED, CONTEXT, run_id=str(uuid4()), segments=None)
    assert query is not None
    lineage = query.work.outputs[0].facets["columnLineage"]
    assert (lineage["fields"], len(lineage["dataset"])) == ({}, 1000)
    (step,) = lineage["dataset"][0]["transformations"]
    assert (step["type"], step["subtype"], step["description"][:7]) == ("DIRECT", "TRANSFORMATION", "opaque:")
    assert "superset" in [problem["kind"] for problem in query.work.ledger.problems]


def test_rows_that_were_kept_of_a_plan_that_is_too_large_leave_later_columns_out() -> None:
    kept = KeptColumns()
    made = kept.of_plan({**computed(600), "sources": [{"source": 0, "path": "file:/wide"}], "output": sink([1200, 1201])["columns"]})
    kept.keep([2000, 2001], made.columns, made.rows)
    leaf = {"id": 0, "op": "LogicalRDD", "children": [], "columns": [{"attr": 2000, "name": "a"}]}
    assert column_lineage(kept.within({"operators": [leaf], "sink": sink([2000])}), SOURCES).too_large
    other = {**leaf, "columns": [{"attr": 5, "name": "a"}]}
    assert not column_lineage(kept.within({"operators": [other], "sink": sink([5])}), SOURCES).too_large
